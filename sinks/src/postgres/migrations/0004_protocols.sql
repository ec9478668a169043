-- Protocols that contracts implement, and the state of the first of them: SEP-41 tokens.

CREATE TABLE protocols (
    id text PRIMARY KEY,
    classification_status text NOT NULL DEFAULT 'not_started'
        CHECK (classification_status IN ('not_started', 'in_progress', 'success', 'failed')),
    history_migration_status text NOT NULL DEFAULT 'not_started'
        CHECK (history_migration_status IN ('not_started', 'in_progress', 'success', 'failed')),
    current_state_migration_status text NOT NULL DEFAULT 'not_started'
        CHECK (current_state_migration_status IN ('not_started', 'in_progress', 'success', 'failed')),
    created_at timestamptz NOT NULL DEFAULT now(),
    updated_at timestamptz NOT NULL DEFAULT now()
);

INSERT INTO protocols (id) VALUES ('SEP41') ON CONFLICT (id) DO NOTHING;

CREATE TABLE protocol_wasms (
    wasm_hash bytea PRIMARY KEY,
    protocol_id text REFERENCES protocols (id),
    created_at timestamptz NOT NULL DEFAULT now()
);

-- Serves: the bytecodes classified as one protocol, read at start to know its members.
CREATE INDEX idx_protocol_wasms_protocol_id ON protocol_wasms (protocol_id);

CREATE TABLE protocol_contracts (
    contract_id bytea PRIMARY KEY,
    wasm_hash bytea NOT NULL REFERENCES protocol_wasms (wasm_hash),
    name text,
    created_at timestamptz NOT NULL DEFAULT now()
);

-- Serves: the contracts of a bytecode, read at start and when a bytecode is classified.
CREATE INDEX idx_protocol_contracts_wasm_hash ON protocol_contracts (wasm_hash);

CREATE TABLE sep41_balances (
    account_id bytea NOT NULL,
    contract_id uuid NOT NULL,
    balance numeric NOT NULL DEFAULT 0,
    last_modified_ledger integer NOT NULL DEFAULT 0,
    PRIMARY KEY (account_id, contract_id),
    CONSTRAINT fk_sep41_contract_token FOREIGN KEY (contract_id) REFERENCES contract_tokens (id) DEFERRABLE INITIALLY DEFERRED
) WITH (fillfactor = 90, autovacuum_vacuum_scale_factor = 0.02, autovacuum_vacuum_threshold = 50,
    autovacuum_analyze_scale_factor = 0.01, autovacuum_analyze_threshold = 50, autovacuum_vacuum_cost_delay = 0);

CREATE TABLE sep41_allowances (
    owner_id bytea NOT NULL,
    spender_id bytea NOT NULL,
    contract_id uuid NOT NULL,
    amount numeric NOT NULL DEFAULT 0,
    expiration_ledger integer NOT NULL DEFAULT 0,
    last_modified_ledger integer NOT NULL DEFAULT 0,
    PRIMARY KEY (owner_id, spender_id, contract_id),
    CONSTRAINT fk_sep41_allowance_contract_token FOREIGN KEY (contract_id) REFERENCES contract_tokens (id) DEFERRABLE INITIALLY DEFERRED
) WITH (fillfactor = 90, autovacuum_vacuum_scale_factor = 0.02, autovacuum_vacuum_threshold = 50,
    autovacuum_analyze_scale_factor = 0.01, autovacuum_analyze_threshold = 50, autovacuum_vacuum_cost_delay = 0);

-- Serves: the allowances that have run out, for cleaning.
CREATE INDEX idx_sep41_allowances_expiration_ledger ON sep41_allowances (expiration_ledger);
