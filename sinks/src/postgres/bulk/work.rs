//! Where a batch goes: the ledgers of partitions that are not there yet, and lie below the highest covered one, are loaded in bulk, the others
//! committed as ever; and when partitions are attached.

use std::collections::BTreeSet;
use std::time::Instant;

use starmill_ledger::rows::{LedgerRow, Rows as _};
use starmill_ledger::sink::Batch;

use super::super::config::WriterRole;
use super::super::partitions::Partition;
use super::super::{CopyRows, PostgresError, PostgresSink, cover};
use super::{attach, leftovers, load};

impl PostgresSink {
    /// Ledgers and rows that are in the database, but seen by nobody and not covered yet.
    pub fn loading(&self) -> (u64, u64) {
        self.bulk.open.iter().fold((0, 0), |sum, loading| (sum.0 + loading.ledgers.len() as u64, sum.1 + loading.rows))
    }

    /// The lowest ledger of them.
    pub(crate) fn loading_from(&self) -> Option<u32> {
        self.bulk.open.iter().filter_map(|loading| loading.loaded.ranges().first()).map(|range| range.lo).min()
    }

    /// Attaches and covers what is being loaded. Building the indexes of a large partition takes its time.
    pub(crate) fn attach_all(&mut self) -> Result<(), PostgresError> {
        let mut partitions: Vec<Partition> = self.bulk.open.iter().map(|loading| loading.partition).collect();
        partitions.sort_unstable();
        partitions.into_iter().try_for_each(|partition| self.attach(partition))
    }

    /// The partitions to which ledgers of a batch go in bulk.
    pub(crate) fn bulk_partitions(&mut self, ledgers: &[LedgerRow]) -> Result<BTreeSet<Partition>, PostgresError> {
        let none = BTreeSet::new();
        if !self.config.bulk || self.config.role != WriterRole::Backfill {
            return Ok(none);
        }
        self.retrying(|sink, _| {
            sink.connected()?;
            let Some(session) = &mut sink.session else { return Err(PostgresError::Closed) };
            if !session.partitions.declarative() {
                return Ok(BTreeSet::new());
            }
            let top = session.top.max(session.tokens_top);
            let below = || ledgers.iter().filter(|ledger| ledger.sequence <= top);
            let partitions: BTreeSet<_> = below().map(|ledger| session.partitions.of(ledger.closed_at)).collect();
            let mut missing: BTreeSet<_> = partitions.into_iter().filter(|partition| !session.partitions.exists(*partition)).collect();
            if missing.iter().any(|partition| sink.bulk.find(*partition).is_none()) {
                // Another writer may have made them.
                sink.runtime.block_on(session.reload_partitions())?;
                missing.retain(|partition| sink.bulk.find(*partition).is_some() || !session.partitions.exists(*partition));
            }
            Ok(missing)
        })
    }

    /// Commits a batch of which some ledgers go to these partitions. What is not loaded in bulk is committed last, so that an error leaves nothing
    /// that is seen, unless the batch has more partitions than may be open at a time: those that are attached on the way are covered, each as a whole.
    pub(crate) fn commit_in_parts(&mut self, batch: &mut Batch<CopyRows>, partitions: &BTreeSet<Partition>) -> Result<(), PostgresError> {
        let Some(session) = &self.session else { return Err(PostgresError::Closed) };
        let top = session.top.max(session.tokens_top);
        let places: Vec<Option<Partition>> = batch
            .ledgers
            .iter()
            .map(|ledger| Some(session.partitions.of(ledger.closed_at)).filter(|p| ledger.sequence <= top && partitions.contains(p)))
            .collect();
        let distinct: BTreeSet<_> = places.iter().copied().collect();
        if let (1, Some(Some(partition))) = (distinct.len(), distinct.first()) {
            self.load(*partition, &batch.ledgers, &mut batch.rows)?;
        } else {
            for partition in distinct.iter().copied().flatten() {
                let mut part = part(batch, &places, Some(partition));
                self.load(partition, &part.ledgers, &mut part.rows)?;
            }
            if distinct.contains(&None) {
                self.commit_indexed(&mut part(batch, &places, None))?;
            }
        }
        while let Some(partition) = self.bulk.whole(&self.coverage) {
            self.attach(partition)?;
        }
        Ok(())
    }

