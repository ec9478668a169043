//! The tables of current state: where their rows are copied to first, and how they come from there into their table.
//!
//! Rows go by COPY into a temporary table, made once per session and emptied by each COMMIT, and from there by one INSERT … ON CONFLICT, and one
//! DELETE if anything is to be removed. Reading a temporary table gives rows as they were copied, so they keep the order of their keys.

use tokio_postgres::{Client, Statement};

use super::super::PostgresError;
use super::super::error::During as _;

/// One table.
#[derive(Clone, Copy, Debug)]
pub(crate) struct StateTable {
    pub(crate) name: &'static str,
    /// Columns of its temporary table, `new_…`, in the order in which rows are encoded.
    columns: &'static str,
    /// Writes the rows.
    pub(crate) upsert: &'static str,
    /// Removes those that are to be removed.
    pub(crate) delete: &'static str,
}

pub(crate) const TRUSTLINE_ASSETS: usize = 0;
pub(crate) const CONTRACT_TOKENS: usize = 1;
pub(crate) const PROTOCOL_WASMS: usize = 2;
pub(crate) const PROTOCOL_CONTRACTS: usize = 3;
pub(crate) const TRUSTLINE_BALANCES: usize = 4;
pub(crate) const NATIVE_BALANCES: usize = 5;
pub(crate) const SAC_BALANCES: usize = 6;
pub(crate) const LIQUIDITY_POOLS: usize = 7;
pub(crate) const LIQUIDITY_POOL_BALANCES: usize = 8;
pub(crate) const SEP41_BALANCES: usize = 9;
pub(crate) const SEP41_ALLOWANCES: usize = 10;
/// Tables before this one are written before history, those from it on after.
pub(crate) const FIRST_BALANCES: usize = TRUSTLINE_BALANCES;

