//! Single transactions with the effects that tx-meta-effects-parser expects of them.
//!
//! Each case is at hand as a ledger of one transaction, too, which is what starmill reads. Those ledgers were made around the case, with a
//! header and a network of their own; where that matters they are given the case's own network and protocol first.

use std::collections::BTreeMap;
use std::path::Path;

use serde_json::Value;
use starmill_fixtures::hash::{network_id, transaction_hash};
use starmill_sources::{FileLedgers, Options};
use stellar_xdr::{LedgerCloseMeta, Limits, ReadXdr, TransactionEnvelope, WriteXdr};

use crate::facts::{Balances, Comparison, Facts, about, kind};
use crate::ours;
use crate::values::{FUTURENET, PUBNET, TESTNET, Tokens, account, bytes, decimal, pool, text, whole};

/// Cases without an answer, and without a ledger.
const NOT_COMPARED: [&str; 2] = ["sac-map/custom-token-transfer-no-sac-map", "soroban/ephemeral-transaction"];

/// Cases that do not name their network, and whose contracts have ids of another than the public one.
const NETWORKS: [(&str, &str); 3] = [
    ("soroban/contract-deployed-with-constructor", TESTNET),
    ("soroban/deployer-contract-created", FUTURENET),
    ("soroban/sac-contract-deployed", FUTURENET),
];

/// Transactions that used a bug of accounts that were merged, fixed with protocol 8.
const BEFORE_PROTOCOL_8: [&str; 2] =
    ["classic-ops/account-merge+merge-bug-exploit", "classic-ops/account-payment+merge+create+payment-bug-exploit"];

/// Compares every case.
pub fn compare(fixtures: &Path) -> Comparison {
    let folder = fixtures.join("tx-meta-effects-parser");
    let mut names: Vec<String> = Vec::new();
    for suite in ["classic-ops", "sac-map", "soroban", "soroban-errors", "tx-effects"] {
        let files = std::fs::read_dir(folder.join(suite)).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap());
        names.extend(files.map(|file| format!("{suite}/{}", file.strip_suffix(".json").unwrap())));
    }
    names.sort();
    let mut comparison = Comparison::default();
    for name in &names {
        let ledger = folder.join("lcm").join(format!("{name}.xdr.zst"));
        let case: Value = serde_json::from_slice(&std::fs::read(folder.join(format!("{name}.json"))).unwrap()).unwrap();
        let compared = ledger.is_file() && case["expected"].is_array();
        assert_eq!(!compared, NOT_COMPARED.contains(&name.as_str()), "{name}");
        if !compared {
            println!("skipped {name}: it has no answer or no ledger");
            continue;
        }
        let known = NETWORKS.iter().find(|(case, _)| case == name).map(|(_, network)| *network);
        let network = match (known, case["network"].as_str()) {
            (Some(known), None) => known,
            (None, None | Some("public")) => PUBNET,
            (None, Some("testnet")) => TESTNET,
            (_, Some(passphrase)) => passphrase,
        };
        let protocol = BEFORE_PROTOCOL_8.contains(&name.as_str()).then_some(7);
        let frame = FileLedgers::open(ledger.to_str().unwrap(), Options::default()).unwrap().next().unwrap().unwrap();
        let rows = ours::rows(name, network, [adjusted(&frame.bytes, &bytes(&case["tx"]), network, protocol)]);
        let outside = name.starts_with("tx-effects/");
        let theirs = theirs(&case["expected"], outside, &rows, network);
        let mut ours = ours::facts(&rows);
        say_what_is(&rows, &Tokens::of(network), &mut ours);
        ours.retain(|fact| spoken_of(fact, outside, &theirs));
        comparison.case(name, &theirs, &ours);
    }
    comparison
}

