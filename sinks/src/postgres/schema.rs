//! Migrations: the schema's history as embedded SQL, applied once, in order, all or nothing.
//!
//! Promises: two processes cannot migrate at the same time; each applied text is recorded with its SHA-256, and a database whose record differs
//! from this program, or goes beyond it, is refused with a code that says which. The hypertables of `TimescaleDB` are the one part that the tests,
//! which have plain Postgres, do not run.

use sha2::{Digest as _, Sha256};
use tokio_postgres::{Client, Transaction};

use super::PostgresError;
use super::config::PostgresConfig;
use super::error::During as _;
use super::steps::{Step, at};

/// What stands in `0002_history.sql` where a table is divided by close time.
const HISTORY_MARK: &str = "/* history table */";
const TIMESCALE: &str = include_str!("migrations/timescale.sql");

/// One step of the schema.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Migration {
    pub(crate) name: &'static str,
    sql: &'static str,
}

/// All steps, in order. A released step is never edited; a change is a new step.
pub(crate) const MIGRATIONS: [Migration; 7] = [
    Migration { name: "0001_bookkeeping", sql: include_str!("migrations/0001_bookkeeping.sql") },
    Migration { name: "0002_history", sql: include_str!("migrations/0002_history.sql") },
    Migration { name: "0003_current_state", sql: include_str!("migrations/0003_current_state.sql") },
    Migration { name: "0004_protocols", sql: include_str!("migrations/0004_protocols.sql") },
    Migration { name: "0005_address_text", sql: include_str!("migrations/0005_address_text.sql") },
    Migration { name: "0006_writers", sql: include_str!("migrations/0006_writers.sql") },
    Migration { name: "0007_bulk", sql: include_str!("migrations/0007_bulk.sql") },
];

impl Migration {
    /// SHA-256 of the text as it stands in this program, and of what it runs under `TimescaleDB`.
    fn checksum(&self) -> String {
        let mut hash = Sha256::new_with_prefix(self.sql);
        if self.sql.contains(HISTORY_MARK) {
            hash.update(TIMESCALE);
        }
        hex::encode(hash.finalize())
    }

    fn statements(&self, timescale: bool, partition_days: u16) -> String {
        if !self.sql.contains(HISTORY_MARK) {
            self.sql.to_owned()
        } else if timescale {
            format!("{}\n{}", self.sql.replace(HISTORY_MARK, ""), TIMESCALE.replace("{days}", &partition_days.to_string()))
        } else {
            self.sql.replace(HISTORY_MARK, "PARTITION BY RANGE (ledger_created_at)")
        }
    }
}

/// What a checked database says about itself.
#[derive(Clone, Debug)]
pub(crate) struct Network {
    pub(crate) passphrase: String,
    pub(crate) partition_days: i32,
}

/// Brings the schema up to date and checks that the database holds this network, in one transaction.
pub(crate) async fn migrate(client: &mut Client, config: &PostgresConfig) -> Result<Network, PostgresError> {
    let partition_days = config.partition_days.max(1);
    let migrating = || "migrating the schema".to_owned();
    let tx = client.transaction().await.during(migrating)?;
    tx.execute("SELECT pg_advisory_xact_lock(hashtextextended('starmill migrations in ' || current_schema(), 0))", &[])
        .await
        .during(migrating)?;
    tx.batch_execute(
        "CREATE TABLE IF NOT EXISTS starmill_migrations (name text PRIMARY KEY, sha256 text NOT NULL, applied_at timestamptz NOT NULL DEFAULT now())",
    )
    .await
    .during(migrating)?;
    let applied = check_applied(applied(&tx).await?)?;
    let timescale = tx.query_opt("SELECT 1 FROM pg_extension WHERE extname = 'timescaledb'", &[]).await.during(migrating)?.is_some();
    for migration in &MIGRATIONS[applied..] {
        apply(&tx, migration, timescale, partition_days).await?;
    }
    let network = check_network(&tx, &config.network, partition_days).await?;
    at(config, Step::Migrated)?;
    tx.commit().await.during(migrating)?;
    Ok(network)
}

