//! Bulk: a backfill loads a partition of history that is not there yet into tables without indexes, builds the indexes when its rows are all there,
//! and attaches it, which is several times as fast as inserting into indexes (docs/performance.md).
//!
//! Only history goes this way, of ledgers below the highest covered one: they move no current state. Promises: nobody sees a row before its ledgers are
//! covered, which happens for the whole partition in the transaction that attaches it; a batch is in the tables as a whole or not at all; what a killed
//! backfill has left is dropped when the next writer opens, and its ledgers are written again. The other writer is not held up: it may even make the same
//! partition meanwhile, to which the rows are then added.
//!
//! A partition is whole when its ledgers are one run whose neighbours on both sides are covered or in another partition; at the end of the work whatever
//! is there is attached (`Sink::finish`), and what comes later of that partition is inserted. Rows are sent to Postgres as they come, so memory
//! does not grow with a partition.

mod attach;
mod leftovers;
mod load;
mod work;

use starmill_ledger::Coverage;
use starmill_ledger::rows::LedgerRow;

use super::PostgresError;
use super::partitions::Partition;
pub(crate) use leftovers::take_over;

/// Partitions being loaded at a time: work that goes through ledgers in blocks, newest first, has the ends of two, and begins a third.
const OPEN_MAX: usize = 3;

/// A table that nobody sees, for a table of history.
fn heap(partition: Partition, table: &str) -> String {
    format!("starmill_bulk_{}", partition.name(table))
}

/// A partition that is being loaded.
#[derive(Debug)]
struct Loading {
    partition: Partition,
    /// The ledgers whose rows are there, in the order in which they came.
    ledgers: Vec<LedgerRow>,
    loaded: Coverage,
    batches: u64,
    rows: u64,
}

/// What a sink is loading. The database knows the same (`starmill_bulk_ledgers`), for as long as the writer's epoch is `epoch`.
#[derive(Debug, Default)]
pub(crate) struct Bulk {
    /// The one that was loaded into last stands last.
    open: Vec<Loading>,
    epoch: i64,
}

impl Bulk {
    /// The epoch under which there is something to keep.
    pub(crate) fn epoch(&self) -> Option<i64> {
        (!self.open.is_empty()).then_some(self.epoch)
    }

    /// A session has begun.
    pub(crate) fn opened(&mut self, epoch: i64) {
        self.epoch = epoch;
    }

    fn find(&self, partition: Partition) -> Option<&Loading> {
        self.open.iter().find(|loading| loading.partition == partition)
    }

    /// Compares what the database has with what it was given.
    ///
    /// # Errors
    /// `bulk-lost`.
    fn check(&self, recorded: &[(i64, Coverage)]) -> Result<(), PostgresError> {
        let there = |loading: &Loading| {
            let found = recorded.iter().find(|(first_day, _)| *first_day == loading.partition.first_day);
            found.is_some_and(|(_, found)| loading.ledgers.iter().all(|ledger| found.contains(ledger.sequence)))
        };
        match self.open.iter().find(|loading| !there(loading)) {
            Some(loading) => Err(PostgresError::BulkLost { first_day: loading.partition.first_day }),
            None => Ok(()),
        }
    }

    /// Remembers that the rows of these ledgers are there.
    fn loaded(&mut self, partition: Partition, ledgers: &[LedgerRow], rows: u64) {
        let at = self.open.iter().position(|loading| loading.partition == partition);
        let mut loading = at.map_or_else(
            || Loading { partition, ledgers: Vec::new(), loaded: Coverage::new(), batches: 0, rows: 0 },
            |at| self.open.remove(at),
        );
        loading.ledgers.extend_from_slice(ledgers);
        loading.loaded.insert_all(ledgers.iter().map(|ledger| ledger.sequence));
        loading.batches += 1;
        loading.rows += rows;
        self.open.push(loading);
    }

