//! Authorization by asset contracts (CAP-46-6): `BALANCE_AUTHORIZATION` state changes, from the `set_authorized` events of host function
//! operations, in the order of the events.
//!
//! An event only says what is wanted; what was before stands in the operation's changes: in the balance entry of a holder that is a contract,
//! in the trustline of one that is an account. All events of an operation are judged by the state before it. An event counts if it is
//! the asset's own contract that speaks, the holder's entry changed, and the shapes are right; others are another contract's affair and
//! give nothing (docs/rows.md, authorization by asset contracts). Fails where the changes fail.

use starmill_ledger::changes::Change;
use starmill_ledger::rows::{Category, CreditAsset, Reason, Rows, StateChangeIds, StateChangeRow, Stream, flags};
use starmill_ledger::{AddressBytes, LedgerError, OperationView};
use starmill_xdr::{
    ContractEvent, ContractEventBody, ContractEventType, ContractId, LedgerEntryData, ScAddress, ScVal, TransactionMeta, TrustLineEntry,
};

use crate::Out;
use crate::asset_text::AssetText;
use crate::contract_values::{balance_holder, map};
use crate::memo::Contracts;

/// Flag of a trustline that may be used (`AUTHORIZED_FLAG`).
const LINE_AUTHORIZED: u32 = 1;
/// Flag of a trustline that may only keep its offers (`AUTHORIZED_TO_MAINTAIN_LIABILITIES_FLAG`).
const LINE_MAINTAINS: u32 = 2;

/// Writes the authorizations of an operation.
pub fn emit<R: Rows>(view: &OperationView<'_, '_>, out: &mut Out<'_, R>) -> Result<(), LedgerError> {
    let mut ids = StateChangeIds::new(Stream::SacAuthorizations);
    for event in view.contract_events() {
        if let Some(instruction) = Instruction::of(view, &event.value, out.contracts) {
            let transitions = instruction.transitions(view.changes()?);
            for (reason, flags) in transitions.into_iter().flatten() {
                let row = StateChangeRow { flags, ..row(view, ids.next(), reason, &instruction) };
                out.state_change(&row);
            }
        }
    }
    Ok(())
}

fn row(view: &OperationView<'_, '_>, id: i64, reason: Reason, instruction: &Instruction<'_>) -> StateChangeRow<'static> {
    StateChangeRow {
        token_id: Some(AddressBytes::contract(instruction.contract)),
        ..StateChangeRow::new(view.place(), id, Category::BalanceAuthorization, reason, AddressBytes::sc_address(instruction.holder))
    }
}

/// What happened, and which flag.
type Transition = Option<(Reason, Option<i16>)>;

/// What an asset contract was told.
struct Instruction<'a> {
    contract: ContractId<'a>,
    /// The contract's asset; `None` is native, which nobody has a trustline for.
    asset: Option<CreditAsset>,
    holder: &'a ScAddress<'a>,
    authorize: bool,
}

impl<'a> Instruction<'a> {
    fn of(view: &OperationView<'_, 'a>, event: &ContractEvent<'a>, contracts: &mut Contracts) -> Option<Self> {
        if event.type_ != ContractEventType::Contract {
            return None;
        }
        let contract = event.contract_id?;
        let ContractEventBody::V0(body) = event.body;
        let [ScVal::Symbol(b"set_authorized"), topics @ ..] = body.topics else { return None };
        // CAP-67 leaves out the administrator, and comes with meta V4.
        let ((TransactionMeta::V3(_), [_, holder, asset]) | (TransactionMeta::V4(_), [holder, asset])) = (view.transaction.meta, topics)
        else {
            return None;
        };
        let (ScVal::Address(holder), ScVal::String(text), ScVal::Bool(authorize)) = (holder, asset, body.data) else { return None };
        let asset = AssetText::first_of_list(text)?;
        (contracts.of(view.transaction.network, &asset.id()) == AddressBytes::contract(contract)).then_some(Self {
            contract,
            asset: asset.credit(),
            holder,
            authorize,
        })
    }

    /// Up to two steps from what was to what is wanted.
    fn transitions(&self, changes: &[Change<'_>]) -> [Transition; 2] {
        match self.holder {
            ScAddress::Contract(holder) => [self.of_contract(holder, changes), None],
            _ => self.of_account(changes),
        }
    }

    fn of_contract(&self, holder: ContractId<'_>, changes: &[Change<'_>]) -> Transition {
        let change = changes.iter().find(|change| match change.entry().data {
            LedgerEntryData::ContractData(data) => {
                matches!(data.contract, ScAddress::Contract(contract) if contract == self.contract)
                    && matches!(balance_holder(&data.key), Some(ScAddress::Contract(of)) if *of == holder)
            }
            _ => false,
        })?;
        let was = match change.pre.map(|entry| &entry.data) {
            None => false,
            Some(LedgerEntryData::ContractData(data)) => authorized_in(&data.val)?,
            Some(_) => return None,
        };
        match (was, self.authorize) {
            (false, true) => Some((Reason::Set, None)),
            (true, false) => Some((Reason::Clear, None)),
            _ => None,
        }
    }

    fn of_account(&self, changes: &[Change<'_>]) -> [Transition; 2] {
        let Some(before) = self.line_before(changes) else { return [None, None] };
        let (authorized, maintains) = (before & LINE_AUTHORIZED != 0, before & LINE_MAINTAINS != 0);
        let (authorized_flag, maintains_flag) = (Some(flags::AUTHORIZED), Some(flags::AUTHORIZED_TO_MAINTAIN_LIABILITIES));
        if self.authorize {
            [(!authorized).then_some((Reason::Set, authorized_flag)), maintains.then_some((Reason::Clear, maintains_flag))]
        } else {
            [authorized.then_some((Reason::Clear, authorized_flag)), (!maintains).then_some((Reason::Set, maintains_flag))]
        }
    }

    /// Flags of the holder's trustline before the operation, none for a new one; `None` if it did not change.
    fn line_before(&self, changes: &[Change<'_>]) -> Option<u32> {
        let (ScAddress::Account(holder), Some(asset)) = (self.holder, self.asset) else { return None };
        let is_the_line = |line: &TrustLineEntry<'_>| line.account_id == **holder && CreditAsset::of_trustline(&line.asset) == Some(asset);
        let change = changes.iter().find(|change| matches!(change.entry().data, LedgerEntryData::Trustline(line) if is_the_line(line)))?;
        match change.pre.map(|entry| &entry.data) {
            None => Some(0),
            Some(LedgerEntryData::Trustline(line)) => Some(line.flags),
            Some(_) => None,
        }
    }
}

/// Whether a balance entry's value says that the holder is authorized.
fn authorized_in(balance: &ScVal<'_>) -> Option<bool> {
    let fields = map(balance).filter(|fields| fields.len() == 3)?;
    match fields.iter().find(|field| matches!(field.key, ScVal::Symbol(b"authorized")))?.val {
        ScVal::Bool(authorized) => Some(authorized),
        _ => None,
    }
}
