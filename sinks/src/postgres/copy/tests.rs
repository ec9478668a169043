//! The encoder by itself: bytes against a hand-written row, independence of chunking, sorting.

use proptest::prelude::*;

use starmill_ledger::rows::{Category, Place, Reason};

use super::*;

fn account(key: u8) -> AddressBytes {
    AddressBytes::account(&[key; 32])
}

/// Puts row `n` of a made-up sequence; every eighth is of the same kind.
fn put(rows: &mut CopyRows, n: u64) {
    let id = n as i64 * 4096;
    let key = (n.wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 56) as u8;
    match n % 8 {
        0 => rows.transaction(&TransactionRow {
            to_id: id,
            hash: &[key; 32],
            inner_hash: &[key; 32],
            fee_charged: -id,
            result_code: "TransactionResultCodeTxSuccess",
            is_fee_bump: key & 1 == 1,
            ledger: 7,
            closed_at: 1_600_000_000,
        }),
        1 => rows.operation(&OperationRow {
            id,
            operation_type: "PAYMENT",
            operation_xdr: &[key; 200][..usize::from(key) % 200],
            result_code: "op_success",
            successful: true,
            ledger: 7,
            closed_at: 1_600_000_000,
        }),
        2 => rows.transaction_account(&TransactionAccountRow { tx_to_id: id, account_id: account(key), closed_at: 1_600_000_000 }),
        3 => rows.operation_account(&OperationAccountRow { operation_id: id, account_id: account(key), closed_at: 1_600_000_000 }),
        4 => rows.ledger(&LedgerRow {
            sequence: n.try_into().unwrap(),
            protocol: 23,
            closed_at: 0,
            close_meta_version: 2,
            base_reserve: 1,
            transactions: 1,
        }),
        5 => rows.state_change(&state_change_row(id, account(key))),
        6 => rows.sep41_state_change(account(key), &state_change_row(id, account(key))),
        _ => rows.sep41_balance_delta(&Sep41BalanceDelta {
            account_id: account(key),
            contract_id: account(key),
            delta: id.into(),
            ledger: 7,
        }),
    }
}

fn state_change_row(id: i64, account_id: AddressBytes) -> StateChangeRow<'static> {
    let place = Place { to_id: id, operation_id: id + 1, ledger: 7, closed_at: 1_600_000_000 };
    let mut row = StateChangeRow::new(place, 1, Category::Balance, Reason::Credit, account_id);
    row.amount = (id % 3 == 0).then_some(id.into());
    row
}

#[test]
fn ledgers_are_told_apart_however_they_were_joined() {
    let mut rows = CopyRows::default();
    for sequence in [5, 6, 7] {
        let mut ledger = CopyRows::default();
        put(&mut ledger, 4);
        ledger.state.mark(sequence);
        // A chunk of transactions brings no mark; what the fold writes follows it.
        let mut chunk = CopyRows::default();
        (0..sequence).for_each(|n| chunk.sep41_state_change(account(1), &state_change_row(n.into(), account(2))));
        ledger.append(&mut chunk);
        put(&mut ledger, 7);
        rows.append(&mut ledger);
    }
    let told: Vec<_> = rows.state.ledgers(0).map(|l| (l.sequence, l.sep41_rows.len(), l.sep41_balances.len())).collect();
    assert_eq!(told, [(4, 0, 0), (5, 5, 1), (4, 0, 0), (6, 6, 1), (4, 0, 0), (7, 7, 1)]);
    for ledger in rows.state.ledgers(0) {
        assert_eq!(ledger.sep41_rows.iter().map(|row| row.len).sum::<usize>(), ledger.sep41_bytes.len());
    }
    // Without a mark, rows count to the ledger that is named.
    let mut rows = CopyRows::default();
    put(&mut rows, 7);
    let told: Vec<_> = rows.state.ledgers(9).map(|l| (l.sequence, l.sep41_balances.len())).collect();
    assert_eq!(told, [(9, 1)]);
}