    /// A partition of which nothing more can come.
    fn whole(&self, covered: &Coverage) -> Option<Partition> {
        let elsewhere = |loading: &Loading, sequence: u32| {
            covered.contains(sequence) || self.open.iter().any(|o| o.partition != loading.partition && o.loaded.contains(sequence))
        };
        let whole = |loading: &&Loading| match loading.loaded.ranges() {
            [run] => {
                // The first ledger of a network is 1.
                (run.lo <= 1 || elsewhere(loading, run.lo - 1)) && run.hi.checked_add(1).is_some_and(|next| elsewhere(loading, next))
            }
            _ => false,
        };
        self.open.iter().find(whole).map(|loading| loading.partition)
    }

    /// The one to attach before another is begun: one that is whole, or that which has waited longest.
    fn one_if_full(&self, covered: &Coverage) -> Option<Partition> {
        let oldest = || self.open.first().map(|loading| loading.partition);
        (self.open.len() >= OPEN_MAX).then(|| self.whole(covered).or_else(oldest)).flatten()
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::super::partitions::Partitions;
    use super::*;

    /// A hundred ledgers a day.
    fn ledgers(sequences: std::ops::Range<u32>) -> Vec<LedgerRow> {
        let closed_at = |sequence: u32| i64::from(sequence / 100) * 86_400;
        let row = |sequence| LedgerRow {
            sequence,
            protocol: 1,
            closed_at: closed_at(sequence),
            close_meta_version: 0,
            base_reserve: 1,
            transactions: 0,
        };
        sequences.map(row).collect()
    }

    fn load(bulk: &mut Bulk, sequences: std::ops::Range<u32>) {
        let ledgers = ledgers(sequences);
        let partition = Partitions::new(1, true, BTreeSet::new()).of(ledgers[0].closed_at);
        bulk.loaded(partition, &ledgers, 1);
    }

    fn whole(bulk: &Bulk, covered: &[u32]) -> Option<i64> {
        let mut coverage = Coverage::new();
        coverage.insert_all(covered.iter().copied());
        bulk.whole(&coverage).map(|partition| partition.first_day)
    }

    #[test]
    fn whole_is_what_has_neighbours_elsewhere() {
        let mut bulk = Bulk::default();
        load(&mut bulk, 150..180);
        load(&mut bulk, 180..200);
        assert_eq!(whole(&bulk, &[]), None, "begins in the middle of a day");
        load(&mut bulk, 200..210);
        assert_eq!(whole(&bulk, &[]), None);
        assert_eq!(whole(&bulk, &[149]), Some(1), "goes on in the next, and what lies before is there");
        load(&mut bulk, 220..300);
        load(&mut bulk, 300..301);
        assert_eq!(whole(&bulk, &[]), None, "has a hole");
        load(&mut bulk, 210..220);
        assert_eq!(whole(&bulk, &[]), Some(2));
        let mut bulk = Bulk::default();
        load(&mut bulk, 1..100);
        assert_eq!(whole(&bulk, &[]), None);
        assert_eq!(whole(&bulk, &[100]), Some(0), "nothing comes before the first ledger");
    }

    #[test]
    fn the_one_that_waited_longest_goes_first() {
        let mut bulk = Bulk::default();
        let first = |bulk: &Bulk| bulk.one_if_full(&Coverage::new()).map(|partition| partition.first_day);
        for day in [5, 6, 4] {
            assert_eq!(first(&bulk), None);
            load(&mut bulk, day * 100..day * 100 + 1);
        }
        assert_eq!(first(&bulk), Some(5));
        load(&mut bulk, 501..599);
        assert_eq!(first(&bulk), Some(6));
        load(&mut bulk, 499..500);
        load(&mut bulk, 599..600);
        assert_eq!(first(&bulk), Some(5), "which is whole now");
    }

    #[test]
    fn what_the_database_has_lost_is_noticed() {
        let mut bulk = Bulk::default();
        load(&mut bulk, 100..110);
        let coverage = |sequences: std::ops::Range<u32>| {
            let mut coverage = Coverage::new();
            coverage.insert_all(sequences);
            coverage
        };
        assert!(bulk.check(&[(1, coverage(100..120))]).is_ok());
        for recorded in [vec![], vec![(2, coverage(100..120))], vec![(1, coverage(100..109))]] {
            assert_eq!(bulk.check(&recorded).unwrap_err().code(), "bulk-lost");
        }
    }
}
