//! Current state: at most one row an entry, and the one that the last step of the entry makes (docs/rows.md, current state). Worked out here
//! from the steps alone, key by key.

use std::collections::BTreeMap;
use std::fmt::Debug;

use starmill_fixtures::{asset, key};
use starmill_ledger::AddressBytes;
use starmill_ledger::rows::EntryOp;
use stellar_xdr::{
    AccountEntry, Asset, ContractDataEntry, ContractExecutable, LedgerEntry, LedgerEntryData, LedgerEntryExt, LedgerKey,
    LiquidityPoolEntryBody, ScAddress, ScVal, TrustLineAsset, TrustLineEntry,
};

use super::{
    ids::address,
    money::balance_of_contract,
    read::{Applied, Ledger},
    seen::Seen,
    steps::Step,
};

/// Steps of each key in the order in which they happened, with the TOID of their operation, 0 for fees and refunds.
type Story<'a> = BTreeMap<&'a LedgerKey, Vec<(i64, &'a Step)>>;

fn story<'a>(ledger: &'a Ledger, seen: &Seen) -> Story<'a> {
    let mut all = Story::new();
    let mut tell = |id: i64, steps: &'a [Step]| {
        for step in steps.iter().filter(|step| !says_nothing(step)) {
            all.entry(&step.key).or_default().push((id, step));
        }
    };
    ledger.transactions.iter().for_each(|t| tell(0, &t.fee));
    for (row, transaction) in seen.transactions.iter().zip(&ledger.transactions) {
        for (number, steps) in (1i64..).zip(&transaction.operations) {
            tell(row.to_id | number, steps);
        }
        if refunded_in_meta(ledger, transaction) {
            tell(0, &transaction.after);
        }
    }
    ledger.transactions.iter().for_each(|t| tell(0, &t.refund));
    all
}

fn refunded_in_meta(ledger: &Ledger, transaction: &Applied) -> bool {
    (20..=22).contains(&ledger.protocol) && transaction.is_soroban()
}

/// A change of an account in which nothing but the list of signers differs.
fn says_nothing(step: &Step) -> bool {
    let bare = |entry: &LedgerEntry| match &entry.data {
        LedgerEntryData::Account(account) => {
            let account = AccountEntry { signers: Vec::new().try_into().unwrap(), ..account.clone() };
            Some(LedgerEntry { data: LedgerEntryData::Account(account), ext: LedgerEntryExt::V0, ..entry.clone() })
        }
        _ => None,
    };
    match (&step.before, &step.after) {
        (Some(before), Some(after)) => bare(before).is_some_and(|bare_before| Some(bare_before) == bare(after)),
        _ => false,
    }
}

fn op(step: &Step) -> EntryOp {
    match (&step.before, &step.after) {
        (_, None) => EntryOp::Remove,
        (None, Some(_)) => EntryOp::Add,
        (Some(_), Some(_)) => EntryOp::Update,
    }
}

/// What became of each entry: the last step's operation and op, and the entry. Nothing of one that was made and at once removed.
fn ends<'a>(story: &Story<'a>) -> Vec<(i64, EntryOp, &'a LedgerEntry)> {
    let mut all = Vec::new();
    for steps in story.values() {
        let (id, last) = steps.last().unwrap();
        let new = steps.first().is_some_and(|(_, first)| first.before.is_none() && !first.restored);
        let fleeting =
            matches!(steps.as_slice(), [.., (_, before), (_, last)] if op(before) == EntryOp::Add && op(last) == EntryOp::Remove);
        if !(new && fleeting) {
            all.push((*id, op(last), last.after.as_ref().or(last.before.as_ref()).unwrap()));
        }
    }
    all
}

/// Compares as sorted texts, so that a difference can be read.
fn alike<T: Debug>(what: &str, rows: impl Iterator<Item = T>, expected: impl Iterator<Item = T>) {
    let mut rows: Vec<_> = rows.map(|row| format!("{row:?}")).collect();
    let mut expected: Vec<_> = expected.map(|row| format!("{row:?}")).collect();
    rows.sort();
    expected.sort();
    let only = |a: &[String], b: &[String]| a.iter().filter(|row| !b.contains(row)).cloned().collect::<Vec<_>>();
    assert!(rows == expected, "{what}: too many {:#?}, missing {:#?}", only(&rows, &expected), only(&expected, &rows));
}

/// Every table of current state; `native` is the contract of the native asset.
pub(super) fn rows_are_the_last_states(native: AddressBytes, ledger: &Ledger, seen: &Seen) {
    let story = story(ledger, seen);
    let ends = ends(&story);
    let accounts = seen
        .native
        .iter()
        .map(|r| (r.op, r.account_id, [r.balance, r.minimum_balance, r.buying_liabilities, r.selling_liabilities], r.num_subentries));
    alike("native balances", accounts, ends.iter().filter_map(|(_, op, entry)| native_row(*op, entry, ledger.base_reserve)));
    let lines = seen.lines.iter().map(|r| {
        let numbers = [r.balance, r.trust_limit, r.buying_liabilities, r.selling_liabilities, i64::from(r.flags)];
        (r.op, r.operation_id, r.account_id, r.asset.to_text(), numbers)
    });
    alike("trustlines", lines, ends.iter().filter_map(|(id, op, entry)| line_row(*id, *op, entry)));
    let shares = seen.shares.iter().map(|r| (r.op, r.operation_id, r.account_id, r.pool_id, r.shares));
    alike("pool shares", shares, ends.iter().filter_map(|(id, op, entry)| share_row(*id, *op, entry)));
    let pools = seen
        .pools
        .iter()
        .map(|r| (r.op, r.operation_id, r.pool_id, [(r.asset_a.to_text(), r.reserve_a), (r.asset_b.to_text(), r.reserve_b)]));
    alike("pools", pools, ends.iter().filter_map(|(id, op, entry)| pool_row(*id, *op, entry)));
    contracts(native, &story, &ends, seen);
}

