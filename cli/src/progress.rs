//! Progress for people: a bar on a terminal, a line every few seconds elsewhere.

use std::io::IsTerminal;
use std::sync::atomic::Ordering::Relaxed;
use std::time::{Duration, Instant};

use indicatif::{ProgressBar, ProgressStyle};
use starmill_pipeline::Progress;

use crate::output::complain;
use crate::summary::{per_second, thousands};

/// Between two lines where standard error is not a terminal.
const LINE_INTERVAL: Duration = Duration::from_secs(5);
/// Between two looks at the counters.
const TICK: Duration = Duration::from_millis(100);

/// A bar over a known number of things.
pub(crate) fn count(total: u64, what: &str) -> ProgressBar {
    if !std::io::stderr().is_terminal() {
        return ProgressBar::hidden();
    }
    let bar = ProgressBar::new(total);
    let template = format!("{{bar:30}} {{pos}}/{{len}} {what}  {{per_sec}}  ETA {{eta}}");
    bar.set_style(ProgressStyle::with_template(&template).unwrap_or_else(|_| ProgressStyle::default_bar()));
    bar
}

/// Shows a run while it goes on, on a thread of its own, until `done`. `read` and `total` are bytes of the source.
pub(crate) fn watch(progress: &Progress, read: &dyn Fn() -> (u64, Option<u64>), done: &dyn Fn() -> bool) {
    let terminal = std::io::stderr().is_terminal();
    let bar = if terminal { run_bar(read().1) } else { ProgressBar::hidden() };
    let start = Instant::now();
    let mut line_at = start + LINE_INTERVAL;
    while !done() {
        // Whoever ends the run wakes this thread.
        std::thread::park_timeout(TICK);
        let (now, total) = read();
        let text = rates(progress, start.elapsed());
        if terminal {
            if let Some(total) = total {
                bar.set_length(total.max(now));
            }
            bar.set_position(now);
            bar.set_message(text);
        } else if Instant::now() >= line_at {
            line_at = Instant::now() + LINE_INTERVAL;
            complain!("{text}{}", eta(now, total, start.elapsed()));
        }
    }
    bar.finish_and_clear();
}

fn run_bar(total: Option<u64>) -> ProgressBar {
    let (bar, template) = match total {
        Some(total) => (ProgressBar::new(total), "{bar:24} {percent:>3}%  {msg}  ETA {eta}"),
        None => (ProgressBar::new_spinner(), "{spinner} {elapsed}  {msg}"),
    };
    bar.set_style(ProgressStyle::with_template(template).unwrap_or_else(|_| ProgressStyle::default_bar()));
    bar
}

fn rates(progress: &Progress, elapsed: Duration) -> String {
    let ledgers = progress.ledgers.load(Relaxed);
    let rate = |n: u64| thousands(per_second(n, elapsed));
    format!(
        "ledger {}  {} ledgers ({}/s)  {} tx/s  {} rows/s",
        progress.last_committed.load(Relaxed),
        thousands(ledgers),
        rate(ledgers),
        rate(progress.transactions.load(Relaxed)),
        rate(progress.rows.load(Relaxed))
    )
}

#[allow(clippy::cast_precision_loss)]
fn eta(now: u64, total: Option<u64>, elapsed: Duration) -> String {
    match total {
        Some(total) if now > 0 && total > now => {
            let left = elapsed.as_secs_f64() * (total - now) as f64 / now as f64;
            format!("  {}%  ETA {left:.0} s", now * 100 / total)
        }
        _ => String::new(),
    }
}
