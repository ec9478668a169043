//! What can go wrong between starmill and Postgres, each with a stable code, the statement it happened in, and what to do.

use thiserror::Error;
use tokio_postgres::error::SqlState;

/// Why a database could not be opened or a batch not be kept.
#[derive(Debug, Error)]
pub enum PostgresError {
    /// The connection string cannot be read.
    #[error("the database URL cannot be read: {source}; expected postgresql://user:password@host:port/database or key=value pairs")]
    Url {
        /// What the parser says.
        source: tokio_postgres::Error,
    },
    /// No connection.
    #[error("cannot connect to {target}: {message}; {advice}")]
    Connect {
        /// Stable code.
        code: &'static str,
        /// Database and host, without the password.
        target: String,
        /// What Postgres or the system says.
        message: String,
        /// What to do.
        advice: &'static str,
    },
    /// The server is too old.
    #[error("the server runs PostgreSQL {version}; starmill needs 13 or later")]
    ServerTooOld {
        /// The server's version.
        version: String,
    },
    /// The database holds another network.
    #[error("the database holds the network {stored:?}, not {wanted:?}; choose the database of that network, or an empty one")]
    NetworkMismatch {
        /// Passphrase in the database.
        stored: String,
        /// Passphrase asked for.
        wanted: String,
    },
    /// A newer starmill made the schema.
    #[error("the database has migration {name}, which this starmill does not know; upgrade starmill")]
    SchemaNewer {
        /// Name of the first unknown migration.
        name: String,
    },
    /// An applied migration differs from this program's.
    #[error(
        "migration {name} was applied with SHA-256 {stored}, this starmill has {embedded}; use the starmill that made the database, or an empty one"
    )]
    SchemaChanged {
        /// Name of the migration.
        name: String,
        /// Recorded checksum, hex.
        stored: String,
        /// Checksum of the text in this program, hex.
        embedded: String,
    },
    /// The schema has not been made, or not all of it, and the caller only reads.
    #[error("the database lacks migration {name}; `starmill run` on it makes the schema")]
    SchemaMissing {
        /// Name of the first missing migration.
        name: String,
    },
    /// Tables of the same names exist that starmill did not make.
    #[error("the database has tables that starmill did not make ({message}); use an empty database or another schema")]
    SchemaForeign {
        /// What Postgres says.
        message: String,
    },
    /// Another process writes.
    #[error("another starmill writes to this database ({holder}); stop it, or let this one wait for it (--standby)")]
    WriterBusy {
        /// Who holds the lock.
        holder: String,
    },
    /// Another process verifies.
    #[error("another starmill verifies this database; wait for it to end")]
    VerifyBusy,
    /// Another writer opened the database after this one.
    #[error("another starmill has opened this database for writing since (epoch {stored}, ours {ours}); nothing was written")]
    WriterFenced {
        /// Epoch in the database.
        stored: i64,
        /// Epoch of this writer.
        ours: i64,
    },
    /// A ledger has a sequence or close time that the tables cannot hold.
    #[error("ledger {sequence} closed at {closed_at} (Unix seconds): the tables hold sequences up to {} and years 1 to 9999", i32::MAX)]
    LedgerOutOfRange {
        /// Ledger sequence.
        sequence: u32,
        /// Close time, Unix seconds.
        closed_at: i64,
    },
    /// Postgres stored another number of rows than was sent.
    #[error("{table}: {sent} rows sent, Postgres counted {stored} (ledgers {ledgers}); nothing was written; please report this")]
    RowCount {
        /// The table.
        table: &'static str,
        /// Rows sent.
        sent: u64,
        /// Rows that Postgres counted.
        stored: u64,
        /// The batch.
        ledgers: String,
    },
    /// The coverage in the database is not what this writer left there.
    #[error(
        "ledger_coverage was changed by somebody else (expected to replace {expected} ranges, found {found}); nothing was written; start again"
    )]
    CoverageChanged {
        /// Ranges to replace.
        expected: usize,
        /// Ranges found.
        found: u64,
    },
    /// Another writer has committed between the plan of a batch and its end.
    #[error("the highest covered ledger went from {planned} to {found} while a batch was written; nothing was written; start again")]
    TopMoved {
        /// The highest covered ledger when the batch was planned.
        planned: u32,
        /// What it is now.
        found: u32,
    },
    /// A ledger of the batch is covered.
    #[error("ledger {sequence} is covered already; nothing was written; leave out what is covered")]
    LedgerCovered {
        /// Ledger sequence.
        sequence: u32,
    },
    /// The other writer is at a ledger of the batch.
    #[error("ledger {sequence} is being written by the other writer, tip or backfill; nothing was written; give each ledgers of its own")]
    LedgerPending {
        /// Ledger sequence.
        sequence: u32,
    },
    /// A partition was being loaded, and what was there of it is gone.
    #[error(
        "the partition that begins on day {first_day} since 1970 was being loaded and is not there any more; nothing of it was written; start again"
    )]
    BulkLost {
        /// Its first day, counted from 1970-01-01.
        first_day: i64,
    },
    /// A test has ended the writer here.
    #[doc(hidden)]
    #[error("ended by a test at {step}")]
    Died {
        /// Where.
        step: String,
    },
    /// The connection was lost earlier.
    #[error("the connection to Postgres was lost; reopen the sink before the next commit")]
    Closed,
    /// The system refused a runtime.
    #[error("cannot set up I/O: {0}")]
    Io(#[from] std::io::Error),
    /// A statement failed.
    #[error(transparent)]
    Statement(Box<StatementError>),
}

