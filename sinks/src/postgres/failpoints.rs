//! Fail points: the process dies, by itself, where a test says. In no build without the feature `failpoints`.
//!
//! `STARMILL_FAIL_AT=NAME:N` aborts the process (SIGABRT, nothing is flushed or closed) when it comes to the step of that name for the N-th time. A name
//! that is none, or a step that is missing from the list, ends the process at its first step with status 2: a test must not pass because its fail
//! point never came.

use std::sync::OnceLock;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::time::Duration;

use super::steps::Step;

const VARIABLE: &str = "STARMILL_FAIL_AT";
/// For what the driver holds to reach a server on the same machine.
const SENDING: Duration = Duration::from_millis(30);

/// Where to die.
struct Point {
    name: String,
    /// Counted from 1.
    time: u64,
}

static TIMES: AtomicU64 = AtomicU64::new(0);

/// Counts a step and dies there if it is the one.
pub(super) fn hit(step: Step) {
    if !Step::all().any(|known| known == step) {
        refuse(&format!("the step {step} is not in the list of steps"));
    }
    let Some(point) = point() else { return };
    if point.name == step.to_string() && TIMES.fetch_add(1, Relaxed) + 1 == point.time {
        std::process::abort();
    }
}

/// Gives what was sent the time to be received, where the process dies next.
pub(super) async fn wait_if_next(step: Step) {
    if point().is_some_and(|point| point.name == step.to_string() && TIMES.load(Relaxed) + 1 == point.time) {
        tokio::time::sleep(SENDING).await;
    }
}

fn point() -> Option<&'static Point> {
    static POINT: OnceLock<Option<Point>> = OnceLock::new();
    POINT.get_or_init(|| std::env::var(VARIABLE).ok().map(|text| read(&text))).as_ref()
}

fn read(text: &str) -> Point {
    let (name, time) = text.split_once(':').unwrap_or((text, "1"));
    match time.parse() {
        Ok(time) if time > 0 && Step::all().any(|step| step.to_string() == name) => Point { name: name.to_owned(), time },
        _ => refuse(&format!("{VARIABLE}={text}: expected the name of a step and a number from 1, such as covered:2")),
    }
}

fn refuse(message: &str) -> ! {
    eprintln!("{message}");
    std::process::exit(2)
}
