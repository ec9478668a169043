//! Rows of hand-shaped ledgers: what each rule of docs/rows.md says, one test a rule.

mod contract_deploys;
mod effects;
mod entries;
mod entry_support;
mod native_balances;
mod participants;
mod pinned;
mod rows;
mod sac_authorizations;
mod sep41;
mod sep41_events;
mod support;
mod token_transfers;
mod wasm_spec;

use {foldhash as _, stellar_strkey as _, thiserror as _, wasmparser as _};