/// A statement that Postgres refused, or that the connection did not survive.
#[derive(Debug, Error)]
#[error("{during}: {message}{}; {advice}", sqlstate.as_ref().map_or(String::new(), |state| format!(" (SQLSTATE {state})")))]
pub struct StatementError {
    /// Stable code.
    pub code: &'static str,
    /// What was being done, with the ledgers where a commit did it.
    pub during: String,
    /// The table, where one is concerned.
    pub table: Option<String>,
    /// SQLSTATE, absent when the connection broke.
    pub sqlstate: Option<String>,
    /// What Postgres says, in one line.
    pub message: String,
    /// What to do.
    pub advice: &'static str,
    /// The driver's error.
    pub source: tokio_postgres::Error,
}

impl PostgresError {
    /// Stable name of the fault, for programs.
    pub fn code(&self) -> &'static str {
        match self {
            Self::Url { .. } => "database-url",
            Self::Connect { code, .. } => code,
            Self::ServerTooOld { .. } => "postgres-version",
            Self::NetworkMismatch { .. } => "network-mismatch",
            Self::SchemaNewer { .. } => "schema-newer",
            Self::SchemaChanged { .. } => "schema-changed",
            Self::SchemaMissing { .. } => "schema-missing",
            Self::SchemaForeign { .. } => "schema-foreign",
            Self::WriterBusy { .. } => "writer-busy",
            Self::VerifyBusy => "verify-busy",
            Self::WriterFenced { .. } => "writer-fenced",
            Self::LedgerOutOfRange { .. } => "ledger-out-of-range",
            Self::RowCount { .. } => "row-count",
            Self::CoverageChanged { .. } | Self::TopMoved { .. } => "coverage-changed",
            Self::LedgerCovered { .. } => "ledger-covered-already",
            Self::LedgerPending { .. } => "ledger-pending",
            Self::BulkLost { .. } => "bulk-lost",
            Self::Died { .. } => "ended-by-test",
            Self::Closed => "connection-lost",
            Self::Io(_) => "io",
            Self::Statement(error) => error.code,
        }
    }

    /// Whether the same may succeed a while later without anybody doing anything. A commit has tried for as long as it was told to.
    pub fn is_transient(&self) -> bool {
        matches!(
            self.code(),
            "connection-lost"
                | "conflict"
                | "connection-refused"
                | "connection-timeout"
                | "too-many-connections"
                | "interrupted"
                | "partition-missing"
        )
    }

    /// SQLSTATE of a refused statement.
    pub fn sqlstate(&self) -> Option<&str> {
        match self {
            Self::Statement(error) => error.sqlstate.as_deref(),
            _ => None,
        }
    }

    pub(crate) fn statement(during: impl Into<String>, source: tokio_postgres::Error) -> Self {
        let (code, advice) = judge(&source);
        let db = source.as_db_error();
        Self::Statement(Box::new(StatementError {
            code,
            during: during.into(),
            table: db.and_then(|db| db.table().map(str::to_owned)),
            sqlstate: db.map(|db| db.code().code().to_owned()),
            message: message(&source),
            advice,
            source,
        }))
    }

    pub(crate) fn no_greeting(target: String, limit: std::time::Duration) -> Self {
        let message = format!("no answer within {} s", limit.as_secs());
        let advice = "check that a Postgres listens there and is not stopped; `connect_timeout` in the URL sets the limit";
        Self::Connect { code: "connection-timeout", target, message, advice }
    }

    pub(crate) fn connect(target: String, source: &tokio_postgres::Error) -> Self {
        let (code, advice) = match judge(source) {
            ("connection-lost", _) => ("connection-refused", "check that the server runs and that the address is right"),
            known => known,
        };
        Self::Connect { code, target, message: message(source), advice }
    }
}

