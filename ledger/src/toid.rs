//! TOIDs, the 64-bit ids of SEP-35: ledger sequence, transaction (1-based) and operation (1-based) in 32, 20 and 12 bits.

/// Largest transaction index that fits.
pub const TRANSACTION_INDEX_MAX: u32 = (1 << 20) - 1;
/// Largest ledger sequence whose ids are positive.
pub const LEDGER_MAX: u32 = i32::MAX as u32;

/// Id of a transaction. `index` is 1-based in apply order, at most [`TRANSACTION_INDEX_MAX`]; `ledger` at most [`LEDGER_MAX`].
pub fn transaction(ledger: u32, index: u32) -> i64 {
    (i64::from(ledger) << 32) | (i64::from(index) << 12)
}

/// Id of an operation of that transaction. `index` is 0-based; a transaction has at most 100 operations.
pub fn operation(transaction: i64, index: u32) -> i64 {
    transaction | i64::from(index + 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn vector_of_testnet_ledger_4873() {
        assert_eq!(transaction(4873, 1), 20_929_375_637_504);
        assert_eq!(operation(transaction(4873, 1), 0), 20_929_375_637_505);
    }

    #[test]
    fn ids_order_by_ledger_then_transaction_then_operation() {
        assert!(operation(transaction(7, TRANSACTION_INDEX_MAX), 99) < transaction(8, 1));
        assert!(transaction(LEDGER_MAX, TRANSACTION_INDEX_MAX) > 0);
    }
}
