//! Which database: one that is given, or starmill's own Postgres in the data folder; and `starmill db`.

use std::path::Path;
use std::process::ExitCode;
use std::sync::Arc;

use anyhow::Context;
use starmill_ledger::Network;
use starmill_sinks::postgres::{Standby, WriterRole};
use starmill_sinks::{PostgresConfig, PrivateCluster};

use crate::admin::{Phase, State};
use crate::args::{DatabaseArgs, DbArgs, DbCommand, WriterArgs};
use crate::failure::Failure;
use crate::output::{complain, say};

/// A database that is there and can be connected to, for as long as this is alive.
#[derive(Debug)]
pub(crate) enum Database {
    /// Someone else's server.
    Given(String),
    /// Our own.
    Private(PrivateCluster),
}

impl Database {
    /// For writing: starts our own server, and makes it if it is not there.
    pub(crate) fn open(args: &DatabaseArgs) -> anyhow::Result<Self> {
        match &args.database_url {
            Some(url) => Ok(Self::Given(url.clone())),
            None => Ok(Self::Private(PrivateCluster::start(&args.data_dir)?)),
        }
    }

    /// For reading, beside a writer: starts our own server if it does not run, and makes nothing.
    pub(crate) fn read(args: &DatabaseArgs) -> anyhow::Result<Self> {
        match &args.database_url {
            Some(url) => Ok(Self::Given(url.clone())),
            None => Ok(Self::Private(existing(&args.data_dir)?)),
        }
    }

    /// How to connect.
    pub(crate) fn url(&self) -> String {
        match self {
            Self::Given(url) => url.clone(),
            Self::Private(cluster) => cluster.url(),
        }
    }

    /// What a sink needs to write ledgers of a network there.
    pub(crate) fn config(&self, network: &Network, writer: &WriterArgs, state: &Arc<State>) -> PostgresConfig {
        let role = if writer.backfill { WriterRole::Backfill } else { WriterRole::Tip };
        let state = Arc::clone(state);
        let told = move |holder: &str| {
            state.enter(Phase::Standby(holder.to_owned()));
            complain!("standing by: {holder} writes; this process goes on when that one ends");
        };
        PostgresConfig {
            role,
            wait_for_writer: writer.standby,
            standby: Some(Standby(Arc::new(told))),
            retention_days: writer.retention,
            ..PostgresConfig::new(self.url(), network.passphrase())
        }
    }

    /// A lost connection of our own server has its reason in the server's log; a full disk is told as such.
    pub(crate) fn explain(&self, error: anyhow::Error) -> anyhow::Error {
        let known = Failure::of(&error);
        match self {
            Self::Private(cluster) if known.code == "connection-lost" && cluster.log_says_disk_full() => {
                let advice = "make room on the disk of the data folder, then run the same command again";
                Failure::new("disk-full", format!("{}; {advice}", known.message)).into()
            }
            _ => error,
        }
    }

    /// Stops our own server, unless another process uses it.
    pub(crate) fn close(self) -> anyhow::Result<()> {
        if let Self::Private(cluster) = self {
            cluster.stop()?;
        }
        Ok(())
    }
}

/// Our own server, if the folder has one.
fn existing(data_dir: &Path) -> anyhow::Result<PrivateCluster> {
    if !PrivateCluster::exists(data_dir)? {
        let message = format!("there is no database in {}; starmill run makes one, or give --data-dir", data_dir.display());
        return Err(Failure::new("no-database", message).into());
    }
    Ok(PrivateCluster::attach(data_dir)?)
}

/// `starmill db`.
pub(crate) fn command(args: &DbArgs) -> anyhow::Result<ExitCode> {
    match &args.command {
        DbCommand::Url => {
            let cluster = existing(&args.data_dir)?;
            say!("{}", cluster.url())?;
            cluster.leave_running()?;
            Ok(ExitCode::SUCCESS)
        }
        DbCommand::Psql { arguments } => {
            let cluster = existing(&args.data_dir)?;
            // psql deals with Ctrl-C itself; it must not end this process before the server is stopped.
            let keep = std::sync::Arc::new(std::sync::atomic::AtomicBool::new(false));
            signal_hook::flag::register(signal_hook::consts::SIGINT, keep)?;
            let ended = cluster.psql_command().args(arguments).status().context("starting psql")?;
            cluster.stop()?;
            Ok(ended.code().and_then(|code| u8::try_from(code).ok()).map_or(ExitCode::FAILURE, ExitCode::from))
        }
        DbCommand::Stop => {
            let ran = PrivateCluster::shut_down(&args.data_dir)?;
            say!("{}", if ran { "stopped" } else { "was not running" })?;
            Ok(ExitCode::SUCCESS)
        }
    }
}