/// The ledger with the transaction's hash of this network, and this protocol in its header.
fn adjusted(ledger: &[u8], envelope: &[u8], network: &str, protocol: Option<u32>) -> Vec<u8> {
    let envelope = TransactionEnvelope::from_xdr(envelope, Limits::none()).unwrap();
    let hash = transaction_hash(&network_id(network), &envelope).unwrap();
    let mut meta = LedgerCloseMeta::from_xdr(ledger, Limits::none()).unwrap();
    let header = match &mut meta {
        LedgerCloseMeta::V1(v) => {
            let mut only = v.tx_processing.to_vec();
            only[0].result.transaction_hash = hash;
            v.tx_processing = only.try_into().unwrap();
            &mut v.ledger_header
        }
        LedgerCloseMeta::V2(v) => {
            let mut only = v.tx_processing.to_vec();
            only[0].result.transaction_hash = hash;
            v.tx_processing = only.try_into().unwrap();
            &mut v.ledger_header
        }
        LedgerCloseMeta::V0(_) => panic!("no case has one"),
    };
    if let Some(protocol) = protocol {
        header.header.ledger_version = protocol;
    }
    meta.to_xdr(Limits::none()).unwrap()
}

/// What the parser has effects for: not transactions and operations themselves, of participants and of what is afterwards only those that it
/// mentions. The cases on what happens outside of operations say nothing of operations.
fn spoken_of(fact: &str, outside: bool, theirs: &Facts) -> bool {
    match kind(fact) {
        "fee" => outside,
        "ledger" | "ledger-succeeded" | "ledger-all" | "tx" | "tx-operations" | "tx-ok" | "tx-fee" | "tx-result" | "op" | "op-result"
        | "move" | "tx-participant" => false,
        _ if outside => false,
        "op-participant" => theirs.has(fact),
        "after" => theirs.has_about(&about(fact, 3)),
        _ => true,
    }
}

/// What holders and pools have at the end of the ledger, and which contracts and code there are.
fn say_what_is(rows: &[Value], tokens: &Tokens, facts: &mut Facts) {
    for row in rows {
        let value = |column: &str| text(&row[column]);
        let removed = row["op"] == "REMOVE";
        let number = |column: &str| if removed { 0 } else { whole(&row[column]) };
        match value("t") {
            "native_balances" => {
                facts.say(format!("after {} {} {}", value("account_id"), tokens.native(), number("balance")));
            }
            "trustline_balances" => {
                let (code, issuer) = value("asset").split_once(':').unwrap();
                facts.say(format!("after {} {} {}", value("account_id"), tokens.credit(code, issuer), number("balance")));
            }
            "sac_balances" => {
                let digits = value("balance").replace('.', "");
                facts.say(format!("after {} {} {}", value("account_id"), value("contract_id"), digits.parse::<i128>().unwrap()));
            }
            "liquidity_pool_balances" => {
                facts.say(format!("after {} {} {}", value("account_id"), value("pool_id"), number("shares")));
            }
            "liquidity_pools" => {
                let reserves = if removed { "removed".to_owned() } else { format!("{} {}", number("reserve_a"), number("reserve_b")) };
                facts.say(format!("after pool {} {reserves}", value("pool_id")));
            }
            "contract_tokens" => facts.say(format!("asset-contract {} {}", value("contract_id"), value("name"))),
            "protocol_wasms" => facts.say(format!("code {}", value("wasm_hash"))),
            "contract_events" => {
                let operation = ours::table(rows, "operations").nth(whole(&row["op_index"]) as usize).unwrap();
                facts.say(format!("events {} {}", whole(&operation["id"]), whole(&row["count"])));
            }
            _ => {}
        }
    }
}

/// What was said last of a holder's balance or a pool.
type Last = BTreeMap<String, String>;

