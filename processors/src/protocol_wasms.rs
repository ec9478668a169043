//! Contract code: a `protocol_wasms` row for code that an operation uploaded, changed or restored, once a ledger. Removal gives no row.
//! Whether the code is a SEP-41 token is read from the code itself (docs/rows.md, contract code, SEP-41 tokens).

use starmill_ledger::CurrentState;
use starmill_ledger::rows::ProtocolWasmRow;
use starmill_xdr::ContractCodeEntry;

use crate::wasm_spec;

/// Collects code that is there after a change.
pub(crate) fn emit(code: &ContractCodeEntry<'_>, state: &mut CurrentState) {
    // XDR counts bytes in 32 bits.
    let bytecode_len = u32::try_from(code.code.len()).unwrap_or(u32::MAX);
    state.protocol_wasm(ProtocolWasmRow { wasm_hash: *code.hash, bytecode_len, is_sep41: wasm_spec::is_sep41(code.code) });
}
