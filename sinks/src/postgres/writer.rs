//! Becoming the writer of a role: its lock, standing by while another has it, its epoch.
//!
//! Promises: one writer a role; whatever an earlier writer of the role still sends is refused, since it compares its epoch under a lock on the
//! role's row, and nothing of what it had written ahead is left when the new one reads what is covered.

use std::fmt::Write as _;
use std::time::{Duration, Instant};

use tokio_postgres::{Client, SimpleQueryMessage, Transaction};

use super::config::{PostgresConfig, WriterRole};
use super::error::During as _;
use super::steps::{Step, at};
use super::{PostgresError, bulk, connect, pending};

const OLDEST_SERVER: i32 = 130_000;
/// How often a writer that is going away is looked for.
const GOING_POLL: Duration = Duration::from_millis(50);
const STANDBY_POLL: Duration = Duration::from_secs(1);

/// Key of the lock that a writer holds as long as its session lives; one per schema and role. The tip's is that of programs that knew no roles.
fn lock_key(role: WriterRole) -> &'static str {
    match role {
        WriterRole::Tip => "hashtextextended('starmill writer of ' || current_schema(), 0)",
        WriterRole::Backfill => "hashtextextended('starmill backfill writer of ' || current_schema(), 0)",
    }
}

/// Key of the lock that the connections hold, together, over which a writer copies.
pub(crate) fn copy_lock_key(role: WriterRole) -> &'static str {
    match role {
        WriterRole::Tip => "hashtextextended('starmill copies of the writer of ' || current_schema(), 0)",
        WriterRole::Backfill => "hashtextextended('starmill copies of the backfill writer of ' || current_schema(), 0)",
    }
}

/// Connects and takes the role's lock, which the server gives back when the session ends. `standby` waits for it as long as it takes.
pub(crate) async fn become_writer(config: &PostgresConfig, standby: bool) -> Result<Client, PostgresError> {
    let target = connect::target(config)?;
    let mut waiting = Waiting { told: false, heard: Instant::now() };
    loop {
        let error = match take_lock(&target, config, standby, &mut waiting).await {
            Ok(client) => return Ok(client),
            Err(error) => error,
        };
        // Who stands by outlives a restart of the server.
        if !(waiting.told && error.is_transient() && waiting.heard.elapsed() < config.retry_max) {
            return Err(error);
        }
        tokio::time::sleep(STANDBY_POLL).await;
    }
}

/// How a standby fares.
struct Waiting {
    told: bool,
    /// When the server last answered.
    heard: Instant,
}

