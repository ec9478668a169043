//! Shares: how workers divide tasks that stand in a row.
//!
//! Each worker has a run of tasks of its own, which it takes from the front, so that what it makes of them is in order and needs no joining.
//! Who has none left takes from the back of whoever has most left. Every task is given once, whatever the timing; what is made of the tasks is
//! in order again when it is sorted by [`Task::index`], where a worker's own tasks count as one thing, at the first of them.

use std::ops::Range;
use std::sync::{Mutex, PoisonError};

/// What a worker does next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Task {
    /// The next of its own.
    Own(usize),
    /// One of another's, from the back.
    Taken(usize),
}

/// The tasks not yet given, by worker.
#[derive(Debug)]
pub(crate) struct Shares(Mutex<Vec<Range<usize>>>);

impl Shares {
    /// `tasks` tasks for `workers` workers, each of which has at least one if there are as many.
    pub(crate) fn new(tasks: usize, workers: usize) -> Self {
        Self(Mutex::new((0..workers).map(|worker| tasks * worker / workers..tasks * (worker + 1) / workers).collect()))
    }

    /// The next task of a worker; none when all are given.
    pub(crate) fn next(&self, worker: usize) -> Option<Task> {
        let mut left = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(own) = left.get_mut(worker)?.next() {
            return Some(Task::Own(own));
        }
        left.iter_mut().max_by_key(ExactSizeIterator::len)?.next_back().map(Task::Taken)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_worker_alone_gets_all_in_order() {
        let shares = Shares::new(5, 1);
        let given = std::iter::from_fn(|| shares.next(0));
        assert_eq!(given.collect::<Vec<_>>(), [0, 1, 2, 3, 4].map(Task::Own));
    }

    #[test]
    fn who_has_none_left_takes_from_the_back_of_who_has_most() {
        let shares = Shares::new(9, 3);
        assert_eq!([0; 3].map(|_| shares.next(1)), [3, 4, 5].map(|task| Some(Task::Own(task))));
        assert_eq!(shares.next(0), Some(Task::Own(0)));
        assert_eq!(shares.next(1), Some(Task::Taken(8)));
        assert_eq!(shares.next(2), Some(Task::Own(6)));
        assert_eq!(shares.next(1), Some(Task::Taken(2)));
    }

    proptest::proptest! {
        #[test]
        fn every_task_is_given_once_whoever_asks(tasks in 0_usize..40, workers in 1_usize..5, asks in proptest::collection::vec(0_usize..5, 0..60)) {
            let shares = Shares::new(tasks, workers);
            let mut given: Vec<_> = asks.iter().filter_map(|ask| shares.next(ask % workers)).collect();
            given.extend(std::iter::from_fn(|| shares.next(0)));
            let mut given: Vec<_> = given.into_iter().map(|(Task::Own(task) | Task::Taken(task))| task).collect();
            given.sort_unstable();
            proptest::prop_assert_eq!(given, (0..tasks).collect::<Vec<_>>());
        }
    }
}
