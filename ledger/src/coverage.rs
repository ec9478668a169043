//! The set of ledgers whose rows are durable, as closed ranges that neither overlap nor touch.
//!
//! Promises: `insert` in any order gives the same ranges; what changed is told, so that a table of ranges can be kept in step.

use std::fmt;

/// Ledgers from `lo` to `hi`, both included.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct LedgerRange {
    /// First ledger.
    pub lo: u32,
    /// Last ledger, not below `lo`.
    pub hi: u32,
}

impl fmt::Display for LedgerRange {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.lo == self.hi { write!(f, "{}", self.lo) } else { write!(f, "{}-{}", self.lo, self.hi) }
    }
}

/// A set of ledgers.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Coverage {
    /// Ascending, with at least one missing ledger between neighbours.
    ranges: Vec<LedgerRange>,
}

impl Coverage {
    /// The empty set.
    pub fn new() -> Self {
        Self::default()
    }

    /// Whether the ledger is in the set.
    pub fn contains(&self, sequence: u32) -> bool {
        let after = self.ranges.partition_point(|range| range.lo <= sequence);
        after > 0 && self.ranges[after - 1].hi >= sequence
    }

    /// Adds a range, joining it with those that it overlaps or touches. A range with `hi < lo` is nothing.
    pub fn insert(&mut self, range: LedgerRange) {
        if range.hi < range.lo {
            return;
        }
        // Widened by one on each side, a range that merely touches overlaps.
        let from = self.ranges.partition_point(|old| old.hi < range.lo.saturating_sub(1));
        let to = self.ranges.partition_point(|old| old.lo <= range.hi.saturating_add(1));
        let mut joined = range;
        if from < to {
            joined.lo = joined.lo.min(self.ranges[from].lo);
            joined.hi = joined.hi.max(self.ranges[to - 1].hi);
        }
        self.ranges.splice(from..to, [joined]);
    }

    /// Adds ledgers one by one; runs of neighbours cost one insertion.
    pub fn insert_all(&mut self, sequences: impl IntoIterator<Item = u32>) {
        let mut run: Option<LedgerRange> = None;
        for sequence in sequences {
            match &mut run {
                Some(range) if range.hi.checked_add(1) == Some(sequence) => range.hi = sequence,
                _ => {
                    if let Some(range) = run.replace(LedgerRange { lo: sequence, hi: sequence }) {
                        self.insert(range);
                    }
                }
            }
        }
        if let Some(range) = run {
            self.insert(range);
        }
    }

    /// The ranges, ascending.
    pub fn ranges(&self) -> &[LedgerRange] {
        &self.ranges
    }

    /// The holes between the ranges, ascending.
    pub fn gaps(&self) -> Vec<LedgerRange> {
        self.ranges.windows(2).map(|pair| LedgerRange { lo: pair[0].hi + 1, hi: pair[1].lo - 1 }).collect()
    }

    /// Number of ledgers in the set.
    pub fn ledgers(&self) -> u64 {
        self.ranges.iter().map(|range| u64::from(range.hi - range.lo) + 1).sum()
    }

    /// Ranges of `self` that `other` does not have as they stand.
    pub fn ranges_not_in<'a>(&'a self, other: &'a Self) -> impl Iterator<Item = LedgerRange> + 'a {
        self.ranges.iter().copied().filter(|range| other.ranges.binary_search(range).is_err())
    }
}

impl FromIterator<LedgerRange> for Coverage {
    fn from_iter<I: IntoIterator<Item = LedgerRange>>(ranges: I) -> Self {
        let mut coverage = Self::new();
        ranges.into_iter().for_each(|range| coverage.insert(range));
        coverage
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use proptest::prelude::*;

    use super::*;

    /// Ledgers near both ends and in the middle, so that touching, overlap and saturation all happen.
    fn sequence() -> impl Strategy<Value = u32> {
        prop_oneof![0..12_u32, 500..520_u32, (u32::MAX - 8)..=u32::MAX]
    }

    proptest! {
        #[test]
        fn equals_a_plain_set(ranges in prop::collection::vec((sequence(), 0..5_u32), 0..24), more in prop::collection::vec(sequence(), 0..24)) {
            let mut coverage = Coverage::new();
            let mut plain = BTreeSet::new();
            for (lo, len) in ranges {
                let hi = lo.saturating_add(len);
                coverage.insert(LedgerRange { lo, hi });
                plain.extend(lo..=hi);
            }
            coverage.insert_all(more.iter().copied());
            plain.extend(more);
            prop_assert_eq!(coverage.ledgers(), plain.len() as u64);
            for sequence in (0..30).chain(490..530).chain(u32::MAX - 20..=u32::MAX) {
                prop_assert_eq!(coverage.contains(sequence), plain.contains(&sequence), "{}", sequence);
            }
            for pair in coverage.ranges().windows(2) {
                prop_assert!(u64::from(pair[0].hi) + 1 < u64::from(pair[1].lo), "{:?} touch", pair);
            }
            let mut whole: Coverage = coverage.ranges().iter().copied().collect();
            prop_assert_eq!(&whole, &coverage);
            for gap in coverage.gaps() {
                whole.insert(gap);
            }
            prop_assert!(whole.ranges().len() <= 1);
        }
    }

    #[test]
    fn tells_what_changed() {
        let old: Coverage = [LedgerRange { lo: 1, hi: 4 }, LedgerRange { lo: 8, hi: 9 }].into_iter().collect();
        let mut new = old.clone();
        new.insert_all([5]);
        assert_eq!(new.ranges_not_in(&old).collect::<Vec<_>>(), [LedgerRange { lo: 1, hi: 5 }]);
        assert_eq!(old.ranges_not_in(&new).collect::<Vec<_>>(), [LedgerRange { lo: 1, hi: 4 }]);
        new.insert(LedgerRange { lo: 9, hi: 2 });
        assert_eq!(new.gaps(), [LedgerRange { lo: 6, hi: 7 }]);
    }
}