async fn take_lock(
    target: &tokio_postgres::Config,
    config: &PostgresConfig,
    standby: bool,
    waiting: &mut Waiting,
) -> Result<Client, PostgresError> {
    let taking = || "taking the writer's lock".to_owned();
    let client = connect::connect(target).await?;
    check_server(&client).await?;
    let until = Instant::now() + config.writer_wait;
    loop {
        let row = client.query_one(&format!("SELECT pg_try_advisory_lock({})", lock_key(config.role)), &[]).await.during(taking)?;
        waiting.heard = Instant::now();
        if row.try_get::<_, bool>(0).during(taking)? {
            return Ok(client);
        }
        if Instant::now() < until {
            tokio::time::sleep(GOING_POLL).await;
            continue;
        }
        let holder = holder(&client, config.role).await?;
        if !standby {
            return Err(PostgresError::WriterBusy { holder });
        }
        if !std::mem::replace(&mut waiting.told, true)
            && let Some(hook) = &config.standby
        {
            hook.0(&holder);
        }
        tokio::time::sleep(STANDBY_POLL).await;
    }
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

/// Who holds the writer's lock, for the message.
async fn holder(client: &Client, role: WriterRole) -> Result<String, PostgresError> {
    let asking = || "asking who holds the writer's lock".to_owned();
    let Some(pid) = writer_pid(client, role).await? else { return Ok("which is just going away".to_owned()) };
    let sql = "SELECT format('server process %s of user %s, since %s', pid, usename, to_char(backend_start, 'YYYY-MM-DD HH24:MI:SS TZ')) \
               FROM pg_stat_activity WHERE pid = $1";
    let row = client.query_opt(sql, &[&pid]).await.during(asking)?;
    row.map_or_else(|| Ok(format!("server process {pid}")), |row| row.try_get(0).during(asking))
}

/// The server process that holds a role's lock.
pub(crate) async fn writer_pid(client: &Client, role: WriterRole) -> Result<Option<i32>, PostgresError> {
    let asking = || "asking who holds the writer's lock".to_owned();
    let row = client.query_opt(&format!("{} LIMIT 1", holders(lock_key(role))), &[]).await.during(asking)?;
    row.map(|row| row.try_get(0).during(asking)).transpose()
}

/// A query for the processes that hold an advisory lock.
fn holders(key: &str) -> String {
    format!(
        "SELECT l.pid FROM pg_locks l, (SELECT {key} AS key) k \
         WHERE l.locktype = 'advisory' AND l.granted AND l.objsubid = 1 \
         AND l.database = (SELECT oid FROM pg_database WHERE datname = current_database()) \
         AND l.classid::int8 = (k.key >> 32) & 4294967295 AND l.objid::int8 = k.key & 4294967295"
    )
}

/// Fences off earlier writers of the role and removes what they had written ahead, or loaded and not finished, unless it was this program under the
/// epoch `keep`. What a writer of the other role has left goes too, if that writer is gone. Returns this writer's epoch.
pub(crate) async fn take_over(client: &mut Client, config: &PostgresConfig, keep: Option<i64>) -> Result<i64, PostgresError> {
    end_copies(client, config.role).await?;
    let taking = || "taking the writer's epoch".to_owned();
    let tx = client.transaction().await.during(taking)?;
    let epoch = fence(&tx, config, keep).await?;
    tx.commit().await.during(taking)?;
    at(config, Step::TakenOver)?;
    let other = PostgresConfig { role: config.role.other(), ..config.clone() };
    let tx = client.transaction().await.during(taking)?;
    let free = format!("SELECT pg_try_advisory_xact_lock({})", lock_key(other.role));
    if tx.query_one(&free, &[]).await.and_then(|row| row.try_get(0)).during(taking)? && left(&tx, other.role).await? {
        fence(&tx, &other, None).await?;
    }
    tx.commit().await.during(taking)?;
    Ok(epoch)
}

/// An earlier writer's connections may outlive its session, if it hangs. Who may not end them waits for them in [`fence`].
async fn end_copies(client: &Client, role: WriterRole) -> Result<(), PostgresError> {
    let end = format!("SELECT pg_terminate_backend(pid) FROM ({}) copies", holders(copy_lock_key(role)));
    match client.batch_execute(&end).await {
        Err(error) if error.code().is_none_or(|state| state.code() != "42501") => {
            Err(PostgresError::statement("ending an earlier writer's connections", error))
        }
        _ => Ok(()),
    }
}

/// Whether a writer has left something.
async fn left(tx: &Transaction<'_>, role: WriterRole) -> Result<bool, PostgresError> {
    let asking = || "asking what an earlier writer left".to_owned();
    let bulk = if role == WriterRole::Backfill { " OR EXISTS (SELECT 1 FROM starmill_bulk)" } else { "" };
    let sql = format!("SELECT EXISTS (SELECT 1 FROM starmill_pending WHERE role = $1){bulk}");
    tx.query_one(&sql, &[&role.name()]).await.and_then(|row| row.try_get(0)).during(asking)
}

async fn fence(tx: &Transaction<'_>, config: &PostgresConfig, keep: Option<i64>) -> Result<i64, PostgresError> {
    let taking = || "taking the writer's epoch".to_owned();
    // Waits for transactions that hold the row, which are committed or gone then; later ones find another epoch.
    let row = tx.query_one("UPDATE starmill_writers SET epoch = epoch + 1 WHERE role = $1 RETURNING epoch", &[&config.role.name()]).await;
    let epoch = row.and_then(|row| row.try_get(0)).during(taking)?;
    at(config, Step::Fenced)?;
    pending::clean(tx, config).await?;
    if config.role == WriterRole::Backfill {
        bulk::take_over(tx, keep, epoch).await?;
    }
    Ok(epoch)
}

/// Opens a transaction and makes sure that no other writer of the role has come since. None can come before it ends.
pub(crate) async fn begin(client: &Client, role: WriterRole, ours: i64, settings: &str) -> Result<(), PostgresError> {
    let mut sql = String::from("BEGIN; ");
    // A fixed text and a name; writing to a String cannot fail.
    let _ = write!(sql, "{settings}SELECT epoch FROM starmill_writers WHERE role = '{}' FOR SHARE", role.name());
    let messages = client.simple_query(&sql).await.during(|| "comparing the writer's epoch".to_owned())?;
    let stored = messages.iter().find_map(|message| match message {
        SimpleQueryMessage::Row(row) => row.get(0).and_then(|epoch| epoch.parse::<i64>().ok()),
        _ => None,
    });
    match stored {
        Some(stored) if stored == ours => Ok(()),
        stored => Err(PostgresError::WriterFenced { stored: stored.unwrap_or(0), ours }),
    }
}
