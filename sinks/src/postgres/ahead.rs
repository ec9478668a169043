//! History ahead of the commit: the rows of a large batch over several connections at once, each with its share of bytes in a transaction of its own.
//!
//! Promises: a connection writes only while its writer is the newest of its role, and holds the role's row until it has committed, so that a new
//! writer finds all of it or none. Nothing waits for the disk here: the batch's last COMMIT makes durable what was committed before it.

use futures_util::future::try_join_all;
use starmill_ledger::rows::LedgerRow;
use tokio_postgres::{Client, Statement};

use super::PostgresError;
use super::commit::span;
use super::config::PostgresConfig;
use super::copy::TABLES;
use super::error::During as _;
use super::pieces::{Piece, Whole, divide};
use super::steps::{Step, at};
use super::{connect, send, writer};

/// The connections of a session over which history is copied; made when first needed.
#[derive(Debug, Default)]
pub(crate) struct Copiers(Vec<Copier>);

#[derive(Debug)]
struct Copier {
    client: Client,
    /// In the order of [`TABLES`].
    copies: Vec<Statement>,
}

impl Copiers {
    /// Connects what is missing. Fewer than wanted will do where the server has no more, and none at all.
    pub(crate) async fn connect(&mut self, config: &PostgresConfig) -> Result<bool, PostgresError> {
        self.0.retain(|copier| !copier.client.is_closed());
        while self.0.len() < usize::from(config.copy_connections) {
            match Copier::connect(config).await {
                Ok(copier) => self.0.push(copier),
                Err(error) if error.code() == "too-many-connections" => break,
                Err(error) => return Err(error),
            }
        }
        Ok(!self.0.is_empty())
    }

    /// The connections, for other work.
    pub(crate) fn clients(&self) -> impl Iterator<Item = &Client> {
        self.0.iter().map(|copier| &copier.client)
    }

    /// Copies the tables and commits them. After an error connections are at any place of their work.
    pub(crate) async fn copy(
        &self,
        config: &PostgresConfig,
        epoch: i64,
        tables: &[Whole],
        ledgers: &[LedgerRow],
    ) -> Result<(), PostgresError> {
        let loads = divide(tables, self.0.len());
        let work = loads.iter().zip(&self.0).map(|(load, copier)| copier.copy(config, epoch, load, ledgers));
        try_join_all(work).await.map(drop)
    }
}

impl Copier {
    async fn connect(config: &PostgresConfig) -> Result<Self, PostgresError> {
        let client = connect::connect(&connect::target(config)?).await?;
        let lock = format!("SET synchronous_commit TO off; SELECT pg_advisory_lock_shared({})", writer::copy_lock_key(config.role));
        client.batch_execute(&lock).await.during(|| "setting up a connection for copying".to_owned())?;
        Ok(Self { copies: prepare(&client).await?, client })
    }

    async fn copy(&self, config: &PostgresConfig, epoch: i64, load: &[Piece], ledgers: &[LedgerRow]) -> Result<(), PostgresError> {
        writer::begin(&self.client, config.role, epoch, "").await?;
        for piece in load {
            let table = TABLES[piece.table].name;
            let stored = send::copy(config, &self.client, (table, &self.copies[piece.table]), &piece.bytes, ledgers).await?;
            if stored != piece.rows {
                return Err(PostgresError::RowCount { table, sent: piece.rows, stored, ledgers: span(ledgers) });
            }
            at(config, Step::Copied(table))?;
        }
        self.client.batch_execute("COMMIT").await.during(|| format!("COMMIT of history, ledgers {}", span(ledgers)))?;
        at(config, Step::CopiesCommitted)
    }
}

/// Prepares the COPY statements, in the order of [`TABLES`].
pub(crate) async fn prepare(client: &Client) -> Result<Vec<Statement>, PostgresError> {
    let mut copies = Vec::with_capacity(TABLES.len());
    for table in TABLES {
        copies.push(client.prepare(table.copy).await.during(|| format!("preparing COPY {}", table.name))?);
    }
    Ok(copies)
}
