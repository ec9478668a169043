//! How to reach a database, and a connection that is driven by the caller's own runtime.

use std::time::Duration;

use tokio_postgres::config::Host;
use tokio_postgres::{Client, Config, NoTls};

use super::PostgresError;
use super::config::PostgresConfig;
use super::error::During as _;

/// Settings of each session: no surprise from a role's or database's defaults.
const SESSION: &str = "SET client_min_messages TO warning; SET statement_timeout TO 0; SET lock_timeout TO 0; \
     SET idle_in_transaction_session_timeout TO 0; SET timezone TO 'UTC'; SET default_transaction_isolation TO 'read committed'";

/// For a host to take a connection and to be ready, where the URL has no `connect_timeout`.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(10);

/// Folders in which servers put their socket when the URL names no host.
const SOCKET_FOLDERS: [&str; 2] = ["/var/run/postgresql", "/tmp"];

/// Reads the URL and fills in what libpq would.
pub(crate) fn parse(url: &str) -> Result<Config, PostgresError> {
    let mut config: Config = url.parse().map_err(|source| PostgresError::Url { source })?;
    config.application_name("starmill");
    if config.get_connect_timeout().is_none() {
        config.connect_timeout(CONNECT_TIMEOUT);
    }
    if config.get_hosts().is_empty() && config.get_hostaddrs().is_empty() {
        let port = config.get_ports().first().copied().unwrap_or(5432);
        let socket = |folder: &&str| std::path::Path::new(folder).join(format!(".s.PGSQL.{port}")).exists();
        config.host_path(SOCKET_FOLDERS.into_iter().find(|folder| socket(folder)).unwrap_or(SOCKET_FOLDERS[0]));
    }
    Ok(config)
}

/// Where a sink works: its database, and its schema where one is named.
pub(crate) fn target(config: &PostgresConfig) -> Result<Config, PostgresError> {
    let mut target = parse(&config.url)?;
    if let Some(schema) = &config.schema {
        let before = target.get_options().map(|options| format!("{options} ")).unwrap_or_default();
        target.options(format!("{before}-c search_path={schema}"));
    }
    Ok(target)
}

/// Connects; the connection is driven by a task of the current runtime and ends with the client.
pub(crate) async fn connect(config: &Config) -> Result<Client, PostgresError> {
    let limit = greeting_limit(config);
    let greeted = tokio::time::timeout(limit, config.connect(NoTls)).await;
    let greeted = greeted.map_err(|_| PostgresError::no_greeting(named(config), limit))?;
    let (client, connection) = greeted.map_err(|error| PostgresError::connect(named(config), &error))?;
    // An error of the connection reaches whoever waits on the client.
    tokio::spawn(async move { drop(connection.await) });
    client.batch_execute(SESSION).await.during(|| "setting up the session".to_owned())?;
    Ok(client)
}

/// How long connecting may take, from the first packet to the server's being ready. The driver's own limit counts only until a server takes the
/// connection, and for each host anew.
fn greeting_limit(config: &Config) -> Duration {
    let hosts = config.get_hosts().len().max(config.get_hostaddrs().len()).max(1);
    let each = config.get_connect_timeout().copied().unwrap_or(CONNECT_TIMEOUT);
    each.saturating_mul(u32::try_from(hosts).unwrap_or(u32::MAX))
}

/// A runtime for one thread: callers are synchronous.
pub(crate) fn runtime() -> std::io::Result<tokio::runtime::Runtime> {
    tokio::runtime::Builder::new_current_thread().enable_io().enable_time().build()
}

/// Database and host for messages, never the password.
fn named(config: &Config) -> String {
    let host = match config.get_hosts().first() {
        Some(Host::Tcp(name)) => name.clone(),
        Some(Host::Unix(path)) => path.display().to_string(),
        None => config.get_hostaddrs().first().map_or_else(|| "?".to_owned(), ToString::to_string),
    };
    let port = config.get_ports().first().map_or(String::new(), |port| format!(", port {port}"));
    format!("database {:?} on {host}{port}", config.get_dbname().or(config.get_user()).unwrap_or("?"))
}
