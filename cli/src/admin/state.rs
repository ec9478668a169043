//! What the admin address answers from: where a run is, and handles to the counters of its parts. A part that does not exist yet, or not in this run,
//! is left out of the answers.

use std::sync::atomic::Ordering::Relaxed;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::time::{Instant, SystemTime, UNIX_EPOCH};

use starmill_pipeline::Progress;
use starmill_sinks::postgres::PostgresMetrics;

/// Where a run is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Phase {
    /// Before the first ledger; doing what is named.
    Starting(&'static str),
    /// Another process writes, and this one waits for it to end. Says who.
    Standby(String),
    /// Ledgers come in.
    Running,
    /// The last batch is being written.
    Stopping,
}

impl Phase {
    /// Names of all phases, in order.
    pub(crate) const NAMES: [&str; 4] = ["starting", "standby", "running", "stopping"];

    /// Its name.
    pub(crate) fn name(&self) -> &'static str {
        match self {
            Self::Starting(_) => Self::NAMES[0],
            Self::Standby(_) => Self::NAMES[1],
            Self::Running => Self::NAMES[2],
            Self::Stopping => Self::NAMES[3],
        }
    }
}

/// A run, as seen from outside.
#[derive(Debug)]
pub(crate) struct State {
    /// Counters of the pipeline.
    pub(crate) progress: Arc<Progress>,
    /// Name of the sink.
    pub(crate) sink: &'static str,
    /// When the run began.
    pub(crate) begin: Instant,
    /// Passphrase of the network, once it is known.
    pub(crate) network: OnceLock<String>,
    /// Counters of the database, once it is open.
    pub(crate) postgres: OnceLock<Arc<PostgresMetrics>>,
    /// Bytes of the sources, once they are open.
    pub(crate) source: OnceLock<starmill_sources::Progress>,
    phase: Mutex<Phase>,
}

impl State {
    /// A run that begins.
    pub(crate) fn new(sink: &'static str, progress: Arc<Progress>) -> Self {
        Self {
            progress,
            sink,
            begin: Instant::now(),
            network: OnceLock::new(),
            postgres: OnceLock::new(),
            source: OnceLock::new(),
            phase: Mutex::new(Phase::Starting("opening the sources")),
        }
    }

    /// Says where the run is from now on.
    pub(crate) fn enter(&self, phase: Phase) {
        *self.phase.lock().unwrap_or_else(PoisonError::into_inner) = phase;
    }

    /// Where the run is. Whoever asks it to stop need not tell.
    pub(crate) fn phase(&self) -> Phase {
        if self.progress.stop.load(Relaxed) {
            return Phase::Stopping;
        }
        self.phase.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Why the run is not at work; `None` when it is.
    pub(crate) fn not_ready(&self) -> Option<String> {
        let phase = self.phase();
        match &phase {
            Phase::Starting(what) => Some(format!("{}: {what}", phase.name())),
            Phase::Standby(holder) => Some(format!("{}: another starmill writes: {holder}", phase.name())),
            Phase::Stopping => Some(phase.name().to_owned()),
            Phase::Running => {
                let retrying = self.postgres.get().is_some_and(|postgres| postgres.retrying());
                retrying.then(|| "database: a commit has failed and is tried again".to_owned())
            }
        }
    }

    /// Seconds from the close of the last committed ledger to now, by this machine's clock; `None` before the first commit.
    pub(crate) fn lag_seconds(&self) -> Option<i64> {
        let closed = self.progress.last_closed_at.load(Relaxed);
        (self.progress.last_committed.load(Relaxed) > 0).then(|| unix_now().saturating_sub(closed).max(0))
    }

    /// Ledgers that the source has given and that are not committed; `None` before the first commit.
    pub(crate) fn lag_ledgers(&self) -> Option<u32> {
        let committed = self.progress.last_committed.load(Relaxed);
        (committed > 0).then(|| self.progress.last_read.load(Relaxed).saturating_sub(committed))
    }
}

/// Seconds since 1970.
pub(crate) fn unix_now() -> i64 {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    i64::try_from(now.as_secs()).unwrap_or(i64::MAX)
}