/// Names the statement (and ledgers) that a driver error came from.
pub(crate) trait During<T> {
    fn during(self, what: impl FnOnce() -> String) -> Result<T, PostgresError>;
}

impl<T> During<T> for Result<T, tokio_postgres::Error> {
    fn during(self, what: impl FnOnce() -> String) -> Result<T, PostgresError> {
        self.map_err(|error| PostgresError::statement(what(), error))
    }
}

/// One line: the server's message with its detail, or the driver's with its cause.
fn message(error: &tokio_postgres::Error) -> String {
    let text = if let Some(db) = error.as_db_error() {
        match db.detail() {
            Some(detail) => format!("{} ({detail})", db.message()),
            None => db.message().to_owned(),
        }
    } else {
        match std::error::Error::source(error) {
            Some(cause) => format!("{error}: {cause}"),
            None => error.to_string(),
        }
    };
    text.replace('\n', " ")
}

/// Code and advice for an error of the driver.
fn judge(error: &tokio_postgres::Error) -> (&'static str, &'static str) {
    const RETRY: (&str, &str) = ("connection-lost", "start again: what is covered is not written twice");
    let Some(state) = error.code() else {
        return RETRY;
    };
    match state {
        &SqlState::DISK_FULL => ("disk-full", "free space on the server's disk, then start again"),
        &SqlState::OUT_OF_MEMORY => ("out-of-memory", "give the server more memory or make batches smaller"),
        &SqlState::TOO_MANY_CONNECTIONS => ("too-many-connections", "raise max_connections or close other clients"),
        &SqlState::UNIQUE_VIOLATION => (
            "rows-exist",
            "rows of these ledgers are there although ledger_coverage does not say so; remove them, or use an empty database",
        ),
        // Names no constraint: the other writer has dropped the partition meanwhile.
        &SqlState::CHECK_VIOLATION if error.as_db_error().is_some_and(|db| db.constraint().is_none()) => {
            ("partition-missing", "start again: what is old was dropped while it was written")
        }
        &SqlState::CHECK_VIOLATION | &SqlState::NOT_NULL_VIOLATION => {
            ("row-refused", "a row does not fit its table; please report the ledger")
        }
        &SqlState::INSUFFICIENT_PRIVILEGE => ("permission-denied", "the user must own the schema's tables"),
        &SqlState::READ_ONLY_SQL_TRANSACTION => ("database-read-only", "connect to the primary server"),
        &SqlState::INVALID_CATALOG_NAME => ("database-missing", "create it with createdb"),
        &SqlState::T_R_SERIALIZATION_FAILURE | &SqlState::T_R_DEADLOCK_DETECTED => ("conflict", "start again"),
        &SqlState::LOCK_NOT_AVAILABLE | &SqlState::QUERY_CANCELED => ("interrupted", "somebody stopped the statement; start again"),
        state => match state.code().get(..2) {
            Some("08" | "57") => RETRY,
            Some("28") => ("login-refused", "check user and password"),
            Some("53") => ("server-resources", "the server lacks a resource; see its log"),
            Some("58" | "XX") => ("server-fault", "see the server's log"),
            _ => ("postgres", "see the server's log; please report this"),
        },
    }
}
