-- Current state: what an account or contract holds now, overwritten by each ledger that changes it.
--
-- Rows are updated far more often than added: room in each page keeps an update on its page, and eager vacuum keeps the tables small.
-- Keys serve: what one account holds. Foreign keys are deferred: a ledger's tokens and balances are written in one transaction.

CREATE FUNCTION refresh_updated_at_column() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    NEW.updated_at = now();
    RETURN NEW;
END;
$$;

-- Unique key: a token by its contract address.
CREATE TABLE contract_tokens (
    id uuid PRIMARY KEY,
    contract_id text NOT NULL UNIQUE,
    type text NOT NULL,
    code text,
    issuer text,
    name text,
    symbol text,
    decimals integer NOT NULL,
    created_at timestamptz NOT NULL DEFAULT now(),
    updated_at timestamptz NOT NULL DEFAULT now()
);

CREATE TRIGGER contract_tokens_set_updated_at BEFORE UPDATE ON contract_tokens
    FOR EACH ROW EXECUTE FUNCTION refresh_updated_at_column();

-- Unique key: a classic asset by code and issuer.
CREATE TABLE trustline_assets (
    id uuid PRIMARY KEY,
    code text NOT NULL,
    issuer text NOT NULL,
    created_at timestamptz NOT NULL DEFAULT now(),
    UNIQUE (code, issuer)
);

CREATE TABLE trustline_balances (
    account_id bytea NOT NULL,
    asset_id uuid NOT NULL,
    balance bigint NOT NULL DEFAULT 0,
    trust_limit bigint NOT NULL DEFAULT 0,
    buying_liabilities bigint NOT NULL DEFAULT 0,
    selling_liabilities bigint NOT NULL DEFAULT 0,
    flags integer NOT NULL DEFAULT 0,
    last_modified_ledger bigint NOT NULL DEFAULT 0,
    PRIMARY KEY (account_id, asset_id),
    CONSTRAINT fk_trustline_asset FOREIGN KEY (asset_id) REFERENCES trustline_assets (id) DEFERRABLE INITIALLY DEFERRED
) WITH (fillfactor = 90, autovacuum_vacuum_scale_factor = 0.02, autovacuum_vacuum_threshold = 50,
    autovacuum_analyze_scale_factor = 0.01, autovacuum_analyze_threshold = 50, autovacuum_vacuum_cost_delay = 0);

CREATE TABLE native_balances (
    account_id bytea PRIMARY KEY,
    balance bigint NOT NULL DEFAULT 0,
    minimum_balance bigint NOT NULL DEFAULT 0,
    buying_liabilities bigint NOT NULL DEFAULT 0,
    selling_liabilities bigint NOT NULL DEFAULT 0,
    num_subentries integer NOT NULL DEFAULT 0,
    last_modified_ledger bigint NOT NULL DEFAULT 0
) WITH (fillfactor = 90, autovacuum_vacuum_scale_factor = 0.02, autovacuum_vacuum_threshold = 50,
    autovacuum_analyze_scale_factor = 0.01, autovacuum_analyze_threshold = 50, autovacuum_vacuum_cost_delay = 0);

CREATE TABLE sac_balances (
    account_id bytea NOT NULL,
    contract_id uuid NOT NULL,
    balance numeric NOT NULL DEFAULT 0,
    is_authorized boolean NOT NULL DEFAULT true,
    is_clawback_enabled boolean NOT NULL DEFAULT false,
    last_modified_ledger integer NOT NULL DEFAULT 0,
    PRIMARY KEY (account_id, contract_id),
    CONSTRAINT fk_contract_token FOREIGN KEY (contract_id) REFERENCES contract_tokens (id) DEFERRABLE INITIALLY DEFERRED
) WITH (fillfactor = 90, autovacuum_vacuum_scale_factor = 0.02, autovacuum_vacuum_threshold = 50,
    autovacuum_analyze_scale_factor = 0.01, autovacuum_analyze_threshold = 50, autovacuum_vacuum_cost_delay = 0);

-- Key: a pool by its id (lower-case hex).
CREATE TABLE liquidity_pools (
    pool_id text PRIMARY KEY,
    asset_a text NOT NULL,
    amount_a bigint NOT NULL DEFAULT 0,
    asset_b text NOT NULL,
    amount_b bigint NOT NULL DEFAULT 0,
    last_modified_ledger bigint NOT NULL DEFAULT 0
) WITH (fillfactor = 80, autovacuum_vacuum_scale_factor = 0.02, autovacuum_vacuum_threshold = 50,
    autovacuum_analyze_scale_factor = 0.01, autovacuum_analyze_threshold = 50, autovacuum_vacuum_cost_delay = 0);

CREATE TABLE liquidity_pool_balances (
    account_id bytea NOT NULL,
    pool_id text NOT NULL,
    shares bigint NOT NULL DEFAULT 0,
    last_modified_ledger bigint NOT NULL DEFAULT 0,
    PRIMARY KEY (account_id, pool_id)
) WITH (fillfactor = 90, autovacuum_vacuum_scale_factor = 0.02, autovacuum_vacuum_threshold = 50,
    autovacuum_analyze_scale_factor = 0.01, autovacuum_analyze_threshold = 50, autovacuum_vacuum_cost_delay = 0);
