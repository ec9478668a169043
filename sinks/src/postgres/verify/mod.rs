//! Verifying: rows made anew from ledgers, held against the rows that a database has.
//!
//! The ledgers go through a sink of their own into a schema beside, [`SCRATCH`], by the very code that writes them; then both are compared by the server,
//! row by row, the moments at which rows were written left out. Only ledgers that the database covers are looked at, and nothing of it is changed unless
//! it is to be repaired, which happens in one transaction, by the one writer that there is then. What it finds is the same on every run, in the order of
//! ledgers, tables and keys.
//!
//! Current state is compared as far as the ledgers say it ([`state`]); rows of SEP-41 tokens in ledgers after a contract's deployment are judged by what the
//! database knows of contracts, unless its first ledger is among those verified.

mod columns;
mod history;
mod state;

use std::fmt;

use starmill_ledger::Coverage;
use starmill_ledger::coverage::LedgerRange;
use starmill_ledger::rows::LedgerRow;
use starmill_ledger::sink::{Batch, Sink};
use tokio::runtime::Runtime;
use tokio_postgres::Client;

use super::error::During as _;
use super::session::{self, Session};
use super::{CopyRows, HISTORY_TABLES, PostgresConfig, PostgresError, PostgresSink, connect, schema, writer};
use columns::Table;
pub use state::StateCheck;

/// The schema in which ledgers are written to be compared. One verification at a time; what a killed one left is dropped by the next.
pub(super) const SCRATCH: &str = "starmill_verify";
/// Key of the lock that a verification holds.
const LOCK: &str = "hashtextextended('starmill verification', 0)";
/// One partition for all times that ledgers have.
const SCRATCH_PARTITION_DAYS: u16 = u16::MAX;
/// What the rows of contracts depend on.
const KNOWLEDGE: [&str; 4] = ["trustline_assets", "contract_tokens", "protocol_wasms", "protocol_contracts"];

/// A row that is not as its ledger says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Difference {
    /// The table.
    pub table: String,
    /// The ledger, where the row is of one.
    pub ledger: Option<u32>,
    /// The row that should be there, as a JSON object; `None` if there should be none.
    pub expected: Option<String>,
    /// The row that is there; `None` if there is none.
    pub found: Option<String>,
}

/// What a verification came to.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Verified {
    /// Ledgers compared.
    pub ledgers: Coverage,
    /// Rows that differ.
    pub differences: u64,
    /// How far current state was compared.
    pub state: StateCheck,
    /// Whether the differences were mended.
    pub repaired: bool,
}

/// Told of each difference.
pub(super) type Report = Box<dyn FnMut(&Difference) + Send>;

/// A sink that compares instead of keeping.
pub struct Verifier {
    scratch: PostgresSink,
    /// Reads both schemas; holds the lock.
    reader: Client,
    /// Writes the mended rows, in a transaction that is open from the start.
    mender: Option<Session>,
    /// The database's own schema, quoted.
    schema: String,
    history: Vec<Table>,
    covered: Coverage,
    seeded: bool,
    verified: Verified,
    report: Report,
    runtime: Runtime,
}

impl fmt::Debug for Verifier {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Verifier").field("verified", &self.verified).finish_non_exhaustive()
    }
}

impl Verifier {
    /// Connects and makes the schema to compare with. `repair` becomes the tip's writer.
    ///
    /// # Errors
    /// `schema-missing` for a database without rows, `network-mismatch`, `verify-busy` while another verifies, `writer-busy` for a repair while a run goes
    /// on, and whatever a connection can meet.
    pub fn open(config: &PostgresConfig, repair: bool, report: Report) -> Result<Self, PostgresError> {
        let runtime = connect::runtime()?;
        let target = connect::target(config)?;
        let (reader, schema, history, covered) = runtime.block_on(async {
            let mut reader = connect::connect(&target).await?;
            let network = schema::check(&mut reader).await?;
            if network.passphrase != config.network {
                return Err(PostgresError::NetworkMismatch { stored: network.passphrase, wanted: config.network.clone() });
            }
            let opening = || "making the schema to compare with".to_owned();
            let locked = reader.query_one(&format!("SELECT pg_try_advisory_lock({LOCK})"), &[]).await.during(opening)?;
            if !locked.try_get::<_, bool>(0).during(opening)? {
                return Err(PostgresError::VerifyBusy);
            }
            reader.batch_execute(&format!("DROP SCHEMA IF EXISTS {SCRATCH} CASCADE; CREATE SCHEMA {SCRATCH}")).await.during(opening)?;
            let row = reader.query_one("SELECT quote_ident(current_schema())", &[]).await.during(opening)?;
            let mut history = Vec::new();
            for name in HISTORY_TABLES {
                history.push(Table::of(&reader, name).await?);
            }
            let covered = session::load_coverage(&reader).await?;
            Ok((reader, row.try_get(0).during(opening)?, history, covered))
        })?;
        let mender = if repair {
            let (session, _) = runtime.block_on(session::open(config, config.wait_for_writer, None))?;
            runtime.block_on(writer::begin(&session.client, config.role, session.epoch, ""))?;
            Some(session)
        } else {
            None
        };
        let beside = PostgresConfig {
            schema: Some(SCRATCH.to_owned()),
            partition_days: SCRATCH_PARTITION_DAYS,
            retention_days: None,
            wait_for_writer: false,
            steps: None,
            ..config.clone()
        };
        let scratch = PostgresSink::open(beside)?;
        let (seeded, verified) = (false, Verified::default());
        Ok(Self { scratch, reader, mender, schema, history, covered, seeded, verified, report, runtime })
    }

