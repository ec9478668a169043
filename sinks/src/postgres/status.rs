//! What a database holds: coverage, gaps, rows and sizes. Reads only, needs no writer's lock, works beside a writer.

use tokio_postgres::Client;

use super::error::During as _;
use super::{HISTORY_TABLES, PostgresError, WriterRole, connect, schema, session, writer};
use starmill_ledger::Coverage;

/// The tables of current state and protocols, after those of history.
const OTHER_TABLES: [&str; 12] = [
    "native_balances",
    "trustline_assets",
    "trustline_balances",
    "contract_tokens",
    "sac_balances",
    "liquidity_pools",
    "liquidity_pool_balances",
    "protocols",
    "protocol_wasms",
    "protocol_contracts",
    "sep41_balances",
    "sep41_allowances",
];

/// How to count rows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RowCounts {
    /// `count(*)`: reads every row.
    Exact,
    /// The planner's estimate: free, as fresh as the last ANALYZE or autovacuum.
    Estimated,
}

/// One table.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TableStatus {
    /// Name.
    pub name: &'static str,
    /// Rows, counted as asked.
    pub rows: i64,
    /// Bytes on disk with indexes and all partitions.
    pub bytes: i64,
    /// Partitions or chunks; 0 for a table that has none.
    pub partitions: i64,
}

/// A database.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PostgresStatus {
    /// Version of the server.
    pub server_version: String,
    /// Passphrase of the network that the database holds.
    pub network: String,
    /// Days per partition.
    pub partition_days: i32,
    /// Ledgers whose rows are durable.
    pub coverage: Coverage,
    /// Server process of the tip's writer at work, if there is one.
    pub writer_pid: Option<i32>,
    /// Server process of the backfill's writer at work, if there is one.
    pub backfill_pid: Option<i32>,
    /// Bytes of the whole database on disk.
    pub database_bytes: i64,
    /// The tables, history first.
    pub tables: Vec<TableStatus>,
}

/// Asks a database what it holds.
///
/// # Errors
/// `schema-missing` for a database without the schema, `schema-newer`, and whatever a connection can meet.
pub fn status(url: &str, counts: RowCounts) -> Result<PostgresStatus, PostgresError> {
    let config = connect::parse(url)?;
    connect::runtime()?.block_on(async {
        let mut client = connect::connect(&config).await?;
        let network = schema::check(&mut client).await?;
        let coverage = session::load_coverage(&client).await?;
        let asking = || "asking for sizes".to_owned();
        let row =
            client.query_one("SELECT current_setting('server_version'), pg_database_size(current_database())", &[]).await.during(asking)?;
        let mut tables = Vec::with_capacity(HISTORY_TABLES.len() + OTHER_TABLES.len());
        for name in HISTORY_TABLES.into_iter().chain(OTHER_TABLES) {
            tables.push(table(&client, name, counts).await?);
        }
        Ok(PostgresStatus {
            server_version: row.try_get(0).during(asking)?,
            network: network.passphrase,
            partition_days: network.partition_days,
            coverage,
            writer_pid: writer::writer_pid(&client, WriterRole::Tip).await?,
            backfill_pid: writer::writer_pid(&client, WriterRole::Backfill).await?,
            database_bytes: row.try_get(1).during(asking)?,
            tables,
        })
    })
}

/// The network whose ledgers a database holds; `None` for a database without the schema.
///
/// # Errors
/// `schema-newer`, and whatever a connection can meet.
pub fn network(url: &str) -> Result<Option<String>, PostgresError> {
    let config = connect::parse(url)?;
    connect::runtime()?.block_on(async {
        let mut client = connect::connect(&config).await?;
        match schema::check(&mut client).await {
            Ok(network) => Ok(Some(network.passphrase)),
            Err(PostgresError::SchemaMissing { .. }) => Ok(None),
            Err(error) => Err(error),
        }
    })
}

async fn table(client: &Client, name: &'static str, counts: RowCounts) -> Result<TableStatus, PostgresError> {
    let asking = || format!("measuring {name}");
    let row = client
        .query_one(
            "WITH RECURSIVE tree(oid) AS (SELECT to_regclass($1)::oid UNION ALL SELECT inhrelid FROM pg_inherits JOIN tree ON inhparent = tree.oid) \
             SELECT coalesce(sum(pg_total_relation_size(c.oid)), 0)::int8, \
             coalesce(sum(greatest(reltuples, 0)) FILTER (WHERE relkind = 'r'), 0)::int8, count(*) - 1 \
             FROM tree JOIN pg_class c USING (oid)",
            &[&name],
        )
        .await
        .during(asking)?;
    let rows = match counts {
        RowCounts::Estimated => row.try_get(1).during(asking)?,
        RowCounts::Exact => {
            let row = client.query_one(&format!("SELECT count(*) FROM {name}"), &[]).await.during(asking)?;
            row.try_get(0).during(asking)?
        }
    };
    Ok(TableStatus { name, rows, bytes: row.try_get(0).during(asking)?, partitions: row.try_get(2).during(asking)? })
}
