//! What was met in a ledger, as short texts: operation types, muxed accounts, sponsored entries, shapes of changes, rows.

use std::collections::{BTreeMap, BTreeSet};

use stellar_xdr::{
    HostFunction, LedgerEntryData, LedgerEntryExt, LedgerKey, MuxedAccount, Operation, OperationBody, RevokeSponsorshipOp,
    TransactionEnvelope,
};

use super::{read::Ledger, seen::Seen, steps::Step};

pub(super) type Facts = BTreeSet<String>;

/// Adds what this ledger shows.
pub(super) fn gather(ledger: &Ledger, seen: &Seen, facts: &mut Facts) {
    for change in &seen.changes {
        facts.insert(format!("row {} {}", change.category.name(), change.reason.name()));
    }
    for operation in seen.operations.iter().filter(|operation| operation.successful) {
        facts.insert(format!("success {}", operation.kind));
    }
    let mut of_ledger: BTreeMap<&LedgerKey, String> = BTreeMap::new();
    for transaction in &ledger.transactions {
        envelope(&transaction.envelope, facts);
        transaction.ops().iter().for_each(|operation| of_operation(operation, facts));
        let mut of_transaction: BTreeMap<&LedgerKey, String> = BTreeMap::new();
        for steps in &transaction.operations {
            let mut of_operation: BTreeMap<&LedgerKey, String> = BTreeMap::new();
            for step in steps {
                sponsored(step, facts);
                for shapes in [&mut of_operation, &mut of_transaction, &mut of_ledger] {
                    shapes.entry(&step.key).or_default().push(letter(step));
                }
            }
            shapes("operation", &of_operation, facts);
        }
        shapes("transaction", &of_transaction, facts);
    }
    shapes("ledger", &of_ledger, facts);
    tables(seen, facts);
}

fn letter(step: &Step) -> char {
    match (&step.before, &step.after) {
        _ if step.restored => 'A',
        (None, _) => 'C',
        (_, None) => 'R',
        _ => 'U',
    }
}

/// Created, updated, removed, restored (A): the runs that one key went through.
fn shapes(within: &str, shapes: &BTreeMap<&LedgerKey, String>, facts: &mut Facts) {
    for (key, shape) in shapes {
        for run in ["CR", "RC", "CRC", "RCR", "UU", "AU", "AR", "AUR", "CUR"].iter().filter(|run| shape.contains(**run)) {
            facts.insert(format!("{run} in one {within}"));
        }
        facts.insert(format!("changed {}", key.name()));
    }
}

fn envelope(envelope: &TransactionEnvelope, facts: &mut Facts) {
    facts.insert(format!("envelope {}", envelope.name()));
    match envelope {
        TransactionEnvelope::TxV0(_) => {}
        TransactionEnvelope::Tx(v1) => muxed("transaction source", &v1.tx.source_account, facts),
        TransactionEnvelope::TxFeeBump(bump) => muxed("fee source", &bump.tx.fee_source, facts),
    }
}

fn muxed(place: &str, account: &MuxedAccount, facts: &mut Facts) {
    if matches!(account, MuxedAccount::MuxedEd25519(_)) {
        facts.insert(format!("muxed {place}"));
    }
}

fn of_operation(operation: &Operation, facts: &mut Facts) {
    operation.source_account.iter().for_each(|source| muxed("operation source", source, facts));
    match &operation.body {
        OperationBody::Payment(op) => muxed("PAYMENT", &op.destination, facts),
        OperationBody::PathPaymentStrictSend(op) => muxed("STRICT_SEND", &op.destination, facts),
        OperationBody::PathPaymentStrictReceive(op) => muxed("STRICT_RECEIVE", &op.destination, facts),
        OperationBody::AccountMerge(destination) => muxed("MERGE", destination, facts),
        OperationBody::Clawback(op) => muxed("CLAWBACK", &op.from, facts),
        OperationBody::InvokeHostFunction(op) => {
            let name = match &op.host_function {
                HostFunction::InvokeContract(_) => "call",
                HostFunction::CreateContract(_) => "create",
                HostFunction::CreateContractV2(_) => "create v2",
                HostFunction::UploadContractWasm(_) => "upload",
            };
            facts.insert(format!("host function {name}"));
        }
        OperationBody::RevokeSponsorship(RevokeSponsorshipOp::LedgerEntry(key)) => {
            facts.insert(format!("revoked {}", key.name()));
        }
        OperationBody::RevokeSponsorship(RevokeSponsorshipOp::Signer(_)) => {
            facts.insert("revoked Signer".to_owned());
        }
        _ => {}
    }
}

fn sponsored(step: &Step, facts: &mut Facts) {
    let Some(entry) = &step.after else { return };
    if matches!(&entry.ext, LedgerEntryExt::V1(v1) if v1.sponsoring_id.0.is_some()) {
        facts.insert(format!("sponsored {}", entry.data.name()));
    }
    if let LedgerEntryData::Account(account) = &entry.data {
        let v2 = starmill_fixtures::entry::AccountExtras::of(account).sponsorship;
        if v2.is_some_and(|v2| v2.signer_sponsoring_i_ds.iter().any(|slot| slot.0.is_some())) {
            facts.insert("sponsored Signer".to_owned());
        }
    }
}

fn tables(seen: &Seen, facts: &mut Facts) {
    let mut add = |table: &str, op: starmill_ledger::rows::EntryOp| {
        facts.insert(format!("{table} {op:?}"));
    };
    seen.native.iter().for_each(|row| add("native", row.op));
    seen.lines.iter().for_each(|row| add("lines", row.op));
    seen.sac.iter().for_each(|row| add("sac", row.op));
    seen.pools.iter().for_each(|row| add("pools", row.op));
    seen.shares.iter().for_each(|row| add("shares", row.op));
}