#[test]
fn a_state_change_is_renumbered_in_place() {
    let (mut one, mut other) = (Vec::new(), Vec::new());
    let mut row = state_change_row(3, account(1));
    state_change::encode(&mut one, &row);
    row.state_change_id = -77;
    state_change::encode(&mut other, &row);
    assert_ne!(one, other);
    state_change::renumber(&mut one, -77);
    assert_eq!(one, other);
}

#[test]
fn a_row_is_what_the_manual_says() {
    let mut rows = CopyRows::default();
    // One second before 2000 is -1,000,000 microseconds.
    rows.transaction_account(&TransactionAccountRow {
        tx_to_id: i64::MIN,
        account_id: account(0xAB),
        closed_at: POSTGRES_EPOCH_SECONDS - 1,
    });
    let mut expected = vec![0, 3, 0, 0, 0, 8];
    expected.extend_from_slice(&(-1_000_000_i64).to_be_bytes());
    expected.extend_from_slice(&[0, 0, 0, 8, 0x80, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 33, 0x30]);
    expected.extend_from_slice(&[0xAB; 32]);
    assert_eq!(rows.tables[1].bytes, expected);
    assert_eq!(rows.tables[1].bytes.len(), ACCOUNT_ROW);
    assert_eq!((rows.rows(), rows.bytes()), (1, ACCOUNT_ROW));
}

#[test]
fn empty_xdr_is_null() {
    let mut rows = CopyRows::default();
    let mut row = OperationRow {
        id: 1,
        operation_type: "PAYMENT",
        operation_xdr: &[],
        result_code: "op_success",
        successful: false,
        ledger: 1,
        closed_at: 0,
    };
    rows.operation(&row);
    assert!(rows.tables[2].bytes.ends_with(&[0xFF; 4]));
    rows.clear();
    row.operation_xdr = &[1, 2, 3];
    rows.operation(&row);
    assert!(rows.tables[2].bytes.ends_with(&[0, 0, 0, 3, 1, 2, 3]));
}

proptest! {
    #[test]
    fn append_at_any_split_gives_the_same_bytes(count in 0..60_u64, mut splits in prop::collection::vec(0..60_u64, 0..6)) {
        let mut whole = CopyRows::default();
        (0..count).for_each(|n| put(&mut whole, n));
        splits.retain(|split| *split <= count);
        splits.sort_unstable();
        splits.push(count);
        let (mut joined, mut chunk, mut from) = (CopyRows::default(), CopyRows::default(), 0);
        for to in splits {
            (from..to).for_each(|n| put(&mut chunk, n));
            joined.append(&mut chunk);
            prop_assert_eq!((chunk.rows(), chunk.bytes()), (0, 0));
            from = to;
        }
        prop_assert_eq!(joined.rows(), (0..count).filter(|n| n % 8 != 4).count() as u64);
        prop_assert_eq!(joined, whole);
    }

    #[test]
    fn sorting_orders_accounts_and_keeps_arrival_order(keys in prop::collection::vec((0..4_u8, 0..3_u8), 0..80)) {
        let mut rows = CopyRows::default();
        for (n, (head, last)) in (0..).zip(&keys) {
            // Accounts that differ in the first bytes, in the last only, or not at all.
            let mut key = [*head; 32];
            key[31] = *last;
            rows.transaction_account(&TransactionAccountRow { tx_to_id: n, account_id: AddressBytes::account(&key), closed_at: 0 });
        }
        let mut expected: Vec<Vec<u8>> = rows.tables[1].bytes.chunks(ACCOUNT_ROW).map(<[u8]>::to_vec).collect();
        expected.sort_by(|a, b| a[30..].cmp(&b[30..]));
        AccountSort::default().sort(&mut rows.tables[1].bytes);
        prop_assert_eq!(&rows.tables[1].bytes, &expected.concat());
    }
}
