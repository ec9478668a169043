//! starmill: reads Stellar ledgers and turns them into rows. The one binary; wires sources, pipeline and sinks.
//!
//! Exit status: 0 when everything asked for was done, 1 after an error (one line on standard error: code, place, what to do), 2 for wrong usage, 130 when
//! Ctrl-C ended it.

mod admin;
mod args;
mod bench;
mod bounds;
mod database;
mod failure;
mod files;
mod inspect;
mod metrics;
mod network;
mod output;
mod processor;
mod progress;
mod rows;
mod run;
mod settings;
mod signals;
mod status;
mod summary;
mod synth;

use std::process::ExitCode;

use crate::args::Command;
use crate::failure::Failure;

#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() -> ExitCode {
    let cli = settings::parse();
    match dispatch(cli.command) {
        Ok(code) => code,
        Err(error) => Failure::of(&error).report(),
    }
}

fn dispatch(command: Command) -> anyhow::Result<ExitCode> {
    let done = |()| ExitCode::SUCCESS;
    match command {
        Command::Run(args) => run::run(&args),
        Command::Rows(args) => rows::rows(&args).map(done),
        Command::Inspect(args) => inspect::inspect(&args).map(done),
        Command::Status(args) => status::status(&args).map(done),
        Command::Metrics(args) => metrics::metrics(&args).map(done),
        Command::Db(args) => database::command(&args),
        Command::Bench(args) => bench::bench(&args).map(done),
        Command::Synth(args) => synth::synth(&args).map(done),
        Command::Completions { shell } => args::completions(shell).map(done),
        Command::Man { folder } => args::man(folder.as_deref()).map(done),
    }
}