/// Checks, without changing anything, that the schema is exactly this program's, and says which network it holds.
pub(crate) async fn check(client: &mut Client) -> Result<Network, PostgresError> {
    let checking = || "checking the schema".to_owned();
    let tx = client.build_transaction().read_only(true).start().await.during(checking)?;
    let known: Option<String> =
        tx.query_one("SELECT to_regclass('starmill_migrations')::text", &[]).await.during(checking)?.try_get(0).during(checking)?;
    let rows = if known.is_some() { applied(&tx).await? } else { Vec::new() };
    let count = check_applied(rows)?;
    if let Some(migration) = MIGRATIONS.get(count) {
        return Err(PostgresError::SchemaMissing { name: migration.name.to_owned() });
    }
    stored_network(&tx).await?.ok_or(PostgresError::SchemaMissing { name: MIGRATIONS[0].name.to_owned() })
}

async fn apply(tx: &Transaction<'_>, migration: &Migration, timescale: bool, partition_days: u16) -> Result<(), PostgresError> {
    let name = migration.name;
    tx.batch_execute(&migration.statements(timescale, partition_days)).await.map_err(|error| {
        // A table, function, index or type of that name.
        let exists = error.code().is_some_and(|state| matches!(state.code(), "42P07" | "42723" | "42710"));
        match error.as_db_error() {
            Some(db) if exists => PostgresError::SchemaForeign { message: db.message().to_owned() },
            _ => PostgresError::statement(format!("migration {name}"), error),
        }
    })?;
    tx.execute("INSERT INTO starmill_migrations (name, sha256) VALUES ($1, $2)", &[&name, &migration.checksum()])
        .await
        .during(|| format!("migration {name}"))?;
    Ok(())
}

/// Names and checksums of applied migrations, in order.
async fn applied(tx: &Transaction<'_>) -> Result<Vec<(String, String)>, PostgresError> {
    let reading = || "reading starmill_migrations".to_owned();
    let rows = tx.query("SELECT name, sha256 FROM starmill_migrations ORDER BY name COLLATE \"C\"", &[]).await.during(reading)?;
    rows.iter().map(|row| Ok((row.try_get(0).during(reading)?, row.try_get(1).during(reading)?))).collect()
}

/// How many migrations are applied, if they are the first ones of this program.
fn check_applied(applied: Vec<(String, String)>) -> Result<usize, PostgresError> {
    let count = applied.len();
    // First whether all are known: whoever has an older program should hear of that before of a checksum.
    if let Some((name, _)) = applied.iter().find(|(name, _)| MIGRATIONS.iter().all(|migration| migration.name != name)) {
        return Err(PostgresError::SchemaNewer { name: name.clone() });
    }
    for ((name, stored), migration) in applied.into_iter().zip(&MIGRATIONS) {
        if name != migration.name {
            return Err(PostgresError::SchemaMissing { name: migration.name.to_owned() });
        }
        let embedded = migration.checksum();
        if stored != embedded {
            return Err(PostgresError::SchemaChanged { name, stored, embedded });
        }
    }
    Ok(count)
}

/// Records the network of an empty database; compares it in any other.
async fn check_network(tx: &Transaction<'_>, passphrase: &str, partition_days: u16) -> Result<Network, PostgresError> {
    let id = Sha256::digest(passphrase);
    tx.execute(
        "INSERT INTO starmill_network (passphrase, network_id, partition_days) VALUES ($1, $2, $3) ON CONFLICT DO NOTHING",
        &[&passphrase, &id.as_slice(), &i32::from(partition_days)],
    )
    .await
    .during(|| "recording the network".to_owned())?;
    match stored_network(tx).await? {
        Some(stored) if stored.passphrase == passphrase => Ok(stored),
        Some(stored) => Err(PostgresError::NetworkMismatch { stored: stored.passphrase, wanted: passphrase.to_owned() }),
        None => Err(PostgresError::SchemaMissing { name: MIGRATIONS[0].name.to_owned() }),
    }
}

async fn stored_network(tx: &Transaction<'_>) -> Result<Option<Network>, PostgresError> {
    let reading = || "reading starmill_network".to_owned();
    let row = tx.query_opt("SELECT passphrase, partition_days FROM starmill_network", &[]).await.during(reading)?;
    row.map(|row| Ok(Network { passphrase: row.try_get(0).during(reading)?, partition_days: row.try_get(1).during(reading)? })).transpose()
}
