//! One commit: rows, current state, coverage and cursors of a batch, visible as committed in one moment.
//!
//! A small batch is one transaction. A large one is three steps: (a) a small transaction records its ledgers in `starmill_pending` and makes the
//! partitions they need; (b) history is copied over several connections (`ahead`), while the first connection writes current state, not yet committed;
//! (c) that transaction takes the coverage lock, replaces the ranges that change, writes the text cursors, forgets the pending ledgers, COMMIT. History
//! that is there before (c) is above what is covered; whoever opens the database after a death deletes it.
//!
//! Every transaction compares the writer's epoch and shares a lock on it to its end. Whether a ledger moves current state forward is decided by the
//! highest ledger that the database covers; (c) looks again under the lock, and the batch is planned anew if another writer has changed that.

use std::time::{Duration, Instant};

use futures_util::future::try_join;
use starmill_ledger::rows::LedgerRow;

use super::config::PostgresConfig;
use super::copy::{Encoded, STATE_CHANGES, TABLES};
use super::error::During as _;
use super::pieces::Whole;
use super::session::Session;
use super::state::{Plan, Stage, apply, delete_expired};
use super::steps::{Step, at};
use super::{CopyRows, PostgresError, cover, pending, send, writer};
use starmill_ledger::Coverage;

/// What a commit has come to.
#[derive(Debug)]
pub(crate) struct Done {
    /// What is covered now around the ledgers.
    pub(crate) covered: Coverage,
    /// Time spent in netting current state.
    pub(crate) planned: Duration,
}

/// Writes a batch. After an error the transaction is open; `session.pending` says whether history may have been written ahead.
pub(crate) async fn commit(
    session: &mut Session,
    config: &PostgresConfig,
    ledgers: &[LedgerRow],
    rows: &mut CopyRows,
    plan: &mut Plan,
) -> Result<Done, PostgresError> {
    use starmill_ledger::rows::Rows as _;
    let ahead = config.copy_connections > 0 && rows.rows() >= config.ahead_rows_min && session.copiers.connect(config).await?;
    let (top, partitions) = open(session, config, ledgers, ahead).await?;
    let last = ledgers.last().map_or(0, |ledger| ledger.sequence);
    session.refresh(top, last).await?;
    let planning = Instant::now();
    plan.make(&session.known, &session.network, &rows.state, top, last);
    let planned = planning.elapsed();
    let covered = if ahead {
        write_ahead(session, config, ledgers, rows, plan).await?;
        finish(session, config, ledgers, plan, top, &pending::forget(config.role)).await?
    } else {
        write(session, config, ledgers, rows, plan).await?;
        finish(session, config, ledgers, plan, top, "").await?
    };
    session.pending = false;
    session.partitions.made(partitions);
    if last > top {
        (session.top, session.tokens_top) = (last, last);
    }
    at(config, Step::Committed)?;
    Ok(Done { covered, planned })
}

/// The ledgers of a batch, for messages.
pub(crate) fn span(ledgers: &[LedgerRow]) -> String {
    match (ledgers.first(), ledgers.last()) {
        (Some(first), Some(last)) if first.sequence != last.sequence => format!("{}-{}", first.sequence, last.sequence),
        (Some(first), _) => first.sequence.to_string(),
        _ => "none".to_owned(),
    }
}

/// Opens the transaction of a small batch; of a large one records its ledgers and commits that. Returns the highest covered ledger, and the names of
/// partitions that the open transaction has made.
async fn open(
    session: &mut Session,
    config: &PostgresConfig,
    ledgers: &[LedgerRow],
    ahead: bool,
) -> Result<(u32, Vec<String>), PostgresError> {
    // Lost in a crash together with all that was copied after it, or not at all: nobody waits for the disk.
    let settings = if ahead { "SET LOCAL synchronous_commit TO off; " } else { "" };
    writer::begin(&session.client, config.role, session.epoch, settings).await?;
    let lacking = !session.partitions.missing(ledgers).names.is_empty();
    let around = cover::look(&session.client, config.role, ledgers, ahead || lacking).await?;
    let mut made = Vec::new();
    if lacking {
        // The other writer may have made them; under the lock there is no third one.
        session.reload_partitions().await?;
        let partitions = session.partitions.missing(ledgers);
        let making = || format!("making partitions for ledgers {}", span(ledgers));
        session.client.batch_execute(&partitions.sql).await.during(making)?;
        made = partitions.names;
        at(config, Step::Partitioned)?;
    }
    if ahead {
        pending::record(&session.client, config.role, ledgers).await?;
        session.pending = true;
        session.client.batch_execute("COMMIT").await.during(|| format!("announcing ledgers {}", span(ledgers)))?;
        session.partitions.made(std::mem::take(&mut made));
        at(config, Step::Pending)?;
    }
    Ok((around.top, made))
}

