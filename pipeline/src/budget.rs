//! Memory in flight: one budget of bytes for everything between the source and the commit.
//!
//! The source waits until what it read fits; everything after it only adds what it made and gives back what it is done with, so that no stage
//! that empties the pipeline ever waits for memory. One ledger is always let in when nothing else is in flight, however large it is:
//! the budget bounds what is held at a time, not what can be read.

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering::Relaxed};
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::time::Duration;

/// How long a wait for memory goes on before the stop request is looked at again.
const STOP_CHECK_INTERVAL: Duration = Duration::from_millis(50);

/// Bytes that may be in flight, and how many are.
#[derive(Debug)]
pub struct Budget {
    bytes_max: usize,
    used: Mutex<usize>,
    freed: Condvar,
    peak: AtomicUsize,
}

impl Budget {
    /// A budget of `bytes_max` bytes.
    pub fn new(bytes_max: usize) -> Arc<Self> {
        Arc::new(Self { bytes_max, used: Mutex::new(0), freed: Condvar::new(), peak: AtomicUsize::new(0) })
    }

    /// Bytes that may be in flight.
    pub fn bytes_max(&self) -> usize {
        self.bytes_max
    }

    /// Bytes in flight.
    pub fn used(&self) -> usize {
        *self.lock()
    }

    /// The most bytes that have been in flight at once.
    pub fn peak(&self) -> usize {
        self.peak.load(Relaxed)
    }

    /// Waits until `bytes` fit, or nothing else is in flight. `None` when asked to stop before that.
    pub fn acquire(self: &Arc<Self>, bytes: usize, stop: &AtomicBool) -> Option<Lease> {
        let mut used = self.lock();
        while *used > 0 && used.saturating_add(bytes) > self.bytes_max {
            if stop.load(Relaxed) {
                return None;
            }
            used = self.freed.wait_timeout(used, STOP_CHECK_INTERVAL).unwrap_or_else(PoisonError::into_inner).0;
        }
        Some(self.lease(&mut used, bytes))
    }

    /// Counts bytes that are there already.
    pub fn charge(self: &Arc<Self>, bytes: usize) -> Lease {
        self.lease(&mut self.lock(), bytes)
    }

    fn lease(self: &Arc<Self>, used: &mut usize, bytes: usize) -> Lease {
        *used = used.saturating_add(bytes);
        self.peak.fetch_max(*used, Relaxed);
        Lease { budget: Arc::clone(self), bytes }
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, usize> {
        self.used.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Bytes in flight; given back when dropped.
#[derive(Debug)]
pub struct Lease {
    budget: Arc<Budget>,
    bytes: usize,
}

impl Lease {
    /// How many bytes it stands for.
    pub fn bytes(&self) -> usize {
        self.bytes
    }

    /// Counts more bytes that are there already.
    pub fn grow(&mut self, bytes: usize) {
        let mut used = self.budget.lock();
        *used = used.saturating_add(bytes);
        self.budget.peak.fetch_max(*used, Relaxed);
        self.bytes = self.bytes.saturating_add(bytes);
    }
}

impl Drop for Lease {
    fn drop(&mut self) {
        let mut used = self.budget.lock();
        *used = used.saturating_sub(self.bytes);
        self.budget.freed.notify_all();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_does_not_fit_waits_and_one_thing_alone_always_fits() {
        let (budget, stop) = (Budget::new(100), AtomicBool::new(false));
        let large = budget.acquire(1_000, &stop).unwrap();
        assert_eq!((large.bytes(), budget.used()), (1_000, 1_000));
        std::thread::scope(|scope| {
            let waiting = scope.spawn(|| budget.acquire(60, &stop).unwrap());
            std::thread::sleep(Duration::from_millis(20));
            assert!(!waiting.is_finished());
            drop(large);
            let first = waiting.join().unwrap();
            let second = budget.acquire(40, &stop).unwrap();
            assert_eq!((budget.used(), budget.peak()), (100, 1_000));
            drop((first, second));
        });
        assert_eq!(budget.used(), 0);
    }

    #[test]
    fn a_stop_ends_the_wait() {
        let (budget, stop) = (Budget::new(10), AtomicBool::new(false));
        let _held = budget.charge(10);
        std::thread::scope(|scope| {
            let waiting = scope.spawn(|| budget.acquire(1, &stop).is_none());
            stop.store(true, Relaxed);
            assert!(waiting.join().unwrap());
        });
    }
}
