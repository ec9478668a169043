//! When a commit tries again: capped, jittered back-off after faults that may pass by themselves.
//!
//! A full disk or missing memory gets one more chance: a checkpoint or another session may have made room. Everything else that Postgres refuses
//! would be refused again.

use std::hash::{BuildHasher as _, Hasher as _, RandomState};
use std::time::{Duration, Instant};

use super::PostgresError;

const FIRST_DELAY: Duration = Duration::from_millis(100);
const DELAY_MAX: Duration = Duration::from_secs(5);
/// How often the highest ledger may move under a batch: each time another writer has committed.
const PLANS_MAX: u32 = 100;

/// The attempts at one batch.
#[derive(Debug)]
pub(crate) struct Retry {
    patience: Duration,
    until: Option<Instant>,
    attempts: u32,
    plans: u32,
    /// Whether the one chance for a lack of room is taken.
    short: bool,
}

impl Retry {
    pub(crate) fn new(patience: Duration) -> Self {
        Self { patience, until: None, attempts: 0, plans: 0, short: false }
    }

    /// How long to wait before the next attempt; `None` gives up.
    pub(crate) fn after(&mut self, error: &PostgresError) -> Option<Duration> {
        if matches!(error, PostgresError::TopMoved { .. }) {
            self.plans += 1;
            return (self.plans <= PLANS_MAX).then_some(Duration::ZERO);
        }
        if matches!(error.code(), "disk-full" | "out-of-memory") {
            return (!std::mem::replace(&mut self.short, true)).then_some(DELAY_MAX.min(self.patience));
        }
        // Our own session may be the one that is just going away.
        if !error.is_transient() {
            return None;
        }
        let now = Instant::now();
        let until = *self.until.get_or_insert(now + self.patience);
        let delay = jittered(FIRST_DELAY.saturating_mul(1 << self.attempts.min(10)).min(DELAY_MAX));
        self.attempts += 1;
        (now + delay <= until).then_some(delay)
    }
}

/// Half to all of a delay, so that many writers do not come back at the same moment.
fn jittered(delay: Duration) -> Duration {
    let random = (RandomState::new().build_hasher().finish() >> 40) as u32;
    delay / 2 + (delay / 2).mul_f64(f64::from(random) / f64::from(1_u32 << 24))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn delays_grow_to_a_cap_and_end() {
        let mut retry = Retry::new(Duration::from_mins(1));
        let delays: Vec<_> = (0..12).map_while(|_| retry.after(&PostgresError::Closed)).collect();
        assert_eq!(delays.len(), 12, "the clock decides, not the count");
        for (n, delay) in delays.iter().enumerate() {
            let full = Duration::from_millis(100 << n.min(6)).min(DELAY_MAX);
            assert!(*delay >= full / 2 && *delay <= full, "{n}: {delay:?}");
        }
        assert_eq!(Retry::new(Duration::ZERO).after(&PostgresError::Closed), None);
        assert_eq!(retry.after(&PostgresError::LedgerCovered { sequence: 1 }), None);
        assert_eq!(retry.after(&PostgresError::TopMoved { planned: 1, found: 2 }), Some(Duration::ZERO));
    }
}
