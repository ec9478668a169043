//! Conservation: what the rows of token transfers say moved is what the entries of the ledger say changed hands.
//!
//! Of a holder: CREDIT − DEBIT in an operation is what its balance gained. Of an asset: MINT − BURN is what accounts, contracts, pools and
//! claimable balances gained together; lumens gain by inflation alone. Of the fee: its row is what the payer lost, less the refund.

use std::collections::{BTreeMap, BTreeSet};

use starmill_fixtures::{hash, key};
use starmill_ledger::AddressBytes;
use starmill_ledger::rows::{Category, EntryOp, Reason};
use stellar_xdr::{
    Asset, ClaimableBalanceEntry, ContractDataDurability, ContractDataEntry, Hash, InflationResult, LedgerEntry, LedgerEntryData,
    LiquidityPoolEntryBody, OperationResult, OperationResultTr, ScAddress, ScVal, TrustLineAsset,
};

use super::{
    ids::address,
    read::{Applied, Ledger},
    seen::{Change, Seen},
    steps::Step,
};

/// Before this protocol a transaction could make and lose lumens by paying and merging in turn (docs/rows.md, what an operation moved), so
/// that of older ledgers only the holders' sums hold. The public network's ledger 9710976 is one.
const LUMENS_KEPT_SINCE: u32 = 8;

type Token = AddressBytes;
type Sums<K> = BTreeMap<K, i128>;

/// Ids of asset contracts, worked out once each.
pub(super) struct Tokens {
    network: Hash,
    known: BTreeMap<Asset, Token>,
}

impl Tokens {
    pub(super) fn of(passphrase: &str) -> Self {
        Self { network: hash::network_id(passphrase), known: BTreeMap::new() }
    }

    pub(super) fn token(&mut self, asset: &Asset) -> Token {
        let network = &self.network;
        let id = || AddressBytes::contract(&hash::asset_contract_id(network, asset).unwrap().0.0);
        *self.known.entry(asset.clone()).or_insert_with(id)
    }

    /// Who holds how much of what by this entry. Nobody is named for what pools and claimable balances hold.
    fn held(&mut self, entry: &LedgerEntry) -> Vec<(Option<AddressBytes>, Token, i128)> {
        match &entry.data {
            LedgerEntryData::Account(account) => {
                vec![(Some(address(&account.account_id)), self.token(&Asset::Native), account.balance.into())]
            }
            LedgerEntryData::Trustline(line) => match credit(&line.asset) {
                Some(asset) => vec![(Some(address(&line.account_id)), self.token(&asset), line.balance.into())],
                None => Vec::new(),
            },
            LedgerEntryData::ClaimableBalance(ClaimableBalanceEntry { asset, amount, .. }) => {
                vec![(None, self.token(asset), i128::from(*amount))]
            }
            LedgerEntryData::LiquidityPool(pool) => {
                let LiquidityPoolEntryBody::LiquidityPoolConstantProduct(pool) = &pool.body;
                let (a, b) = (self.token(&pool.params.asset_a), self.token(&pool.params.asset_b));
                vec![(None, a, pool.reserve_a.into()), (None, b, pool.reserve_b.into())]
            }
            LedgerEntryData::ContractData(data) => balance_of_contract(data).into_iter().map(|(h, t, n)| (Some(h), t, n)).collect(),
            _ => Vec::new(),
        }
    }

    /// What holders, and the token as a whole, gained by these steps.
    fn gained(&mut self, steps: &[Step]) -> (Sums<(AddressBytes, Token)>, Sums<Token>) {
        let (mut holders, mut tokens) = (Sums::new(), Sums::new());
        // What comes back from the archive was there all the time.
        for step in steps.iter().filter(|step| !step.restored) {
            for (side, sign) in [(&step.before, -1), (&step.after, 1)] {
                for (holder, token, amount) in side.iter().flat_map(|entry| self.held(entry)) {
                    *tokens.entry(token).or_default() += sign * amount;
                    if let Some(holder) = holder {
                        *holders.entry((holder, token)).or_default() += sign * amount;
                    }
                }
            }
        }
        (holders, tokens)
    }
}

