//! docs/rows.md, effects.

use starmill_fixtures::{
    LUMEN, asset, entry, hash, key, op,
    stellar_xdr::{
        AccountEntry, AccountId, AllowTrustOp, Asset, AssetCode, AssetCode4, DataEntry, DataEntryExt, DataValue, LedgerEntry,
        LedgerEntryChange, LedgerEntryData, Operation, OperationBody, ScAddress, SetOptionsOp, SetTrustLineFlagsOp, Signer, SignerKey,
        SignerKeyEd25519SignedPayload, String32, String64, StringM, Thresholds, Uint256,
    },
};

use crate::support::{Shape, alice, network, text};

fn of(operation: Operation, changes: Vec<LedgerEntryChange>) -> Vec<String> {
    let mut shape = Shape::new(vec![operation], Vec::new());
    shape.changes = vec![changes];
    let rows = shape.rows().unwrap().state_changes;
    // Effects of an operation stand together; other streams number from 1 again.
    rows.into_iter().filter(|row| !row.contains(" BALANCE ") && !row.contains(" ACCOUNT ")).collect()
}

fn bob() -> AccountId {
    key::account("bob")
}

fn account(change: impl FnOnce(&mut AccountEntry)) -> LedgerEntry {
    let mut account = entry::account(alice(), 9, 1);
    account.thresholds = Thresholds([1, 0, 0, 0]);
    change(&mut account);
    entry::entry(7, LedgerEntryData::Account(account))
}

fn updated(before: LedgerEntry, after: LedgerEntry) -> Vec<LedgerEntryChange> {
    vec![LedgerEntryChange::State(before), LedgerEntryChange::Updated(after)]
}

fn domain(text: &str) -> String32 {
    String32(text.parse::<StringM<32>>().unwrap())
}

#[test]
fn a_new_account_signs_for_itself() {
    let rows = of(op::create_account(bob(), LUMEN), Vec::new());
    let bob = text(&bob());
    assert_eq!(rows, [format!("1 SIGNER ADD {bob} signer={bob} weight_new=1")]);
}

#[test]
fn a_failed_transaction_has_no_effects() {
    let rows = Shape::failed(vec![op::create_account(bob(), LUMEN)], Vec::new()).rows().unwrap().state_changes;
    assert!(rows.iter().all(|row| !row.contains("SIGNER")), "{rows:?}");
}

#[test]
fn options_in_their_order() {
    let signer = Signer { key: SignerKey::Ed25519(Uint256([5; 32])), weight: 2 };
    let options = SetOptionsOp {
        home_domain: Some(domain("new.example")),
        low_threshold: Some(1),
        med_threshold: Some(2),
        high_threshold: Some(3),
        set_flags: Some(1 | 2),
        clear_flags: Some(2 | 64),
        master_weight: Some(3),
        signer: Some(signer.clone()),
        ..SetOptionsOp::default()
    };
    let before = account(|a| a.home_domain = domain("old.example"));
    let after = account(|a| {
        a.thresholds = Thresholds([3, 1, 2, 3]);
        a.signers = vec![signer].try_into().unwrap();
    });
    let rows = of(op::set_options(options), updated(before, after));
    let (alice, added) = (text(&alice()), text(&key::from_bytes([5; 32])));
    assert_eq!(
        rows,
        [
            format!("1 HOME_DOMAIN UPDATE {alice} key_value=old.example>new.example"),
            format!("2 SIGNATURE_THRESHOLD UPDATE {alice} threshold=LOW old=0 new=1"),
            format!("3 SIGNATURE_THRESHOLD UPDATE {alice} threshold=MEDIUM old=0 new=2"),
            format!("4 SIGNATURE_THRESHOLD UPDATE {alice} threshold=HIGH old=0 new=3"),
            format!("5 FLAGS SET {alice} flags=2"),
            format!("6 FLAGS CLEAR {alice} flags=4"),
            format!("7 SIGNER UPDATE {alice} signer={alice} weight_old=1 weight_new=3"),
            format!("8 SIGNER ADD {alice} signer={added} weight_new=2"),
        ]
    );
}

