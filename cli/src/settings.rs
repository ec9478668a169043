//! The command line together with the environment: what beats what.
//!
//! A flag beats a variable, also across the two ways to name a database; an empty variable counts as not set; two flags that contradict each other are
//! wrong usage.

use clap::error::ErrorKind;
use clap::parser::ValueSource;
use clap::{ArgMatches, CommandFactory, FromArgMatches};

use crate::args::{Cli, Command, DatabaseArgs};

/// Reads the arguments of this process; prints help or wrong usage and ends it where that is all there is to do.
pub(crate) fn parse() -> Cli {
    let matches = without_empty_variables(Cli::command()).get_matches();
    let mut cli = Cli::from_arg_matches(&matches).unwrap_or_else(|error| error.exit());
    let chosen = match (&mut cli.command, matches.subcommand()) {
        (Command::Run(args), Some((_, matches))) => choose(&mut args.database, matches),
        (Command::Status(args), Some((_, matches))) => choose(&mut args.database, matches),
        (Command::Verify(args), Some((_, matches))) => choose(&mut args.database, matches),
        _ => Ok(()),
    };
    if let Err(message) = chosen {
        Cli::command().error(ErrorKind::ArgumentConflict, message).exit();
    }
    cli
}

/// Makes arguments forget variables that are set and empty.
fn without_empty_variables(command: clap::Command) -> clap::Command {
    let empty = |arg: &clap::Arg| arg.get_env().and_then(std::env::var_os).is_some_and(|value| value.is_empty());
    let command = command.mut_args(|arg| if empty(&arg) { arg.env(None::<&'static str>) } else { arg });
    command.mut_subcommands(without_empty_variables)
}

/// Of a URL and a data folder, the one that the command line names.
fn choose(database: &mut DatabaseArgs, matches: &ArgMatches) -> Result<(), &'static str> {
    let flag = |name| matches.value_source(name) == Some(ValueSource::CommandLine);
    match (flag("database_url"), flag("data_dir")) {
        (true, true) => return Err("--database-url and --data-dir exclude each other"),
        (false, true) => database.database_url = None,
        _ => {}
    }
    Ok(())
}