    /// Compares current state, commits what was mended, and drops the schema.
    pub fn conclude(mut self) -> Result<Verified, PostgresError> {
        self.state()?;
        let Self { scratch, reader, mender, mut verified, runtime, .. } = self;
        if let Some(session) = mender {
            runtime.block_on(session.client.batch_execute("COMMIT")).during(|| "committing what was mended".to_owned())?;
            verified.repaired = true;
        }
        drop(scratch);
        runtime
            .block_on(reader.batch_execute(&format!("DROP SCHEMA {SCRATCH} CASCADE")))
            .during(|| format!("dropping the schema {SCRATCH}"))?;
        Ok(verified)
    }

    /// Tells of differences: ledger, expected and found row.
    fn tell(&mut self, table: &str, rows: Vec<(Option<i64>, Option<String>, Option<String>)>) {
        for (ledger, expected, found) in rows {
            self.verified.differences += 1;
            let ledger = ledger.and_then(|ledger| u32::try_from(ledger).ok());
            (self.report)(&Difference { table: table.to_owned(), ledger, expected, found });
        }
    }

    /// Ledgers before the first one that was read have taught the database what it knows of contracts; the sink beside learns it from there.
    fn seed(&mut self, first: u32) -> Result<(), PostgresError> {
        if !std::mem::replace(&mut self.seeded, true) && self.covered.ranges().first().is_some_and(|range| range.lo < first) {
            let sql = KNOWLEDGE.map(|table| format!("INSERT INTO {SCRATCH}.{table} SELECT * FROM {}.{table};", self.schema)).concat();
            // Beside, the protocols are there already.
            self.runtime.block_on(self.reader.batch_execute(&sql)).during(|| "copying what is known of contracts".to_owned())?;
            self.scratch.reopen()?;
        }
        Ok(())
    }

    fn compare(&mut self, ledgers: &[LedgerRow]) -> Result<(), PostgresError> {
        let span = history::Span::of(ledgers);
        for n in 0..self.history.len() {
            let table = &self.history[n];
            let rows = self.runtime.block_on(history::differences(&self.reader, table, &self.schema, &span))?;
            if rows.is_empty() {
                continue;
            }
            if let Some(session) = &mut self.mender {
                self.runtime.block_on(history::mend(session, table, &self.schema, &span, ledgers))?;
            }
            let name = table.name.clone();
            self.tell(&name, rows);
        }
        Ok(())
    }
}

impl Sink for Verifier {
    type Rows = CopyRows;
    type Error = PostgresError;

    /// What is not to be verified: the ledgers that the database does not claim to have.
    fn coverage(&self) -> Coverage {
        let mut without = Coverage::new();
        let mut next = 1;
        for range in self.covered.ranges() {
            if range.lo > next {
                without.insert(LedgerRange { lo: next, hi: range.lo - 1 });
            }
            next = range.hi.saturating_add(1);
        }
        without.insert(LedgerRange { lo: next, hi: u32::MAX });
        without
    }

    fn commit(&mut self, batch: &mut Batch<CopyRows>) -> Result<(), PostgresError> {
        let Some(first) = batch.ledgers.first() else { return Ok(()) };
        self.seed(first.sequence)?;
        self.scratch.commit(batch)?;
        // Between others there may be ledgers that are not covered, and rows of them that somebody is writing.
        for run in batch.ledgers.chunk_by(|one, next| one.sequence + 1 == next.sequence) {
            self.compare(run)?;
        }
        self.runtime.block_on(history::forget(&self.reader, self.mender.is_some()))?;
        self.verified.ledgers.insert_all(batch.ledgers.iter().map(|ledger| ledger.sequence));
        Ok(())
    }
}