#[test]
fn home_domain_transitions() {
    let with = |old: &str, new: &str| {
        let options = SetOptionsOp { home_domain: Some(domain(new)), ..SetOptionsOp::default() };
        let before = account(|a| a.home_domain = domain(old));
        of(op::set_options(options), updated(before.clone(), before))
    };
    let row = |reason: &str, sides: &str| [format!("1 HOME_DOMAIN {reason} {} key_value={sides}", text(&alice()))];
    assert_eq!(with("", "n"), row("SET", "->n"));
    assert_eq!(with("o", ""), row("CLEAR", "o>-"));
    assert_eq!(with("o", "n"), row("UPDATE", "o>n"));
    assert!(with("same", "same").is_empty() && with("", "").is_empty());
}

#[test]
fn a_threshold_that_stays_is_written_and_one_without_a_before_is_not() {
    let options = || SetOptionsOp { med_threshold: Some(0), ..SetOptionsOp::default() };
    let same = account(|_| {});
    let rows = of(op::set_options(options()), updated(same.clone(), same));
    assert_eq!(rows, [format!("1 SIGNATURE_THRESHOLD UPDATE {} threshold=MEDIUM old=0 new=0", text(&alice()))]);
    assert!(of(op::set_options(options()), Vec::new()).is_empty());
}

#[test]
fn the_master_key_is_a_signer_while_it_has_weight() {
    let with = |old, new| {
        let (before, after) = (account(|a| a.thresholds.0[0] = old), account(|a| a.thresholds.0[0] = new));
        of(op::set_options(SetOptionsOp::default()), updated(before, after))
    };
    let alice = text(&alice());
    assert_eq!(with(2, 0), [format!("1 SIGNER REMOVE {alice} signer={alice} weight_old=2")]);
    assert_eq!(with(0, 2), [format!("1 SIGNER ADD {alice} signer={alice} weight_new=2")]);
    assert!(with(2, 2).is_empty());
}

#[test]
fn a_signed_payload_keeps_its_whole_text() {
    let payload = SignerKeyEd25519SignedPayload { ed25519: Uint256([5; 32]), payload: vec![1, 2, 3, 4].try_into().unwrap() };
    let signer = Signer { key: SignerKey::Ed25519SignedPayload(payload), weight: 1 };
    let after = account(|a| a.signers = vec![signer].try_into().unwrap());
    let rows = of(op::set_options(SetOptionsOp::default()), updated(account(|_| {}), after));
    let signer = rows[0].split(" key_value=").nth(1).unwrap();
    assert!(signer.starts_with('P') && rows[0].contains(&format!(" signer={signer} ")), "{rows:?}");
}

#[test]
fn options_that_create_an_account_fail_the_ledger() {
    let mut shape = Shape::new(vec![op::set_options(SetOptionsOp::default())], Vec::new());
    shape.changes = vec![vec![LedgerEntryChange::Created(account(|_| {}))]];
    let error = shape.rows().unwrap_err();
    assert_eq!((error.code(), error.operation), ("inconsistent-meta", Some(0)));
}

fn usd() -> Asset {
    asset::credit("USD", &bob()).unwrap()
}

fn usd_token() -> String {
    ScAddress::Contract(hash::asset_contract_id(&network(), &usd()).unwrap()).to_string()
}

fn line(limit: i64, flags: u32) -> LedgerEntry {
    let mut line = entry::trust_line(alice(), &usd(), limit);
    line.flags = flags;
    entry::entry(7, LedgerEntryData::Trustline(line))
}