/// The tables, in the order in which they are written: what is referred to first.
pub(crate) const STATE_TABLES: [StateTable; 11] = [
    StateTable {
        name: "trustline_assets",
        columns: "id uuid, code text, issuer text",
        upsert: "INSERT INTO trustline_assets (id, code, issuer) SELECT id, code, issuer FROM new_trustline_assets ON CONFLICT DO NOTHING",
        delete: "",
    },
    StateTable {
        name: "contract_tokens",
        columns: "id uuid, contract_id text, type text, code text, issuer text, name text, symbol text, decimals integer",
        upsert: "INSERT INTO contract_tokens (id, contract_id, type, code, issuer, name, symbol, decimals) \
                 SELECT id, contract_id, type, code, issuer, name, symbol, decimals FROM new_contract_tokens ON CONFLICT DO NOTHING",
        delete: "",
    },
    StateTable {
        name: "protocol_wasms",
        columns: "wasm_hash bytea, is_sep41 boolean",
        upsert: "INSERT INTO protocol_wasms (wasm_hash, protocol_id) \
                 SELECT wasm_hash, CASE WHEN is_sep41 THEN 'SEP41' END FROM new_protocol_wasms ON CONFLICT DO NOTHING",
        delete: "",
    },
    StateTable {
        name: "protocol_contracts",
        columns: "contract_id bytea, wasm_hash bytea",
        upsert: "INSERT INTO protocol_contracts (contract_id, wasm_hash) SELECT contract_id, wasm_hash FROM new_protocol_contracts \
                 ON CONFLICT (contract_id) DO UPDATE SET wasm_hash = excluded.wasm_hash",
        delete: "",
    },
    StateTable {
        name: "trustline_balances",
        columns: "account_id bytea, asset_id uuid, balance bigint, trust_limit bigint, buying_liabilities bigint, selling_liabilities bigint, \
                  flags integer, last_modified_ledger bigint, removed boolean",
        upsert: "INSERT INTO trustline_balances AS b (account_id, asset_id, balance, trust_limit, buying_liabilities, selling_liabilities, flags, \
                 last_modified_ledger) SELECT account_id, asset_id, balance, trust_limit, buying_liabilities, selling_liabilities, flags, \
                 last_modified_ledger FROM new_trustline_balances WHERE NOT removed ON CONFLICT (account_id, asset_id) DO UPDATE SET \
                 balance = excluded.balance, trust_limit = excluded.trust_limit, buying_liabilities = excluded.buying_liabilities, \
                 selling_liabilities = excluded.selling_liabilities, flags = excluded.flags, last_modified_ledger = excluded.last_modified_ledger \
                 WHERE b.last_modified_ledger <= excluded.last_modified_ledger",
        delete: "DELETE FROM trustline_balances b USING new_trustline_balances n WHERE n.removed AND b.account_id = n.account_id \
                 AND b.asset_id = n.asset_id AND b.last_modified_ledger <= n.last_modified_ledger",
    },
    StateTable {
        name: "native_balances",
        columns: "account_id bytea, balance bigint, minimum_balance bigint, buying_liabilities bigint, selling_liabilities bigint, \
                  num_subentries integer, last_modified_ledger bigint, removed boolean",
        upsert: "INSERT INTO native_balances AS b (account_id, balance, minimum_balance, buying_liabilities, selling_liabilities, num_subentries, \
                 last_modified_ledger) SELECT account_id, balance, minimum_balance, buying_liabilities, selling_liabilities, num_subentries, \
                 last_modified_ledger FROM new_native_balances WHERE NOT removed ON CONFLICT (account_id) DO UPDATE SET \
                 balance = excluded.balance, minimum_balance = excluded.minimum_balance, buying_liabilities = excluded.buying_liabilities, \
                 selling_liabilities = excluded.selling_liabilities, num_subentries = excluded.num_subentries, \
                 last_modified_ledger = excluded.last_modified_ledger WHERE b.last_modified_ledger <= excluded.last_modified_ledger",
        delete: "DELETE FROM native_balances b USING new_native_balances n WHERE n.removed AND b.account_id = n.account_id \
                 AND b.last_modified_ledger <= n.last_modified_ledger",
    },
    StateTable {
        name: "sac_balances",
        columns: "account_id bytea, contract_id uuid, balance text, is_authorized boolean, is_clawback_enabled boolean, \
                  last_modified_ledger integer, removed boolean",
        upsert: "INSERT INTO sac_balances AS b (account_id, contract_id, balance, is_authorized, is_clawback_enabled, last_modified_ledger) \
                 SELECT account_id, contract_id, balance::numeric, is_authorized, is_clawback_enabled, last_modified_ledger \
                 FROM new_sac_balances WHERE NOT removed ON CONFLICT (account_id, contract_id) DO UPDATE SET \
                 balance = excluded.balance, is_authorized = excluded.is_authorized, is_clawback_enabled = excluded.is_clawback_enabled, \
                 last_modified_ledger = excluded.last_modified_ledger WHERE b.last_modified_ledger <= excluded.last_modified_ledger",
        delete: "DELETE FROM sac_balances b USING new_sac_balances n WHERE n.removed AND b.account_id = n.account_id \
                 AND b.contract_id = n.contract_id AND b.last_modified_ledger <= n.last_modified_ledger",
    },
    StateTable {
        name: "liquidity_pools",
        columns: "pool_id text, asset_a text, amount_a bigint, asset_b text, amount_b bigint, last_modified_ledger bigint, removed boolean",
        upsert: "INSERT INTO liquidity_pools AS b (pool_id, asset_a, amount_a, asset_b, amount_b, last_modified_ledger) \
                 SELECT pool_id, asset_a, amount_a, asset_b, amount_b, last_modified_ledger FROM new_liquidity_pools WHERE NOT removed \
                 ON CONFLICT (pool_id) DO UPDATE SET asset_a = excluded.asset_a, amount_a = excluded.amount_a, asset_b = excluded.asset_b, \
                 amount_b = excluded.amount_b, last_modified_ledger = excluded.last_modified_ledger \
                 WHERE b.last_modified_ledger <= excluded.last_modified_ledger",
        delete: "DELETE FROM liquidity_pools b USING new_liquidity_pools n WHERE n.removed AND b.pool_id = n.pool_id \
                 AND b.last_modified_ledger <= n.last_modified_ledger",
    },
    StateTable {
        name: "liquidity_pool_balances",
        columns: "account_id bytea, pool_id text, shares bigint, last_modified_ledger bigint, removed boolean",
        upsert: "INSERT INTO liquidity_pool_balances AS b (account_id, pool_id, shares, last_modified_ledger) \
                 SELECT account_id, pool_id, shares, last_modified_ledger FROM new_liquidity_pool_balances WHERE NOT removed \
                 ON CONFLICT (account_id, pool_id) DO UPDATE SET shares = excluded.shares, \
                 last_modified_ledger = excluded.last_modified_ledger WHERE b.last_modified_ledger <= excluded.last_modified_ledger",
        delete: "DELETE FROM liquidity_pool_balances b USING new_liquidity_pool_balances n WHERE n.removed AND b.account_id = n.account_id \
                 AND b.pool_id = n.pool_id AND b.last_modified_ledger <= n.last_modified_ledger",
    },
    // What ledgers did to a balance is summed by Postgres, whose numbers have no end.
    StateTable {
        name: "sep41_balances",
        columns: "account_id bytea, contract_id uuid, delta text, last_modified_ledger integer",
        upsert: "INSERT INTO sep41_balances AS b (account_id, contract_id, balance, last_modified_ledger) \
                 SELECT account_id, contract_id, sum(delta::numeric), max(last_modified_ledger) FROM new_sep41_balances \
                 GROUP BY account_id, contract_id ORDER BY account_id, contract_id ON CONFLICT (account_id, contract_id) DO UPDATE SET \
                 balance = b.balance + excluded.balance, last_modified_ledger = excluded.last_modified_ledger",
        delete: "DELETE FROM sep41_balances b USING new_sep41_balances n WHERE b.account_id = n.account_id AND b.contract_id = n.contract_id \
                 AND b.balance = 0",
    },
    StateTable {
        name: "sep41_allowances",
        columns: "owner_id bytea, spender_id bytea, contract_id uuid, amount text, expiration_ledger integer, last_modified_ledger integer, \
                  removed boolean",
        upsert: "INSERT INTO sep41_allowances AS b (owner_id, spender_id, contract_id, amount, expiration_ledger, last_modified_ledger) \
                 SELECT owner_id, spender_id, contract_id, amount::numeric, expiration_ledger, last_modified_ledger \
                 FROM new_sep41_allowances WHERE NOT removed ON CONFLICT (owner_id, spender_id, contract_id) DO UPDATE SET \
                 amount = excluded.amount, expiration_ledger = excluded.expiration_ledger, \
                 last_modified_ledger = excluded.last_modified_ledger WHERE b.last_modified_ledger <= excluded.last_modified_ledger",
        delete: "DELETE FROM sep41_allowances b USING new_sep41_allowances n WHERE n.removed AND b.owner_id = n.owner_id \
                 AND b.spender_id = n.spender_id AND b.contract_id = n.contract_id AND b.last_modified_ledger <= n.last_modified_ledger",
    },
];

/// Settings of a writer's session. A DELETE joins a few new rows, of whose number the planner has no idea, with a large table by its key: it must
/// never read that table from end to end, nor compile the statement first.
const SETTINGS: &str = "SET temp_buffers TO '32MB'; SET enable_hashjoin TO off; SET enable_mergejoin TO off; SET jit TO off;";

/// Makes the temporary tables of a session, and the COPY into each, in the order of [`STATE_TABLES`].
pub(crate) async fn prepare(client: &Client) -> Result<Vec<Statement>, PostgresError> {
    let mut sql = SETTINGS.to_owned();
    for StateTable { name, columns, .. } in STATE_TABLES {
        sql.extend(["CREATE TEMPORARY TABLE new_", name, " (", columns, ") ON COMMIT DELETE ROWS;"]);
    }
    client.batch_execute(&sql).await.during(|| "making the session's temporary tables".to_owned())?;
    let mut copies = Vec::with_capacity(STATE_TABLES.len());
    for StateTable { name, .. } in STATE_TABLES {
        let copy = client.prepare(&format!("COPY new_{name} FROM STDIN (FORMAT binary)")).await;
        copies.push(copy.during(|| format!("preparing COPY new_{name}"))?);
    }
    Ok(copies)
}
