//! `starmill verify`: rows made anew from ledgers, held against those that the database has.
//!
//! Prints each row that differs as one JSON object, in the order of ledgers, tables and keys; then a summary. Ends with an error when there are
//! differences that were not repaired.

use std::process::ExitCode;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use clap::Args;
use serde_json::{Value, json};
use starmill_ledger::Verify;
use starmill_pipeline::Outcome;
use starmill_sinks::postgres::{Difference, StateCheck, Verified, Verifier};

use crate::admin::State;
use crate::args::{AdminArgs, DatabaseArgs, NetworkArgs, OrderArgs, RunArgs, SinkChoice, SourceArgs, WriterArgs};
use crate::bounds::BoundsArgs;
use crate::database::Database;
use crate::failure::Failure;
use crate::output::{complain, say};
use crate::run::{self, INTERRUPTED};
use crate::summary::thousands;

/// Make rows anew from ledgers and hold them against those that the database has.
///
/// Each row that is not as its ledger says is printed as one JSON object with the row that should be there and the one that is. Ledgers that the database does not
/// claim to have are passed over. Current state is compared as far as the ledgers say it: all of it when they reach from the first to the newest.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  starmill verify lake/                                  everything that is covered
  starmill verify --from 1000 --to 2000 lake/ | jq .table
  starmill verify --from 1000 --to 2000 lake/ --repair   and put right what differs, in one transaction")]
pub(crate) struct VerifyArgs {
    #[command(flatten)]
    pub(crate) source: SourceArgs,
    #[command(flatten)]
    pub(crate) network: NetworkArgs,
    #[command(flatten)]
    pub(crate) database: DatabaseArgs,
    /// Threads that make rows; the number of processors when not given.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=512))]
    pub(crate) threads: Option<u16>,
    /// What is checked of ledgers, as in `run`.
    #[arg(long, value_name = "LEVEL", default_value = "chain", value_parser = |text: &str| text.parse::<Verify>())]
    pub(crate) verify: Verify,
    /// Memory for ledgers and rows, in MiB.
    #[arg(long, value_name = "MIB", default_value = "256")]
    pub(crate) memory_mib: std::num::NonZeroU16,
    /// Put the rows that should be there in the place of those that are, all in one transaction at the end. Nobody else may write meanwhile.
    #[arg(long)]
    pub(crate) repair: bool,
    /// Differences printed; the others are only counted.
    #[arg(long, value_name = "N", default_value_t = 1_000)]
    pub(crate) differences_max: u64,
    /// Print the summary as one JSON object too, after the differences.
    #[arg(long)]
    pub(crate) json: bool,
}

/// Verifies.
pub(crate) fn verify(args: VerifyArgs) -> anyhow::Result<ExitCode> {
    let VerifyArgs { source, network, database, threads, verify, memory_mib, repair, differences_max, json } = args;
    let opened = Database::read(&database)?;
    let run = RunArgs {
        source,
        order: OrderArgs::default(),
        network,
        database,
        writer: WriterArgs::default(),
        sink: SinkChoice::Postgres,
        threads,
        verify,
        memory_mib,
        bounds: BoundsArgs::default(),
        admin: AdminArgs::default(),
        json,
    };
    let through = run::through(&run, |network| {
        let state = Arc::new(State::new("postgres", Arc::default()));
        let config = opened.config(network, &WriterArgs::default(), &state);
        Ok(Verifier::open(&config, repair, printing(differences_max))?)
    })?;
    let Some((outcome, progress, verifier)) = through else {
        opened.close()?;
        return Ok(ExitCode::from(INTERRUPTED));
    };
    if outcome == Outcome::Stopped {
        complain!("stopped after {} ledgers; nothing was changed", thousands(progress.ledgers.load(Relaxed)));
        drop(verifier);
        opened.close()?;
        return Ok(ExitCode::from(INTERRUPTED));
    }
    let verified = verifier.conclude()?;
    opened.close()?;
    tell(&verified, progress.skipped.load(Relaxed), json)?;
    if verified.differences > 0 && !verified.repaired {
        let message = format!(
            "{} rows of ledgers {} are not as these ledgers say; look at the lines above, then repair them with --repair",
            thousands(verified.differences),
            span(&verified)
        );
        return Err(Failure::new("differences", message).into());
    }
    Ok(ExitCode::SUCCESS)
}

/// Prints differences, up to a number.
fn printing(max: u64) -> Box<dyn FnMut(&Difference) + Send> {
    let printed = AtomicU64::new(0);
    Box::new(move |difference| {
        if printed.fetch_add(1, Relaxed) < max {
            let row = |text: &Option<String>| text.as_deref().and_then(|text| serde_json::from_str::<Value>(text).ok());
            let line = json!({
                "table": difference.table,
                "ledger": difference.ledger,
                "expected": row(&difference.expected),
                "found": row(&difference.found),
            });
            // Whoever went away has seen enough; the summary says how many there are.
            let _ = say!("{line}");
        }
    })
}

fn span(verified: &Verified) -> String {
    let ranges = verified.ledgers.ranges();
    match (ranges.first(), ranges.last()) {
        (Some(first), Some(last)) => format!("{} to {}", first.lo, last.hi),
        _ => "none".to_owned(),
    }
}

fn tell(verified: &Verified, passed_over: u64, json: bool) -> std::io::Result<()> {
    let state = match verified.state {
        StateCheck::None => "none",
        StateCheck::Range => "range",
        StateCheck::Whole => "whole",
    };
    if json {
        return say!(
            "{}",
            json!({
                "ledgers": verified.ledgers.ledgers(),
                "ranges": verified.ledgers.ranges().iter().map(|range| json!([range.lo, range.hi])).collect::<Vec<_>>(),
                "ledgers_not_covered": passed_over,
                "differences": verified.differences,
                "current_state": state,
                "repaired": verified.repaired && verified.differences > 0,
            })
        );
    }
    complain!(
        "{} ledgers compared ({}), {} rows differ",
        thousands(verified.ledgers.ledgers()),
        span(verified),
        thousands(verified.differences)
    );
    if passed_over > 0 {
        complain!("{} ledgers are not covered by the database and were passed over", thousands(passed_over));
    }
    match verified.state {
        StateCheck::None => complain!("current state was not compared: the ledgers are no single run"),
        StateCheck::Range => complain!("current state was compared where these ledgers changed it last"),
        StateCheck::Whole => complain!("all of current state was compared"),
    }
    if verified.repaired && verified.differences > 0 {
        complain!("they are as the ledgers say now");
    }
    Ok(())
}
