//! Of all rows of an entry in a batch the last counts, and entries are written in the order of their keys: neighbours lie on the same page, and
//! sessions that lock rows in one order never wait for each other in a circle.

use starmill_ledger::rows::Entry;

/// Calls `write` for the last row of each entry, in the order of keys. `chosen` are indexes of `rows`, ascending.
pub(crate) fn latest<R: Entry>(rows: &[R], chosen: impl Iterator<Item = usize>, order: &mut Vec<(u64, usize)>, mut write: impl FnMut(&R)) {
    order.clear();
    order.extend(chosen.filter_map(|index| rows.get(index).map(|row| (row.prefix(), index))));
    order.sort_unstable_by(|a, b| a.0.cmp(&b.0).then_with(|| rows[a.1].key().cmp(&rows[b.1].key())).then_with(|| a.1.cmp(&b.1)));
    for entry in order.chunk_by(|a, b| a.0 == b.0 && rows[a.1].key() == rows[b.1].key()) {
        if let Some((_, last)) = entry.last() {
            write(&rows[*last]);
        }
    }
}