fn theirs(expected: &Value, outside: bool, rows: &[Value], network: &str) -> Facts {
    let (mut facts, mut balances, mut last) = (Facts::default(), Balances::default(), Last::new());
    let (tokens, mut operations) = (Tokens::of(network), ours::table(rows, "operations").map(|row| (whole(&row["id"]) as i64, row)));
    let transaction = ours::table(rows, "transactions").next().unwrap();
    // What happens outside of operations is one list; otherwise each operation has its own.
    let lists = if outside { std::slice::from_ref(expected) } else { expected.as_array().unwrap().as_slice() };
    for effects in lists {
        let mut events = 0;
        let operation = if outside { None } else { operations.next() };
        for effect in effects.as_array().unwrap() {
            let to = Of { effect, operation: operation.map_or(0, |(id, _)| id), tokens: &tokens };
            match text(&effect["type"]) {
                "contractEvent" => events += 1,
                "feeCharged" => {
                    facts.say(format!("fee {} {} {}", whole(&transaction["to_id"]), account(to.text("source")), whole(&effect["charged"])));
                }
                "accountCredited" | "accountDebited" | "assetMinted" | "assetBurned" => to.moved(&mut facts, &mut balances, &mut last),
                type_ if type_.starts_with("liquidityPool") => to.pool(&mut last),
                "trustlineUpdated" if operation.is_none_or(|(_, row)| row["operation_type"] != "CHANGE_TRUST") => to.authorized(&mut facts),
                _ => to.say(&mut facts),
            }
        }
        if events > 0 {
            facts.say(format!("events {} {events}", operation.unwrap().0));
        }
        // One case has an empty list more than operations.
        assert!(outside || operation.is_some() || effects.as_array().unwrap().is_empty());
    }
    balances.say(&mut facts);
    for (about, what) in last {
        facts.say(format!("after {about} {what}"));
    }
    facts
}

/// An effect, of an operation.
struct Of<'a> {
    effect: &'a Value,
    operation: i64,
    tokens: &'a Tokens,
}

