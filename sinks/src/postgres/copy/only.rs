//! The rows of some ledgers out of many: where a batch belongs to several partitions that are written in different ways.
//!
//! Rows are found by their ids, whatever order they are in.

use super::super::pieces::row_len;
use super::{CopyRows, CopyTable, Encoded, TABLES};

impl CopyRows {
    /// A copy of the rows of those ledgers that `keep` names. `unmarked` is the ledger of rows of current state that came without any.
    pub(crate) fn only(&self, unmarked: u32, keep: impl Fn(u32) -> bool + Copy) -> Self {
        let mut some = Self { state: self.state.only(unmarked, keep), ..Self::default() };
        for ((table, all), some) in TABLES.iter().zip(&self.tables).zip(&mut some.tables) {
            pick(table, all, some, keep);
        }
        some
    }
}

fn pick(table: &CopyTable, all: &Encoded, some: &mut Encoded, keep: impl Fn(u32) -> bool) {
    let mut rest = all.bytes.as_slice();
    // Bytes that are no rows are nobody's; that a row is missing then shows in the count.
    while let Some((row, after)) = row_len(rest).and_then(|len| rest.split_at_checked(len)) {
        if row.get(table.id_at..).and_then(<[u8]>::first_chunk).is_some_and(|ledger| keep(u32::from_be_bytes(*ledger))) {
            some.bytes.extend_from_slice(row);
            some.rows += 1;
        }
        rest = after;
    }
}

#[cfg(test)]
mod tests {
    use starmill_ledger::AddressBytes;
    use starmill_ledger::rows::{
        Category, OperationAccountRow, OperationRow, Place, ProtocolWasmRow, Reason, Rows as _, StateChangeRow, TransactionAccountRow,
        TransactionRow,
    };

    use super::*;

    const ACCOUNT: AddressBytes = AddressBytes([7; 33]);

    /// A ledger with two rows in each table, and a row of code.
    fn ledger(rows: &mut CopyRows, sequence: u32) {
        rows.state.mark(sequence);
        rows.protocol_wasm(&ProtocolWasmRow { wasm_hash: [sequence.to_be_bytes()[3]; 32], bytecode_len: 1, is_sep41: true });
        for n in 1..3 {
            let (to_id, closed_at) = (i64::from(sequence) << 32 | n << 12, i64::from(sequence));
            let (hash, result_code) = (&[9; 32], "TransactionResultCodeTxSuccess");
            rows.transaction(&TransactionRow {
                to_id,
                hash,
                inner_hash: hash,
                fee_charged: 1,
                result_code,
                is_fee_bump: n == 1,
                ledger: sequence,
                closed_at,
            });
            rows.operation(&OperationRow {
                id: to_id + 1,
                operation_type: "PAYMENT",
                operation_xdr: if n == 1 { &[] } else { &[1, 2] },
                result_code: "",
                successful: true,
                ledger: sequence,
                closed_at,
            });
            rows.transaction_account(&TransactionAccountRow { tx_to_id: to_id, account_id: ACCOUNT, closed_at });
            rows.operation_account(&OperationAccountRow { operation_id: to_id + 1, account_id: ACCOUNT, closed_at });
            let place = Place { to_id, operation_id: 0, ledger: sequence, closed_at };
            let row = StateChangeRow::new(place, 1, Category::Balance, Reason::Debit, ACCOUNT);
            rows.state_change(&row);
            rows.sep41_state_change(ACCOUNT, &row);
        }
    }

    #[test]
    fn is_what_these_ledgers_alone_would_have_given() {
        let made = |ledgers: &[u32]| {
            let mut rows = CopyRows::default();
            for sequence in ledgers {
                ledger(&mut rows, *sequence);
            }
            rows
        };
        let all = made(&[1, 2, 3, 8, 9]);
        assert_eq!(all.only(9, |_| true), all);
        assert_eq!(all.only(9, |sequence| sequence % 2 == 0), made(&[2, 8]));
        assert_eq!(all.only(9, |sequence| sequence > 9), CopyRows::default());
    }
}
