//! Sorts the rows of a `*_accounts` table by account before they are sent: neighbouring keys go to the same index page, which saves a third of
//! Postgres' time (measured; docs/rows.md).
//!
//! Sorts small keys, then moves each fixed-width row once. Equal accounts stay in arrival order, so the result depends on the rows alone.

use super::ACCOUNT_ROW;

/// Where the account stands in a row: after the field count and two 8-byte fields with their lengths, and its own length.
const ACCOUNT_AT: usize = ACCOUNT_ROW - 33;
/// The first bytes of the account that are compared as one integer.
const PREFIX: usize = 8;

/// Buffers of the sort, kept from batch to batch.
#[derive(Debug, Default)]
pub(crate) struct AccountSort {
    keys: Vec<(u64, u32)>,
    sorted: Vec<u8>,
}

impl AccountSort {
    /// Sorts the rows by account. Bytes that are not a whole number of rows, or more rows than fit 32 bits, stay as they are: the order is for speed only.
    pub(crate) fn sort(&mut self, bytes: &mut Vec<u8>) {
        let (rows, rest) = bytes.as_chunks::<ACCOUNT_ROW>();
        if !rest.is_empty() || u32::try_from(rows.len()).is_err() {
            return;
        }
        self.keys.clear();
        self.keys.extend((0_u32..).zip(rows).map(|(index, row)| (prefix(row), index)));
        self.keys.sort_unstable_by(|a, b| {
            a.0.cmp(&b.0).then_with(|| tail(&rows[a.1 as usize]).cmp(tail(&rows[b.1 as usize]))).then_with(|| a.1.cmp(&b.1))
        });
        self.sorted.clear();
        self.sorted.reserve(bytes.len());
        for (_, index) in &self.keys {
            self.sorted.extend_from_slice(&rows[*index as usize]);
        }
        std::mem::swap(bytes, &mut self.sorted);
    }
}

fn prefix(row: &[u8; ACCOUNT_ROW]) -> u64 {
    u64::from_be_bytes(std::array::from_fn(|i| row[ACCOUNT_AT + i]))
}

fn tail(row: &[u8; ACCOUNT_ROW]) -> &[u8] {
    &row[ACCOUNT_AT + PREFIX..]
}