/// All rows of a small batch into the open transaction.
async fn write(
    session: &Session,
    config: &PostgresConfig,
    ledgers: &[LedgerRow],
    rows: &mut CopyRows,
    plan: &mut Plan,
) -> Result<(), PostgresError> {
    apply(session, plan, Stage::Named, ledgers).await?;
    for (table, encoded) in history(rows, plan) {
        if encoded.rows == 0 {
            continue;
        }
        let name = TABLES[table].name;
        let bytes = send::lend(&mut encoded.bytes);
        let stored = send::copy(config, &session.client, (name, &session.copies[table]), &bytes, ledgers).await;
        encoded.bytes = send::take_back(bytes);
        let stored = stored?;
        if stored != encoded.rows {
            return Err(PostgresError::RowCount { table: name, sent: encoded.rows, stored, ledgers: span(ledgers) });
        }
        at(config, Step::Copied(name))?;
    }
    at(config, Step::HistoryWritten)?;
    apply(session, plan, Stage::Balances, ledgers).await?;
    delete_expired(session, plan, ledgers).await?;
    at(config, Step::StateWritten)
}

/// History over the copying connections, committed, and current state into a transaction that stays open.
async fn write_ahead(
    session: &Session,
    config: &PostgresConfig,
    ledgers: &[LedgerRow],
    rows: &mut CopyRows,
    plan: &mut Plan,
) -> Result<(), PostgresError> {
    let whole = |(table, encoded): (usize, &mut Encoded)| Whole { table, bytes: send::lend(&mut encoded.bytes), rows: encoded.rows };
    let tables: Vec<Whole> = history(rows, plan).map(whole).collect();
    let lent = &*plan;
    let current = async {
        writer::begin(&session.client, config.role, session.epoch, "").await?;
        apply(session, lent, Stage::Named, ledgers).await?;
        apply(session, lent, Stage::Balances, ledgers).await?;
        delete_expired(session, lent, ledgers).await?;
        at(config, Step::StateWritten)
    };
    let result = try_join(session.copiers.copy(config, session.epoch, &tables, ledgers), current).await;
    for ((_, encoded), whole) in history(rows, plan).zip(tables) {
        encoded.bytes = send::take_back(whole.bytes);
    }
    result?;
    at(config, Step::HistoryWritten)
}

/// The tables of history by their place in [`TABLES`]; state changes of SEP-41 tokens come after the rest.
pub(crate) fn history<'a>(rows: &'a mut CopyRows, plan: &'a mut Plan) -> impl Iterator<Item = (usize, &'a mut Encoded)> {
    rows.tables.iter_mut().enumerate().chain([(STATE_CHANGES, &mut plan.sep41_history)])
}

/// Coverage and COMMIT.
async fn finish(
    session: &Session,
    config: &PostgresConfig,
    ledgers: &[LedgerRow],
    plan: &Plan,
    planned: u32,
    after: &str,
) -> Result<Coverage, PostgresError> {
    let around = cover::look(&session.client, config.role, ledgers, true).await?;
    if plan.forward > 0 && around.top != planned {
        return Err(PostgresError::TopMoved { planned, found: around.top });
    }
    let covered = cover::write(&session.client, &around, ledgers, after).await?;
    at(config, Step::Covered)?;
    session.client.batch_execute("COMMIT").await.during(|| format!("COMMIT of ledgers {}", span(ledgers)))?;
    Ok(covered)
}