fn credit(asset: &TrustLineAsset) -> Option<Asset> {
    match asset {
        TrustLineAsset::CreditAlphanum4(a) => Some(Asset::CreditAlphanum4(a.clone())),
        TrustLineAsset::CreditAlphanum12(a) => Some(Asset::CreditAlphanum12(a.clone())),
        TrustLineAsset::Native | TrustLineAsset::PoolShare(_) => None,
    }
}

/// Holder, token and amount of a balance that an asset contract keeps for a contract.
pub(super) fn balance_of_contract(data: &ContractDataEntry) -> Option<(AddressBytes, Token, i128)> {
    let (ScAddress::Contract(token), ContractDataDurability::Persistent) = (&data.contract, data.durability) else { return None };
    let ScVal::Vec(Some(key)) = &data.key else { return None };
    let [ScVal::Symbol(name), ScVal::Address(ScAddress::Contract(holder))] = key.as_slice() else { return None };
    let ScVal::Map(Some(map)) = &data.val else { return None };
    let [amount, authorized, clawback] = map.as_slice() else { return None };
    let named = |key: &ScVal, name: &str| matches!(key, ScVal::Symbol(symbol) if symbol.0.as_slice() == name.as_bytes());
    let in_shape = named(&amount.key, "amount") && named(&authorized.key, "authorized") && named(&clawback.key, "clawback");
    let ScVal::I128(parts) = &amount.val else { return None };
    let units = i128::from(parts);
    (name.0.as_slice() == b"Balance" && in_shape && units >= 0)
        .then(|| (AddressBytes::contract(&holder.0.0), AddressBytes::contract(&token.0.0), units))
}

/// CREDIT − DEBIT of each holder, and MINT − BURN of each token.
fn said<'a>(rows: impl Iterator<Item = &'a Change>) -> (Sums<(AddressBytes, Token)>, Sums<Token>) {
    let (mut holders, mut tokens) = (Sums::new(), Sums::new());
    for row in rows.filter(|row| row.category == Category::Balance && !row.of_token_contract) {
        let (token, amount) = (row.token.unwrap(), row.amount.unwrap());
        match row.reason {
            Reason::Credit => *holders.entry((row.account, token)).or_default() += amount,
            Reason::Debit => *holders.entry((row.account, token)).or_default() -= amount,
            Reason::Mint => *tokens.entry(token).or_default() += amount,
            Reason::Burn => *tokens.entry(token).or_default() -= amount,
            other => panic!("{other:?} is no reason of BALANCE"),
        }
    }
    (holders, tokens)
}

/// Lumens that an operation's result says were made.
fn inflated(result: Option<&OperationResult>) -> i128 {
    match result {
        Some(OperationResult::OpInner(OperationResultTr::Inflation(InflationResult::Success(payouts)))) => {
            payouts.iter().map(|payout| i128::from(payout.amount)).sum()
        }
        _ => 0,
    }
}

fn without_zeros<K: Ord>(sums: Sums<K>) -> Sums<K> {
    sums.into_iter().filter(|(_, sum)| *sum != 0).collect()
}

fn by_operation(seen: &Seen) -> BTreeMap<(i64, i64), Vec<&Change>> {
    let mut groups: BTreeMap<_, Vec<_>> = BTreeMap::new();
    for change in &seen.changes {
        groups.entry((change.to_id, change.operation_id)).or_default().push(change);
    }
    groups
}

/// For every operation: what each holder gained, and what each asset gained.
pub(super) fn rows_say_what_entries_say(passphrase: &str, ledger: &Ledger, seen: &Seen) {
    let mut tokens = Tokens::of(passphrase);
    let native = tokens.token(&Asset::Native);
    let groups = by_operation(seen);
    for (row, transaction) in seen.transactions.iter().zip(&ledger.transactions) {
        for (index, (number, _)) in (1i64..).zip(transaction.ops()).enumerate() {
            let id = row.to_id | number;
            let rows = groups.get(&(row.to_id, id)).cloned().unwrap_or_default();
            if !transaction.successful() {
                assert!(rows.is_empty(), "operation {id} of a failed transaction has {rows:?}");
                continue;
            }
            let (said_of_holders, said_of_tokens) = said(rows.iter().copied());
            let steps = transaction.operations.get(index).map_or(&[] as &[Step], Vec::as_slice);
            let (mut gained, mut total) = tokens.gained(steps);
            // Any contract may keep entries that look like balances: those count that are an asset's.
            let assets: BTreeSet<Token> = tokens.known.values().chain(said_of_holders.keys().map(|(_, token)| token)).copied().collect();
            gained.retain(|(_, token), _| assets.contains(token));
            total.retain(|token, _| assets.contains(token));
            *total.entry(native).or_default() -= inflated(transaction.results().get(index));
            if ledger.protocol < LUMENS_KEPT_SINCE {
                total.remove(&native);
            }
            assert_eq!(without_zeros(said_of_holders), without_zeros(gained), "holders in operation {id}: {rows:#?}");
            assert_eq!(without_zeros(said_of_tokens), without_zeros(total), "assets in operation {id}: {rows:#?}");
        }
        the_fee_is_what_the_payer_lost(&mut tokens, transaction, groups.get(&(row.to_id, 0)).map_or(&[], Vec::as_slice));
    }
}

