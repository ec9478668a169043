//! A writer's session: connected, alone, on a checked schema, with its COPY statements prepared.

use std::collections::BTreeSet;
use std::time::Instant;

use tokio_postgres::{Client, Statement};

use super::connect::{self, PostgresConfig};
use super::copy::TABLES;
use super::error::During as _;
use super::partitions::Partitions;
use super::state::{self, Known, StateStatements};
use super::{HISTORY_TABLES, PostgresError, schema};
use starmill_ledger::Network;
use starmill_ledger::coverage::{Coverage, LedgerRange};

/// Key of the lock that a writer holds as long as its session lives; one per schema.
const WRITER_LOCK: &str = "hashtextextended('starmill writer of ' || current_schema(), 0)";
const OLDEST_SERVER: i32 = 130_000;

/// What a writer needs for its commits.
#[derive(Debug)]
pub(crate) struct Session {
    pub(crate) client: Client,
    /// In the order of [`TABLES`].
    pub(crate) copies: Vec<Statement>,
    /// Of the tables of current state, in the order in which they are written.
    pub(crate) state: Vec<StateStatements>,
    pub(crate) network: Network,
    /// What the database says about contracts.
    pub(crate) known: Known,
    pub(crate) partitions: Partitions,
    /// This writer's number; a commit compares it with the database's.
    pub(crate) epoch: i64,
}

/// Opens the database for writing and says what it covers.
pub(crate) async fn open(config: &PostgresConfig) -> Result<(Session, Coverage), PostgresError> {
    let mut client = connect::connect(&connect::parse(&config.url)?).await?;
    check_server(&client).await?;
    become_writer(&client, config).await?;
    let stored = schema::migrate(&mut client, &config.network, config.partition_days).await?;
    let epoch = client
        .query_one("UPDATE starmill_network SET writer_epoch = writer_epoch + 1 RETURNING writer_epoch", &[])
        .await
        .and_then(|row| row.try_get(0))
        .during(|| "taking the writer's epoch".to_owned())?;
    let coverage = load_coverage(&client).await?;
    let partitions = load_partitions(&client, stored.partition_days).await?;
    let mut copies = Vec::with_capacity(TABLES.len());
    for table in TABLES {
        copies.push(client.prepare(table.copy).await.during(|| format!("preparing COPY {}", table.name))?);
    }
    let network = Network::new(config.network.as_str());
    let known = Known::load(&client, &network).await?;
    let state = state::prepare(&client).await?;
    Ok((Session { client, copies, state, network, known, partitions, epoch }, coverage))
}

async fn check_server(client: &Client) -> Result<(), PostgresError> {
    let asking = || "asking for the server's version".to_owned();
    let row = client
        .query_one("SELECT current_setting('server_version_num')::int4, current_setting('server_version')", &[])
        .await
        .during(asking)?;
    if row.try_get::<_, i32>(0).during(asking)? < OLDEST_SERVER {
        return Err(PostgresError::ServerTooOld { version: row.try_get(1).during(asking)? });
    }
    Ok(())
}

/// Takes the writer's lock, which the server gives back when the session ends.
async fn become_writer(client: &Client, config: &PostgresConfig) -> Result<(), PostgresError> {
    let taking = || "taking the writer's lock".to_owned();
    let until = Instant::now() + config.writer_wait;
    loop {
        let row = client.query_one(&format!("SELECT pg_try_advisory_lock({WRITER_LOCK})"), &[]).await.during(taking)?;
        if row.try_get::<_, bool>(0).during(taking)? {
            return Ok(());
        }
        if Instant::now() >= until {
            return Err(PostgresError::WriterBusy { holder: lock_holder(client).await? });
        }
        tokio::time::sleep(std::time::Duration::from_millis(50)).await;
    }
}

/// Who holds the writer's lock, for the message.
async fn lock_holder(client: &Client) -> Result<String, PostgresError> {
    let asking = || "asking who holds the writer's lock".to_owned();
    let Some(pid) = writer_pid(client).await? else { return Ok("which is just going away".to_owned()) };
    let sql = "SELECT format('server process %s of user %s, since %s', pid, usename, to_char(backend_start, 'YYYY-MM-DD HH24:MI:SS TZ')) \
               FROM pg_stat_activity WHERE pid = $1";
    let row = client.query_opt(sql, &[&pid]).await.during(asking)?;
    row.map_or_else(|| Ok(format!("server process {pid}")), |row| row.try_get(0).during(asking))
}

/// The server process that holds the writer's lock.
pub(crate) async fn writer_pid(client: &Client) -> Result<Option<i32>, PostgresError> {
    let asking = || "asking who holds the writer's lock".to_owned();
    let sql = format!(
        "SELECT l.pid FROM pg_locks l, (SELECT {WRITER_LOCK} AS key) k \
         WHERE l.locktype = 'advisory' AND l.granted AND l.objsubid = 1 \
         AND l.database = (SELECT oid FROM pg_database WHERE datname = current_database()) \
         AND l.classid::int8 = (k.key >> 32) & 4294967295 AND l.objid::int8 = k.key & 4294967295"
    );
    let row = client.query_opt(&sql, &[]).await.during(asking)?;
    row.map(|row| row.try_get(0).during(asking)).transpose()
}

/// The ranges of `ledger_coverage`.
pub(crate) async fn load_coverage(client: &Client) -> Result<Coverage, PostgresError> {
    let reading = || "reading ledger_coverage".to_owned();
    let rows = client.query("SELECT lo, hi FROM ledger_coverage ORDER BY lo", &[]).await.during(reading)?;
    let sequence = |number: i64| {
        let message = || format!("ledger_coverage holds {number}, which is no ledger sequence");
        u32::try_from(number).map_err(|_| PostgresError::SchemaForeign { message: message() })
    };
    rows.iter()
        .map(|row| Ok(LedgerRange { lo: sequence(row.try_get(0).during(reading)?)?, hi: sequence(row.try_get(1).during(reading)?)? }))
        .collect()
}

/// Whether the tables are partitioned, and the partitions they have.
async fn load_partitions(client: &Client, days: i32) -> Result<Partitions, PostgresError> {
    let reading = || "reading the partitions".to_owned();
    let declarative = client
        .query_one("SELECT relkind::text = 'p' FROM pg_class WHERE oid = 'transactions'::regclass", &[])
        .await
        .and_then(|row| row.try_get(0))
        .during(reading)?;
    let rows = client
        .query(
            "SELECT c.relname::text FROM pg_inherits i JOIN pg_class c ON c.oid = i.inhrelid \
             WHERE i.inhparent IN (SELECT to_regclass(t)::oid FROM unnest($1::text[]) t)",
            &[&HISTORY_TABLES.as_slice()],
        )
        .await
        .during(reading)?;
    let existing = rows.iter().map(|row| row.try_get(0).during(reading)).collect::<Result<BTreeSet<String>, _>>()?;
    Ok(Partitions::new(days, declarative, existing))
}