type NativeRow = (EntryOp, AddressBytes, [i64; 4], u32);

fn native_row(op: EntryOp, entry: &LedgerEntry, base_reserve: u32) -> Option<NativeRow> {
    let LedgerEntryData::Account(account) = &entry.data else { return None };
    let extras = starmill_fixtures::entry::AccountExtras::of(account);
    let units = 2 + i64::from(account.num_sub_entries) + i64::from(extras.sponsoring()) - i64::from(extras.sponsored());
    let numbers = [account.balance, units * i64::from(base_reserve), extras.liabilities.buying, extras.liabilities.selling];
    Some((op, address(&account.account_id), numbers, account.num_sub_entries))
}

type LineRow = (EntryOp, i64, AddressBytes, String, [i64; 5]);

fn line_row(id: i64, op: EntryOp, entry: &LedgerEntry) -> Option<LineRow> {
    let LedgerEntryData::Trustline(line) = &entry.data else { return None };
    let of = match &line.asset {
        TrustLineAsset::CreditAlphanum4(a) => Asset::CreditAlphanum4(a.clone()),
        TrustLineAsset::CreditAlphanum12(a) => Asset::CreditAlphanum12(a.clone()),
        TrustLineAsset::Native | TrustLineAsset::PoolShare(_) => return None,
    };
    let liabilities = starmill_fixtures::entry::trust_line_liabilities(line);
    let numbers = [line.balance, line.limit, liabilities.buying, liabilities.selling, i64::from(line.flags)];
    Some((op, id, address(&line.account_id), asset::text(&of), numbers))
}

type ShareRow = (EntryOp, i64, AddressBytes, [u8; 32], i64);

fn share_row(id: i64, op: EntryOp, entry: &LedgerEntry) -> Option<ShareRow> {
    let LedgerEntryData::Trustline(TrustLineEntry { account_id, asset: TrustLineAsset::PoolShare(pool), balance, .. }) = &entry.data else {
        return None;
    };
    Some((op, id, AddressBytes::account(&key::to_bytes(account_id)), pool.0.0, *balance))
}

type PoolRow = (EntryOp, i64, [u8; 32], [(String, i64); 2]);

fn pool_row(id: i64, op: EntryOp, entry: &LedgerEntry) -> Option<PoolRow> {
    let LedgerEntryData::LiquidityPool(pool) = &entry.data else { return None };
    let LiquidityPoolEntryBody::LiquidityPoolConstantProduct(body) = &pool.body;
    let sides = [(asset::text(&body.params.asset_a), body.reserve_a), (asset::text(&body.params.asset_b), body.reserve_b)];
    Some((op, id, pool.liquidity_pool_id.0.0, sides))
}

/// Balances that contracts hold, contract code and instances.
fn contracts(native: AddressBytes, story: &Story<'_>, ends: &[(i64, EntryOp, &LedgerEntry)], seen: &Seen) {
    let sac = seen.sac.iter().map(|r| (r.op, r.operation_id, r.account_id, r.contract_id, r.balance));
    let expected = ends.iter().filter_map(|(id, op, entry)| {
        let LedgerEntryData::ContractData(data) = &entry.data else { return None };
        let (holder, token, amount) = balance_of_contract(data)?;
        // Lumens that contracts hold are left out.
        (token != native).then_some((*op, *id, holder, token, if *op == EntryOp::Remove { 0 } else { amount }))
    });
    alike("balances of contracts", sac, expected);

    // Whatever was made, changed or restored counts, also if it is gone at the end of the ledger.
    let after = || story.values().flatten().filter_map(|(_, step)| step.after.as_ref());
    let mut codes: Vec<_> = after()
        .filter_map(|entry| match &entry.data {
            LedgerEntryData::ContractCode(code) => Some((code.hash.0, code.code.len())),
            _ => None,
        })
        .collect();
    codes.dedup();
    alike("contract code", seen.wasms.iter().map(|r| (r.wasm_hash, r.bytecode_len as usize)), codes.into_iter());
    let last = story.values().filter_map(|steps| steps.iter().rev().find_map(|(_, step)| runs(step)));
    alike("instances", seen.contracts.iter().map(|r| (r.contract_id, r.wasm_hash)), last);
}

/// Contract and code, if the step leaves an instance of code.
fn runs(step: &Step) -> Option<([u8; 32], [u8; 32])> {
    let LedgerEntryData::ContractData(ContractDataEntry {
        contract: ScAddress::Contract(id), val: ScVal::ContractInstance(instance), ..
    }) = &step.after.as_ref()?.data
    else {
        return None;
    };
    match &instance.executable {
        ContractExecutable::Wasm(hash) => Some((id.0.0, hash.0)),
        ContractExecutable::StellarAsset | ContractExecutable::ExternalRef(_) => None,
    }
}