#[test]
fn a_trustline_from_beginning_to_end() {
    let (alice, token) = (text(&alice()), usd_token());
    let added = of(op::change_trust(&usd(), 500), vec![LedgerEntryChange::Created(line(500, 1 | 4))]);
    assert_eq!(
        added,
        [
            format!("1 TRUSTLINE ADD {alice} token={token} limit_new=500"),
            format!("2 BALANCE_AUTHORIZATION SET {alice} token={token} limit_new=500 flags=33"),
        ]
    );
    let changed = of(op::change_trust(&usd(), 900), updated(line(500, 1), line(900, 1)));
    assert_eq!(changed, [format!("1 TRUSTLINE UPDATE {alice} token={token} limit_old=500 limit_new=900")]);
    let key = entry::trust_line_key(&crate::support::alice(), &usd());
    let removed = of(op::change_trust(&usd(), 0), vec![LedgerEntryChange::State(line(900, 1)), LedgerEntryChange::Removed(key)]);
    assert_eq!(removed, [format!("1 TRUSTLINE REMOVE {alice} token={token}")]);
    assert!(of(op::change_trust(&usd(), 500), Vec::new()).is_empty());
}

#[test]
fn an_unauthorized_new_trustline_has_no_flags() {
    let rows = of(op::change_trust(&usd(), 500), vec![LedgerEntryChange::Created(line(500, 0))]);
    assert!(rows[1].ends_with("limit_new=500"), "{rows:?}");
}

#[test]
fn authorization_goes_to_the_trustor() {
    let with = |authorize| {
        let body = OperationBody::AllowTrust(AllowTrustOp {
            trustor: alice(),
            asset: AssetCode::CreditAlphanum4(AssetCode4(*b"USD\0")),
            authorize,
        });
        of(op::from(key::plain(&bob()), op::body(body)), Vec::new())
    };
    let row = |what: &str, flags: i16| {
        let (reason, rest) = (what, format!("{} token={} flags={flags}", text(&alice()), usd_token()));
        [format!("1 BALANCE_AUTHORIZATION {reason} {rest}")]
    };
    assert_eq!(with(1), row("SET", 1));
    assert_eq!(with(2), row("SET", 64));
    assert_eq!(with(0), row("CLEAR", 65));
}

#[test]
fn flags_set_then_cleared() {
    let with = |set_flags, clear_flags| {
        let body = OperationBody::SetTrustLineFlags(SetTrustLineFlagsOp { trustor: alice(), asset: usd(), clear_flags, set_flags });
        of(op::body(body), Vec::new())
    };
    let row = |n: u8, reason: &str, flags: u8| {
        format!("{n} BALANCE_AUTHORIZATION {reason} {} token={} flags={flags}", text(&alice()), usd_token())
    };
    assert_eq!(with(2, 1 | 4), [row(1, "SET", 64), row(2, "CLEAR", 33)]);
    assert_eq!(with(1, 1), [row(1, "CLEAR", 1)]);
    assert!(with(0, 0).is_empty());
}

fn data(value: &str) -> LedgerEntry {
    let entry = DataEntry {
        account_id: alice(),
        data_name: String64("name".parse::<StringM<64>>().unwrap()),
        data_value: DataValue(value.as_bytes().to_vec().try_into().unwrap()),
        ext: DataEntryExt::V0,
    };
    entry::entry(7, LedgerEntryData::Data(entry))
}

#[test]
fn a_data_entry_from_beginning_to_end() {
    let manage = |value: Option<&str>| op::manage_data("name", value.map(|v| v.as_bytes().to_vec())).unwrap();
    let row = |reason: &str, sides: &str| [format!("1 DATA_ENTRY {reason} {} name=name key_value={sides}", text(&alice()))];
    assert_eq!(of(manage(Some("a")), vec![LedgerEntryChange::Created(data("a"))]), row("ADD", "->a"));
    assert_eq!(of(manage(Some("b")), updated(data("a"), data("b"))), row("UPDATE", "a>b"));
    let key = entry::data_key(&alice(), &String64("name".parse::<StringM<64>>().unwrap()));
    assert_eq!(of(manage(None), vec![LedgerEntryChange::State(data("")), LedgerEntryChange::Removed(key)]), row("REMOVE", ">-"));
}
