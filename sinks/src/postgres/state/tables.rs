//! The tables of current state, and the statements that bring them up to date.
//!
//! Rows go as one array a column, in the order of their keys, into one INSERT … ON CONFLICT, and the keys of those that are gone into one DELETE.
//! (A temporary table to copy into would have to be emptied by each COMMIT: measured, 3 ms a table.)

use tokio_postgres::{Client, Statement};

use super::super::PostgresError;
use super::super::error::During as _;

/// One table.
#[derive(Clone, Copy, Debug)]
pub(crate) struct StateTable {
    pub(crate) name: &'static str,
    /// Writes rows.
    upsert: &'static str,
    /// Removes rows, where there is such a thing.
    delete: Option<&'static str>,
}

/// The statements of a table, prepared.
#[derive(Debug)]
pub(crate) struct StateStatements {
    pub(crate) upsert: Statement,
    pub(crate) delete: Option<Statement>,
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
        upsert: "INSERT INTO trustline_assets (id, code, issuer) SELECT * FROM unnest($1::uuid[], $2::text[], $3::text[]) \
                 ON CONFLICT DO NOTHING",
        delete: None,
    },
    StateTable {
        name: "contract_tokens",
        upsert: "INSERT INTO contract_tokens (id, contract_id, type, code, issuer, name, symbol, decimals) SELECT * \
                 FROM unnest($1::uuid[], $2::text[], $3::text[], $4::text[], $5::text[], $6::text[], $7::text[], $8::integer[]) \
                 ON CONFLICT DO NOTHING",
        delete: None,
    },
    StateTable {
        name: "protocol_wasms",
        upsert: "INSERT INTO protocol_wasms (wasm_hash, protocol_id) SELECT * FROM unnest($1::bytea[], $2::text[]) \
                 ON CONFLICT DO NOTHING",
        delete: None,
    },
    StateTable {
        name: "protocol_contracts",
        upsert: "INSERT INTO protocol_contracts (contract_id, wasm_hash) SELECT * FROM unnest($1::bytea[], $2::bytea[]) \
                 ON CONFLICT (contract_id) DO UPDATE SET wasm_hash = excluded.wasm_hash",
        delete: None,
    },
    StateTable {
        name: "trustline_balances",
        upsert: "INSERT INTO trustline_balances AS b (account_id, asset_id, balance, trust_limit, buying_liabilities, \
                 selling_liabilities, flags, last_modified_ledger) \
                 SELECT account_id, asset_id, balance, trust_limit, buying_liabilities, selling_liabilities, flags, last_modified_ledger \
                 FROM unnest($1::bytea[], $2::uuid[], $3::bigint[], $4::bigint[], $5::bigint[], $6::bigint[], $7::integer[], \
                 $8::bigint[]) AS n (account_id, asset_id, balance, trust_limit, buying_liabilities, selling_liabilities, flags, \
                 last_modified_ledger) ON CONFLICT (account_id, asset_id) \
                 DO UPDATE SET balance = excluded.balance, trust_limit = excluded.trust_limit, buying_liabilities = \
                 excluded.buying_liabilities, selling_liabilities = excluded.selling_liabilities, flags = excluded.flags, \
                 last_modified_ledger = excluded.last_modified_ledger WHERE b.last_modified_ledger <= excluded.last_modified_ledger",
        delete: Some(
            "DELETE FROM trustline_balances b \
             USING unnest($1::bytea[], $2::uuid[], $3::bigint[]) AS n (account_id, asset_id, last_modified_ledger) \
             WHERE b.account_id = n.account_id AND b.asset_id = n.asset_id AND b.last_modified_ledger <= n.last_modified_ledger",
        ),
    },
    StateTable {
        name: "native_balances",
        upsert: "INSERT INTO native_balances AS b (account_id, balance, minimum_balance, buying_liabilities, selling_liabilities, \
                 num_subentries, last_modified_ledger) \
                 SELECT account_id, balance, minimum_balance, buying_liabilities, selling_liabilities, num_subentries, \
                 last_modified_ledger \
                 FROM unnest($1::bytea[], $2::bigint[], $3::bigint[], $4::bigint[], $5::bigint[], $6::integer[], $7::bigint[]) AS n \
                 (account_id, balance, minimum_balance, buying_liabilities, selling_liabilities, num_subentries, last_modified_ledger) \
                 ON CONFLICT (account_id) \
                 DO UPDATE SET balance = excluded.balance, minimum_balance = excluded.minimum_balance, buying_liabilities = \
                 excluded.buying_liabilities, selling_liabilities = excluded.selling_liabilities, num_subentries = \
                 excluded.num_subentries, last_modified_ledger = excluded.last_modified_ledger \
                 WHERE b.last_modified_ledger <= excluded.last_modified_ledger",
        delete: Some(
            "DELETE FROM native_balances b USING unnest($1::bytea[], $2::bigint[]) AS n (account_id, last_modified_ledger) \
             WHERE b.account_id = n.account_id AND b.last_modified_ledger <= n.last_modified_ledger",
        ),
    },
    StateTable {
        name: "sac_balances",
        upsert: "INSERT INTO sac_balances AS b (account_id, contract_id, balance, is_authorized, is_clawback_enabled, \
                 last_modified_ledger) \
                 SELECT account_id, contract_id, balance::numeric, is_authorized, is_clawback_enabled, last_modified_ledger \
                 FROM unnest($1::bytea[], $2::uuid[], $3::text[], $4::boolean[], $5::boolean[], $6::integer[]) AS n (account_id, \
                 contract_id, balance, is_authorized, is_clawback_enabled, last_modified_ledger) ON CONFLICT (account_id, contract_id) \
                 DO UPDATE SET balance = excluded.balance, is_authorized = excluded.is_authorized, is_clawback_enabled = \
                 excluded.is_clawback_enabled, last_modified_ledger = excluded.last_modified_ledger \
                 WHERE b.last_modified_ledger <= excluded.last_modified_ledger",
        delete: Some(
            "DELETE FROM sac_balances b \
             USING unnest($1::bytea[], $2::uuid[], $3::integer[]) AS n (account_id, contract_id, last_modified_ledger) \
             WHERE b.account_id = n.account_id AND b.contract_id = n.contract_id AND b.last_modified_ledger <= n.last_modified_ledger",
        ),
    },
    StateTable {
        name: "liquidity_pools",
        upsert: "INSERT INTO liquidity_pools AS b (pool_id, asset_a, amount_a, asset_b, amount_b, last_modified_ledger) \
                 SELECT pool_id, asset_a, amount_a, asset_b, amount_b, last_modified_ledger \
                 FROM unnest($1::text[], $2::text[], $3::bigint[], $4::text[], $5::bigint[], $6::bigint[]) AS n (pool_id, asset_a, \
                 amount_a, asset_b, amount_b, last_modified_ledger) ON CONFLICT (pool_id) \
                 DO UPDATE SET asset_a = excluded.asset_a, amount_a = excluded.amount_a, asset_b = excluded.asset_b, amount_b = \
                 excluded.amount_b, last_modified_ledger = excluded.last_modified_ledger \
                 WHERE b.last_modified_ledger <= excluded.last_modified_ledger",
        delete: Some(
            "DELETE FROM liquidity_pools b USING unnest($1::text[], $2::bigint[]) AS n (pool_id, last_modified_ledger) \
             WHERE b.pool_id = n.pool_id AND b.last_modified_ledger <= n.last_modified_ledger",
        ),
    },
    StateTable {
        name: "liquidity_pool_balances",
        upsert: "INSERT INTO liquidity_pool_balances AS b (account_id, pool_id, shares, last_modified_ledger) \
                 SELECT account_id, pool_id, shares, last_modified_ledger \
                 FROM unnest($1::bytea[], $2::text[], $3::bigint[], $4::bigint[]) AS n (account_id, pool_id, shares, \
                 last_modified_ledger) ON CONFLICT (account_id, pool_id) \
                 DO UPDATE SET shares = excluded.shares, last_modified_ledger = excluded.last_modified_ledger \
                 WHERE b.last_modified_ledger <= excluded.last_modified_ledger",
        delete: Some(
            "DELETE FROM liquidity_pool_balances b \
             USING unnest($1::bytea[], $2::text[], $3::bigint[]) AS n (account_id, pool_id, last_modified_ledger) \
             WHERE b.account_id = n.account_id AND b.pool_id = n.pool_id AND b.last_modified_ledger <= n.last_modified_ledger",
        ),
    },
    // What ledgers did to a balance is summed by Postgres, whose numbers have no end. Deletes look at every balance that was touched.
    StateTable {
        name: "sep41_balances",
        upsert: "INSERT INTO sep41_balances AS b (account_id, contract_id, balance, last_modified_ledger) \
                 SELECT account_id, contract_id, sum(delta::numeric), max(ledger) \
                 FROM unnest($1::bytea[], $2::uuid[], $3::text[], $4::integer[]) AS n (account_id, contract_id, delta, ledger) \
                 GROUP BY account_id, contract_id ORDER BY account_id, contract_id ON CONFLICT (account_id, contract_id) \
                 DO UPDATE SET balance = b.balance + excluded.balance, last_modified_ledger = excluded.last_modified_ledger",
        delete: Some(
            "DELETE FROM sep41_balances b USING unnest($1::bytea[], $2::uuid[]) AS n (account_id, contract_id) \
             WHERE b.account_id = n.account_id AND b.contract_id = n.contract_id AND b.balance = 0",
        ),
    },
    StateTable {
        name: "sep41_allowances",
        upsert: "INSERT INTO sep41_allowances AS b (owner_id, spender_id, contract_id, amount, expiration_ledger, last_modified_ledger) \
                 SELECT owner_id, spender_id, contract_id, amount::numeric, expiration_ledger, last_modified_ledger \
                 FROM unnest($1::bytea[], $2::bytea[], $3::uuid[], $4::text[], $5::integer[], $6::integer[]) AS n (owner_id, spender_id, \
                 contract_id, amount, expiration_ledger, last_modified_ledger) ON CONFLICT (owner_id, spender_id, contract_id) \
                 DO UPDATE SET amount = excluded.amount, expiration_ledger = excluded.expiration_ledger, last_modified_ledger = \
                 excluded.last_modified_ledger WHERE b.last_modified_ledger <= excluded.last_modified_ledger",
        delete: Some(
            "DELETE FROM sep41_allowances b \
             USING unnest($1::bytea[], $2::bytea[], $3::uuid[], $4::integer[]) AS n (owner_id, spender_id, contract_id, \
             last_modified_ledger) \
             WHERE b.owner_id = n.owner_id AND b.spender_id = n.spender_id AND b.contract_id = n.contract_id AND b.last_modified_ledger \
             <= n.last_modified_ledger",
        ),
    },
];

/// Settings of a writer's session. Its statements look rows up by their keys, in tables that were empty when the statement was planned and are
/// large later: they must never read them from end to end, nor be compiled or planned anew for their arrays.
const SETTINGS: &str = "SET enable_seqscan TO off; SET enable_hashjoin TO off; SET enable_mergejoin TO off; SET jit TO off; \
     SET plan_cache_mode TO force_generic_plan; SET work_mem TO '64MB'";

/// Prepares the statements, in the order of [`STATE_TABLES`].
pub(crate) async fn prepare(client: &Client) -> Result<Vec<StateStatements>, PostgresError> {
    client.batch_execute(SETTINGS).await.during(|| "setting up the session for current state".to_owned())?;
    let mut statements = Vec::with_capacity(STATE_TABLES.len());
    for StateTable { name, upsert, delete } in STATE_TABLES {
        let preparing = || format!("preparing the statements of {name}");
        let upsert = client.prepare(upsert).await.during(preparing)?;
        let delete = match delete {
            Some(delete) => Some(client.prepare(delete).await.during(preparing)?),
            None => None,
        };
        statements.push(StateStatements { upsert, delete });
    }
    Ok(statements)
}
