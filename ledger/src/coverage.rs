//! Coverage: which ledgers' rows are durable, as ranges that neither touch nor overlap.

use std::ops::RangeInclusive;

/// A set of ledger sequences.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Coverage {
    /// First and last of each range, ascending.
    ranges: Vec<(u32, u32)>,
}

impl Coverage {
    /// Coverage of the given ranges, in any order, overlapping or not. A range whose end is before its start is empty.
    pub fn of(ranges: impl IntoIterator<Item = RangeInclusive<u32>>) -> Self {
        let mut coverage = Self::default();
        for range in ranges {
            coverage.insert(range);
        }
        coverage
    }

    /// Adds a range and joins it with those it touches.
    pub fn insert(&mut self, range: RangeInclusive<u32>) {
        let (mut low, mut high) = range.into_inner();
        if low > high {
            return;
        }
        let from = self.ranges.partition_point(|(_, end)| end.checked_add(1).is_some_and(|next| next < low));
        let to = self.ranges.partition_point(|(start, _)| *start <= high || *start == high.saturating_add(1));
        if from < to {
            low = low.min(self.ranges[from].0);
            high = high.max(self.ranges[to - 1].1);
        }
        self.ranges.splice(from..to, [(low, high)]);
    }

    /// Whether the ledger is in it.
    pub fn contains(&self, sequence: u32) -> bool {
        let after = self.ranges.partition_point(|(low, _)| *low <= sequence);
        after > 0 && sequence <= self.ranges[after - 1].1
    }

    /// First and last of each range, ascending.
    pub fn ranges(&self) -> &[(u32, u32)] {
        &self.ranges
    }

    /// First and last of each gap between two ranges, ascending.
    pub fn gaps(&self) -> Vec<(u32, u32)> {
        self.ranges.windows(2).map(|pair| (pair[0].1 + 1, pair[1].0 - 1)).collect()
    }

    /// How many ledgers are in it.
    pub fn ledgers(&self) -> u64 {
        self.ranges.iter().map(|(low, high)| u64::from(high - low) + 1).sum()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equals_a_plain_set_whatever_is_inserted() {
        let mut seed = 7u32;
        let mut next = |bound: u32| {
            seed = seed.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            (seed >> 16) % bound
        };
        for _ in 0..200 {
            let (mut coverage, mut set) = (Coverage::default(), [false; 64]);
            for _ in 0..12 {
                let low = next(60);
                let high = low + next(4);
                coverage.insert(low..=high);
                set[low as usize..=high as usize].fill(true);
            }
            for sequence in 0..64 {
                assert_eq!(coverage.contains(sequence), set[sequence as usize], "{sequence} in {coverage:?}");
            }
            assert!(coverage.ranges().windows(2).all(|pair| pair[0].1 + 1 < pair[1].0), "ranges touch: {coverage:?}");
            assert_eq!(coverage.ledgers(), set.iter().filter(|s| **s).count() as u64);
            assert!(coverage.gaps().iter().all(|(low, high)| low <= high && !coverage.contains(*low) && !coverage.contains(*high)));
        }
    }

    #[test]
    fn the_largest_sequence_and_an_empty_range() {
        let mut coverage = Coverage::of([u32::MAX..=u32::MAX, 1..=2]);
        #[allow(clippy::reversed_empty_ranges)]
        coverage.insert(9..=3);
        assert_eq!(coverage.ranges(), [(1, 2), (u32::MAX, u32::MAX)]);
        coverage.insert(u32::MAX - 1..=u32::MAX);
        assert_eq!(coverage.ranges(), [(1, 2), (u32::MAX - 1, u32::MAX)]);
    }
}
