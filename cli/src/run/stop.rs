//! Ending a run: the first signal lets it finish what it is writing, the second one ends it at once, and so does time.
//!
//! Promises: whoever asks for the end has it after [`DRAIN_MAX`] at the latest. Ended at once, what was not committed is rolled back by the server, and
//! the next run writes it.

use std::io::Error as IoError;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::sync::mpsc::{RecvTimeoutError, sync_channel};
use std::thread::Builder;
use std::time::{Duration, Instant};

use starmill_pipeline::Progress;

use crate::failure::Failure;
use crate::output::complain;
use crate::signals;

/// Exit status after Ctrl-C.
pub(crate) const INTERRUPTED: u8 = 130;
/// How long a run may go on finishing after it was asked to stop.
const DRAIN_MAX: Duration = Duration::from_secs(5);
/// Between two looks at whether to stop while something is waited for.
const STOP_CHECK_INTERVAL: Duration = Duration::from_millis(50);

/// First signal: finish the batch and stop. Second, or [`DRAIN_MAX`] later with the batch not finished: stop at once.
pub(super) fn on_signals(progress: &Arc<Progress>, finished: &Arc<AtomicBool>) -> anyhow::Result<()> {
    let again = Arc::new(AtomicBool::new(false));
    let ends = signals::that_end_a_run();
    for signal in &ends {
        signal_hook::flag::register_conditional_shutdown(*signal, INTERRUPTED.into(), Arc::clone(&again))?;
        signal_hook::flag::register(*signal, Arc::clone(&again))?;
    }
    let (progress, finished) = (Arc::clone(progress), Arc::clone(finished));
    let mut signals = signal_hook::iterator::Signals::new(&ends)?;
    let watch = move || {
        if signals.forever().next().is_none() {
            return;
        }
        progress.stop.store(true, Relaxed);
        complain!("finishing the batch; once more to stop at once");
        let until = Instant::now() + DRAIN_MAX;
        while Instant::now() < until {
            std::thread::sleep(STOP_CHECK_INTERVAL);
        }
        if !finished.load(Relaxed) {
            let stand = stand(&progress);
            complain!("the batch is not finished after {} s, so it is given up: {stand}; the next run goes on there", DRAIN_MAX.as_secs());
            std::process::exit(INTERRUPTED.into());
        }
    };
    Builder::new().name("starmill-signals".into()).spawn(watch).map_err(|error| no_thread("signals", &error))?;
    Ok(())
}

/// Up to where everything is committed.
pub(super) fn stand(progress: &Progress) -> String {
    let gathering_from = progress.gathering_from.load(Relaxed);
    match progress.last_committed.load(Relaxed) {
        _ if gathering_from > 0 => {
            format!("ledgers from {gathering_from} on were not all visible yet, and are written again where they were not")
        }
        0 => "nothing was written".to_owned(),
        last => format!("everything up to ledger {last} is written"),
    }
}

/// Does something that may take as long as it likes on a thread of its own. `None` when it was asked to stop meanwhile: the thread is not waited for then.
pub(super) fn unless_stopped<T: Send + 'static>(
    progress: &Progress,
    name: &'static str,
    work: impl FnOnce() -> anyhow::Result<T> + Send + 'static,
) -> anyhow::Result<Option<T>> {
    let (sender, done) = sync_channel(1);
    // Nobody waits for it any more when it was asked to stop.
    let work = move || drop(sender.send(work()));
    Builder::new().name(format!("starmill-{name}")).spawn(work).map_err(|error| no_thread(name, &error))?;
    while !progress.stop.load(Relaxed) {
        match done.recv_timeout(STOP_CHECK_INTERVAL) {
            Ok(result) => return result.map(Some),
            Err(RecvTimeoutError::Timeout) => {}
            Err(RecvTimeoutError::Disconnected) => {
                return Err(Failure::new("thread", format!("the {name} thread ended without a word; please report this")).into());
            }
        }
    }
    Ok(None)
}

/// The error of a thread that the system refuses.
pub(super) fn no_thread(name: &str, error: &IoError) -> Failure {
    Failure::new("thread", format!("the {name} thread cannot be started: {error}; raise the limit of processes, or end some"))
}
