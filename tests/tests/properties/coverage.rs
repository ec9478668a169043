//! That the made ledgers show what they are for: every operation type, every failure, muxed and sponsored everything, every shape of changes.

use starmill_fixtures::property::{Ending, Era, OperationPlan, TransactionPlan, World, operation_failures, transaction_failures};
use starmill_fixtures::{STANDALONE_PASSPHRASE, to_xdr};
use starmill_ledger::Network;
use starmill_ledger::rows::{Category, Reason};
use stellar_xdr::{LedgerCloseMeta, OperationType};

use super::{
    check::check,
    facts::{Facts, gather},
    read::Ledger,
    seen::Seen,
};

/// Ledgers of each era in the sweep.
const LEDGERS: u64 = 60;

fn rows(ledger: &LedgerCloseMeta) -> Seen {
    Seen::of(&Network::new(STANDALONE_PASSPHRASE), &to_xdr(ledger).unwrap()).unwrap()
}

/// Numbers without an order to them.
fn mixed(number: u64) -> u64 {
    let mixed = number.wrapping_add(1).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    (mixed ^ (mixed >> 29)).wrapping_mul(0xbf58_476d_1ce4_e5b9)
}

fn plan(of: OperationType, dice: u64) -> OperationPlan {
    OperationPlan { kind: of, dice, fails: None }
}

fn alone(operation: OperationPlan) -> TransactionPlan {
    TransactionPlan {
        operations: vec![operation],
        dice: mixed(operation.dice),
        bumped: operation.dice.is_multiple_of(4),
        ending: Ending::Applied,
    }
}

/// Transactions that have all types in turn, and before some a sponsor, or a removal to be undone.
fn sweep(ledger: u64) -> Vec<TransactionPlan> {
    let types = OperationType::VARIANTS;
    let kind = |i: u64| types[usize::try_from(i % types.len() as u64).unwrap()];
    let mut plans: Vec<_> = (0..27).map(|i| alone(plan(kind(ledger + i), mixed(ledger * 27 + i)))).collect();
    let sponsored = [OperationType::BeginSponsoringFutureReserves].into_iter().chain((0..8).map(|i| kind(mixed(ledger + i))));
    let churn = [OperationType::CreateAccount, OperationType::AccountMerge, OperationType::CreateAccount, OperationType::AccountMerge];
    let trust = [OperationType::ChangeTrust; 9];
    for operations in [sponsored.collect(), churn.to_vec(), trust.to_vec()] {
        let operations = operations.into_iter().zip(1u64..).map(|(kind, i)| plan(kind, mixed(ledger ^ i << 20))).collect();
        plans.push(TransactionPlan { operations, dice: mixed(ledger), bumped: false, ending: Ending::Applied });
    }
    plans
}

fn expected() -> Facts {
    let mut facts = Facts::new();
    let mut add = |prefix: &str, names: &[&str]| facts.extend(names.iter().map(|name| format!("{prefix} {name}")));
    add("envelope", &["Tx", "TxV0", "TxFeeBump"]);
    add("muxed", &["transaction source", "fee source", "operation source"]);
    add("muxed", &["PAYMENT", "STRICT_SEND", "STRICT_RECEIVE", "MERGE", "CLAWBACK"]);
    add("host function", &["call", "create", "create v2", "upload"]);
    add("sponsored", &["Account", "Trustline", "Offer", "Data", "ClaimableBalance", "Signer"]);
    add("revoked", &["Account", "Trustline", "Offer", "Data", "ClaimableBalance", "Signer"]);
    add("changed", &["Account", "Trustline", "Offer", "Data", "ClaimableBalance", "LiquidityPool", "ContractData", "ContractCode", "Ttl"]);
    for table in ["native", "lines", "sac", "pools", "shares"] {
        add(table, &["Add", "Update", "Remove"]);
    }
    for within in ["operation", "transaction", "ledger"] {
        let met = if within == "operation" { vec!["RC", "UU", "AU", "AR"] } else { vec!["CR", "RC", "CRC", "UU", "AU", "AR"] };
        add_within(&mut facts, within, &met);
    }
    let mut add = |prefix: &str, names: &[&str]| facts.extend(names.iter().map(|name| format!("{prefix} {name}")));
    add("row BALANCE", &["DEBIT", "CREDIT", "MINT", "BURN"]);
    add("row ACCOUNT", &["CREATE", "MERGE"]);
    add("row SIGNER", &["ADD", "UPDATE", "REMOVE"]);
    add("row FLAGS", &["SET", "CLEAR"]);
    add("row HOME_DOMAIN", &["SET", "UPDATE", "CLEAR"]);
    add("row TRUSTLINE", &["ADD", "UPDATE", "REMOVE"]);
    add("row DATA_ENTRY", &["ADD", "UPDATE", "REMOVE"]);
    add("row BALANCE_AUTHORIZATION", &["SET", "CLEAR"]);
    add("row", &["SIGNATURE_THRESHOLD UPDATE", "ALLOWANCE UPDATE"]);
    // Names as rows have them, of all types.
    for kind in OperationType::VARIANTS {
        facts.insert(format!("success {}", snake(kind.name())));
    }
    facts
}