    /// Loads rows of one partition. Does nothing if they are there: a batch may be committed again after an error.
    fn load(&mut self, partition: Partition, ledgers: &[LedgerRow], rows: &mut CopyRows) -> Result<(), PostgresError> {
        let loaded = self.bulk.find(partition).map(|loading| &loading.loaded);
        if let Some(loaded) = loaded {
            if ledgers.iter().all(|ledger| loaded.contains(ledger.sequence)) {
                return Ok(());
            }
            if let Some(ledger) = ledgers.iter().find(|ledger| loaded.contains(ledger.sequence)) {
                return Err(PostgresError::LedgerCovered { sequence: ledger.sequence });
            }
        } else if let Some(one) = self.bulk.one_if_full(&self.coverage) {
            self.attach(one)?;
        }
        let new = self.bulk.find(partition).is_none();
        self.retrying(|sink, again| {
            sink.connected()?;
            let Self { session: Some(session), runtime, config, plan, metrics, .. } = sink else { return Err(PostgresError::Closed) };
            // Whether the last attempt came to its end is not known when its COMMIT was not answered.
            if again {
                let recorded = runtime.block_on(leftovers::recorded(&session.client))?;
                let here = recorded.iter().find(|(first_day, _)| *first_day == partition.first_day);
                if here.is_some_and(|(_, loaded)| ledgers.iter().all(|ledger| loaded.contains(ledger.sequence))) {
                    return Ok(());
                }
            }
            let sending = Instant::now();
            let result = runtime.block_on(load::load(session, config, (partition, new), ledgers, rows, plan));
            metrics.waited(sending.elapsed());
            result
        })?;
        self.metrics.wrote(rows, &self.plan);
        self.bulk.loaded(partition, ledgers, rows.rows());
        Ok(())
    }

    fn attach(&mut self, partition: Partition) -> Result<(), PostgresError> {
        let Some(loading) = self.bulk.find(partition) else { return Ok(()) };
        let batches = loading.batches;
        let mut ledgers = loading.ledgers.clone();
        ledgers.sort_unstable_by_key(|ledger| ledger.sequence);
        let covered = self.retrying(|sink, again| {
            sink.connected()?;
            let Self { session: Some(session), runtime, config, metrics, .. } = sink else { return Err(PostgresError::Closed) };
            if again && runtime.block_on(cover::has(&session.client, config.role, &ledgers))? {
                return Ok(None);
            }
            let waiting = Instant::now();
            let result = runtime.block_on(async {
                attach::build(session, config, partition).await?;
                attach::attach(session, config, partition, &ledgers).await
            });
            metrics.waited(waiting.elapsed());
            result.map(Some)
        })?;
        self.bulk.open.retain(|loading| loading.partition != partition);
        match covered {
            Some(covered) => covered.ranges().iter().for_each(|range| self.coverage.insert(*range)),
            None => self.coverage.insert_all(ledgers.iter().map(|ledger| ledger.sequence)),
        }
        self.metrics.attached(batches, ledgers.len());
        self.metrics.covers(&self.coverage);
        Ok(())
    }

    /// A session, a new one where there is none, in which everything is that was loaded.
    fn connected(&mut self) -> Result<(), PostgresError> {
        if self.session.is_none() {
            self.reopen()?;
        }
        Ok(())
    }

    /// After a session was opened: what was being loaded must be there.
    pub(crate) fn check_loading(&self) -> Result<(), PostgresError> {
        match &self.session {
            Some(session) if !self.bulk.open.is_empty() => self.bulk.check(&self.runtime.block_on(leftovers::recorded(&session.client))?),
            _ => Ok(()),
        }
    }
}

/// The ledgers of a batch that go to one place, with copies of their rows.
fn part(batch: &Batch<CopyRows>, places: &[Option<Partition>], place: Option<Partition>) -> Batch<CopyRows> {
    let ledgers: Vec<LedgerRow> =
        batch.ledgers.iter().zip(places).filter(|(_, other)| **other == place).map(|(ledger, _)| *ledger).collect();
    let last = batch.ledgers.last().map_or(0, |ledger| ledger.sequence);
    // Sequences ascend.
    let rows = batch.rows.only(last, |sequence| ledgers.binary_search_by_key(&sequence, |ledger| ledger.sequence).is_ok());
    Batch { ledgers, rows }
}