fn the_fee_is_what_the_payer_lost(tokens: &mut Tokens, transaction: &Applied, rows: &[&Change]) {
    assert!(rows.len() <= 1, "{rows:?}");
    let mut lost = Sums::new();
    for steps in [&transaction.fee, &transaction.after, &transaction.refund] {
        for (holder, gained) in tokens.gained(steps).0 {
            *lost.entry(holder).or_default() += gained;
        }
    }
    assert_eq!(without_zeros(said(rows.iter().copied()).0), without_zeros(lost), "{:?}", transaction.result);
    assert!(rows.iter().all(|row| row.account == address(&transaction.payer())));
}

/// Over the whole ledger lumens are lost to the fees that the rows say were charged, and gained by inflation; and the rows of balances
/// gain as much as the rows of state changes say.
pub(super) fn lumens_are_lost_to_fees_alone(passphrase: &str, ledger: &Ledger, seen: &Seen) {
    let mut tokens = Tokens::of(passphrase);
    let native = tokens.token(&Asset::Native);
    let mut gained = 0;
    for transaction in &ledger.transactions {
        for steps in transaction.operations.iter().chain([&transaction.fee, &transaction.after, &transaction.refund]) {
            gained += tokens.gained(steps).1.get(&native).copied().unwrap_or_default();
        }
    }
    let successful = ledger.transactions.iter().filter(|t| t.successful());
    let made: i128 = successful.flat_map(|t| t.results()).map(|result| inflated(Some(result))).sum();
    let charged: i128 = seen.transactions.iter().map(|row| i128::from(row.fee_charged)).sum();
    assert!(ledger.protocol < LUMENS_KEPT_SINCE || gained == made - charged, "lumens of the ledger: {gained}, {made}, {charged}");

    let mut first: BTreeMap<AddressBytes, i128> = BTreeMap::new();
    for step in in_order(ledger) {
        if let Some(LedgerEntryData::Account(account)) = step.before.as_ref().or(step.after.as_ref()).map(|entry| &entry.data) {
            let before = if step.before.is_some() { account.balance.into() } else { 0 };
            first.entry(AddressBytes::account(&key::to_bytes(&account.account_id))).or_insert(before);
        }
    }
    let said = said(seen.changes.iter()).0;
    let mut rows: BTreeMap<AddressBytes, i128> = BTreeMap::new();
    for row in &seen.native {
        let now = if row.op == EntryOp::Remove { 0 } else { row.balance.into() };
        rows.insert(row.account_id, now - first[&row.account_id]);
    }
    let of_lumens = said.into_iter().filter(|((_, token), _)| *token == native).map(|((account, _), sum)| (account, sum));
    let of_accounts: Sums<AddressBytes> = of_lumens.filter(|(account, _)| first.contains_key(account)).collect();
    assert_eq!(without_zeros(rows), without_zeros(of_accounts), "rows of native balances and of state changes");
}

/// All steps of a ledger as they happened.
pub(super) fn in_order(ledger: &Ledger) -> impl Iterator<Item = &Step> {
    let fees = ledger.transactions.iter().flat_map(|t| &t.fee);
    let operations = ledger.transactions.iter().flat_map(|t| t.operations.iter().flatten().chain(&t.after));
    fees.chain(operations).chain(ledger.transactions.iter().flat_map(|t| &t.refund))
}