fn add_within(facts: &mut Facts, within: &str, runs: &[&str]) {
    facts.extend(runs.iter().map(|run| format!("{run} in one {within}")));
}

/// `CreateAccount` as `CREATE_ACCOUNT`.
fn snake(name: &str) -> String {
    let mut text = String::new();
    for letter in name.chars() {
        if letter.is_uppercase() && !text.is_empty() {
            text.push('_');
        }
        text.push(letter.to_ascii_uppercase());
    }
    text
}

#[test]
fn the_sweep_shows_every_shape_and_has_every_property() {
    let mut facts = Facts::new();
    for (era, turn) in Era::ALL.into_iter().zip(0..) {
        let mut world = World::new(era, 1_000, true).unwrap();
        for ledger in turn * LEDGERS..(turn + 1) * LEDGERS {
            let meta = world.ledger(&sweep(ledger)).unwrap();
            let seen = check(STANDALONE_PASSPHRASE, &to_xdr(&meta).unwrap());
            gather(&Ledger::of(STANDALONE_PASSPHRASE, &meta), &seen, &mut facts);
        }
    }
    let missing: Vec<_> = expected().difference(&facts).cloned().collect();
    assert!(missing.is_empty(), "never met: {missing:#?}\nmet: {facts:#?}");
}

/// Of a transaction that was not successful there is its fee, and nothing else but its operations and participants.
fn only_the_fee(seen: &Seen) {
    let fee =
        |change: &super::seen::Change| change.operation_id == 0 && change.category == Category::Balance && change.reason == Reason::Debit;
    assert!(seen.changes.len() <= 1 && seen.changes.iter().all(fee), "{:#?}", seen.changes);
    let state = (seen.lines.len(), seen.sac.len(), seen.pools.len(), seen.shares.len());
    assert_eq!((state, seen.tokens.len() + seen.wasms.len() + seen.contracts.len()), ((0, 0, 0, 0), 0));
}

#[test]
fn every_failure_of_every_operation_has_a_code_of_its_own_and_moves_its_fee_alone() {
    let era = Era::ALL[8];
    let mut failures = 0;
    for kind in OperationType::VARIANTS {
        let mut codes = Vec::new();
        for (failure, result) in operation_failures(kind).iter().enumerate() {
            let failure = u8::try_from(failure).unwrap();
            for bumped in [false, true] {
                let mut world = World::new(era, 1_000, true).unwrap();
                // Something to claim, to end, to restore.
                world.ledger(&sweep(0)).unwrap();
                let operation = OperationPlan { fails: Some(failure), ..plan(kind, 1) };
                let meta = world.ledger(&[TransactionPlan { bumped, ..alone(operation) }]).unwrap();
                let seen = check(STANDALONE_PASSPHRASE, &to_xdr(&meta).unwrap());
                assert_eq!(
                    seen.transactions[0].code,
                    if bumped { "TransactionResultCodeTxFeeBumpInnerFailed" } else { "TransactionResultCodeTxFailed" }
                );
                let row = &seen.operations[0];
                assert!(!row.successful && row.code != "op_unknown" && row.code != "op_success", "{kind:?} {result:?}: {row:?}");
                only_the_fee(&seen);
                codes.push(row.code);
                failures += 1;
            }
        }
        codes.dedup();
        assert_eq!(codes.len(), operation_failures(kind).len(), "{kind:?}: {codes:?}");
    }
    assert!(failures > 600, "{failures}");
}

#[test]
fn every_reason_not_to_apply_a_transaction_has_a_code_and_its_fee() {
    let mut codes = std::collections::BTreeSet::new();
    for era in Era::ALL {
        for reason in 0..transaction_failures().len() {
            for bumped in [false, true] {
                let ending = Ending::NotApplied(u8::try_from(reason).unwrap());
                let mut world = World::new(era, 1_000, true).unwrap();
                let plan = TransactionPlan { ending, bumped, ..alone(plan(OperationType::Payment, 2)) };
                let seen = rows(&world.ledger(&[plan]).unwrap());
                codes.insert(seen.transactions[0].code);
                assert_eq!((seen.operations[0].code, seen.operations[0].successful), ("op_unknown", false));
                only_the_fee(&seen);
            }
        }
    }
    assert_eq!(codes.len(), transaction_failures().len() + 1, "{codes:?}");
}