impl Of<'_> {
    fn text(&self, column: &str) -> &str {
        text(&self.effect[column])
    }

    /// The contract of the effect's asset, or the pool of a share, and the issuer of a classic asset.
    fn token(&self) -> (String, Option<&str>) {
        let asset = self.text("asset");
        if asset == "XLM" {
            return (self.tokens.native(), None);
        }
        let mut parts = asset.split('-');
        match (parts.next().unwrap(), parts.next()) {
            (code, Some(issuer)) => (self.tokens.credit(code, issuer), Some(issuer)),
            (address, None) => (pool(address).unwrap_or_else(|| address.to_owned()), None),
        }
    }

    /// Minted and burned count for the issuer. Neither a contract token's nor a pool share's has one: there the holder's effect says it all.
    fn moved(&self, facts: &mut Facts, balances: &mut Balances, last: &mut Last) {
        let (token, issuer) = self.token();
        let amount = whole(&self.effect["amount"]);
        let (who, amount) = match self.text("type") {
            "accountCredited" => (Some(self.text("source")), amount),
            "accountDebited" => (Some(self.text("source")), -amount),
            "assetMinted" => (issuer, -amount),
            _ => (issuer, amount),
        };
        if let Some(who) = who {
            // Who holds a contract's token takes no part by that.
            if issuer.is_some() || self.text("asset") == "XLM" {
                facts.say_once(format!("op-participant {} {}", self.operation, account(who)));
            }
            // Of pool shares starmill knows what is held, not what moves.
            if pool(self.text("asset")).is_none() {
                balances.add(self.operation, &account(who), &token, amount);
            }
            if let Some(balance) = self.effect["balance"].as_str() {
                last.insert(format!("{} {token}", account(who)), balance.to_owned());
            }
        }
    }

    fn pool(&self, last: &mut Last) {
        let about = format!("pool {}", pool(self.text("pool")).unwrap());
        match self.text("type") {
            "liquidityPoolRemoved" => last.insert(about, "removed".to_owned()),
            "liquidityPoolCreated" | "liquidityPoolUpdated" => {
                let reserves: Vec<_> = self.effect["reserves"].as_array().unwrap().iter().map(|r| text(&r["amount"])).collect();
                last.insert(about, reserves.join(" "))
            }
            _ => None,
        };
    }

    /// Says what became of a trustline's authorization. The protocol's flags are 1, 2 and 4.
    fn authorized(&self, facts: &mut Facts) {
        let holder = self.effect["trustor"].as_str().unwrap_or_else(|| self.text("source"));
        let [before, after] = ["prevFlags", "flags"].map(|column| self.effect[column].as_i64().unwrap_or(0));
        for (flag, ours) in [(1, 1), (2, 64), (4, 32)] {
            if (before ^ after) & flag != 0 {
                let reason = if after & flag == 0 { "CLEAR" } else { "SET" };
                facts.say_once(format!("authorization {} {holder} {} {ours} {reason}", self.operation, self.token().0));
            }
        }
    }

    fn say(&self, facts: &mut Facts) {
        let source = account(self.text("source"));
        let to = format!("{} {source}", self.operation);
        let part = |who: &Value| format!("op-participant {} {}", self.operation, text(who));
        match self.text("type") {
            "accountCreated" => facts.say(format!("created {} {}", self.operation, self.text("account"))),
            "accountRemoved" => facts.say(format!("removed {to}")),
            "trustlineCreated" => {
                facts.say(format!("trustline {to} {} ADD {}", self.token().0, decimal(whole(&self.effect["limit"]))));
                self.authorized(facts);
            }
            "trustlineUpdated" => {
                facts.say(format!("trustline {to} {} UPDATE {}", self.token().0, decimal(whole(&self.effect["limit"]))));
            }
            "trustlineRemoved" => facts.say(format!("trustline {to} {} REMOVE -", self.token().0)),
            "trustlineAuthorizationUpdated" => self.authorized(facts),
            "dataEntryCreated" | "dataEntryUpdated" => facts.say(format!("data {to} {} {}", self.text("name"), self.text("value"))),
            "dataEntryRemoved" => facts.say(format!("data {to} {} -", self.text("name"))),
            "accountSignerCreated" | "accountSignerUpdated" | "accountSignerRemoved" => {
                facts.say(format!("signer {to} {} {}", self.text("signer"), whole(&self.effect["weight"])));
            }
            "accountHomeDomainUpdated" => {
                let domain = Some(self.text("domain")).filter(|domain| !domain.is_empty());
                facts.say(format!("domain {to} {}", domain.unwrap_or("-")));
            }
            "accountInflationDestinationUpdated" => {
                facts.say(format!("inflation-destination {to} {}", self.text("inflationDestination")));
            }
            "accountThresholdsUpdated" => {
                for (name, value) in ["low", "medium", "high"].iter().zip(self.effect["thresholds"].as_array().unwrap()) {
                    facts.say(format!("threshold {to} {name} {}", whole(value)));
                }
            }
            "accountFlagsUpdated" => {
                let [before, after] = ["prevFlags", "flags"].map(|column| self.effect[column].as_i64().unwrap());
                // starmill's flags are twice the protocol's.
                for flag in [1, 2, 4, 8].into_iter().filter(|flag| (before ^ after) & flag != 0) {
                    facts.say(format!("flag {to} {} {}", 2 * flag, if after & flag == 0 { "CLEAR" } else { "SET" }));
                }
            }
            "contractCreated" if self.effect["kind"] == "fromAsset" => {
                let asset: Vec<_> = self.text("asset").split('-').take(2).collect();
                facts.say(format!("asset-contract {} {}", self.text("contract"), asset.join(":")));
            }
            "contractCreated" => facts.say(format!("created {} {}", self.operation, self.text("contract"))),
            "contractCodeUploaded" | "contractCodeRestored" => facts.say(format!("code {}", self.text("wasmHash"))),
            "claimableBalanceCreated" => {
                for claimant in self.effect["claimants"].as_array().unwrap() {
                    facts.say_once(part(&claimant["destination"]));
                }
            }
            other if other.ends_with("SponsorshipCreated") || other.ends_with("SponsorshipUpdated") => {
                facts.say_once(part(&self.effect["sponsor"]));
            }
            // Offers, claimable balances, what sponsorship ends, data and lifetimes of contracts, calls: no facts of starmill's.
            other => assert!(
                matches!(
                    other,
                    "trade"
                        | "offerCreated"
                        | "offerUpdated"
                        | "offerRemoved"
                        | "claimableBalanceRemoved"
                        | "contractInvoked"
                        | "contractError"
                        | "contractDataCreated"
                        | "contractDataUpdated"
                        | "contractDataRestored"
                        | "contractUpdated"
                        | "contractRestored"
                        | "setTtl"
                ) || other.ends_with("SponsorshipRemoved"),
                "{other}"
            ),
        }
    }
}
