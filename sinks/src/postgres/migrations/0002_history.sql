-- History: what happened, one row per happening, never changed after it was written.
--
-- /* history table */ stands for what divides a table by close time: PARTITION BY RANGE (ledger_created_at) in plain Postgres, where
-- partitions are made together with their first rows; nothing under TimescaleDB, which then makes hypertables (timescale.sql).
-- Every primary key holds the close time, since a partition can only keep its own rows unique; a ledger's rows always fall into the
-- same partition, so writing a ledger twice collides.

-- Key: a transaction by its TOID, and pages of transactions in ledger order.
CREATE TABLE transactions (
    to_id bigint NOT NULL,
    hash bytea NOT NULL,
    fee_charged bigint NOT NULL,
    result_code text NOT NULL,
    ledger_number integer NOT NULL,
    is_fee_bump boolean NOT NULL DEFAULT false,
    ingested_at timestamptz NOT NULL DEFAULT now(),
    ledger_created_at timestamptz NOT NULL,
    PRIMARY KEY (to_id, ledger_created_at)
) /* history table */;

-- Serves: a transaction by its hash, the question wallets ask most.
CREATE INDEX idx_transactions_hash ON transactions (hash);

-- Key: the transactions of an account, newest first, from one place of the index.
CREATE TABLE transactions_accounts (
    tx_to_id bigint NOT NULL,
    account_id bytea NOT NULL,
    ledger_created_at timestamptz NOT NULL,
    PRIMARY KEY (account_id, ledger_created_at, tx_to_id)
) /* history table */;

-- Serves: the accounts of a transaction. TOIDs ascend from batch to batch, so block ranges narrow the search to about one batch, at next to
-- no cost per row, where a b-tree costs half as much as the primary key.
CREATE INDEX idx_transactions_accounts_tx_to_id ON transactions_accounts USING brin (tx_to_id) WITH (pages_per_range = 16);

-- Key: an operation by its TOID; the operations of a transaction (a range of TOIDs); pages in ledger order.
CREATE TABLE operations (
    id bigint NOT NULL,
    operation_type text NOT NULL CHECK (operation_type IN (
        'CREATE_ACCOUNT', 'PAYMENT', 'PATH_PAYMENT_STRICT_RECEIVE', 'MANAGE_SELL_OFFER', 'CREATE_PASSIVE_SELL_OFFER', 'SET_OPTIONS',
        'CHANGE_TRUST', 'ALLOW_TRUST', 'ACCOUNT_MERGE', 'INFLATION', 'MANAGE_DATA', 'BUMP_SEQUENCE', 'MANAGE_BUY_OFFER',
        'PATH_PAYMENT_STRICT_SEND', 'CREATE_CLAIMABLE_BALANCE', 'CLAIM_CLAIMABLE_BALANCE', 'BEGIN_SPONSORING_FUTURE_RESERVES',
        'END_SPONSORING_FUTURE_RESERVES', 'REVOKE_SPONSORSHIP', 'CLAWBACK', 'CLAWBACK_CLAIMABLE_BALANCE', 'SET_TRUST_LINE_FLAGS',
        'LIQUIDITY_POOL_DEPOSIT', 'LIQUIDITY_POOL_WITHDRAW', 'INVOKE_HOST_FUNCTION', 'EXTEND_FOOTPRINT_TTL', 'RESTORE_FOOTPRINT')),
    operation_xdr bytea,
    result_code text NOT NULL,
    successful boolean NOT NULL,
    ledger_number integer NOT NULL,
    ingested_at timestamptz NOT NULL DEFAULT now(),
    ledger_created_at timestamptz NOT NULL,
    PRIMARY KEY (id, ledger_created_at)
) /* history table */;

-- Key: the operations of an account, newest first.
CREATE TABLE operations_accounts (
    operation_id bigint NOT NULL,
    account_id bytea NOT NULL,
    ledger_created_at timestamptz NOT NULL,
    PRIMARY KEY (account_id, ledger_created_at, operation_id)
) /* history table */;

-- Serves: the accounts of an operation; see idx_transactions_accounts_tx_to_id.
CREATE INDEX idx_operations_accounts_operation_id ON operations_accounts USING brin (operation_id) WITH (pages_per_range = 16);

-- Key: the state changes of a transaction or an operation through (close time, TOID), which whoever asks knows from the parent row; pages in
-- ledger order.
CREATE TABLE state_changes (
    to_id bigint NOT NULL,
    operation_id bigint NOT NULL,
    state_change_id bigint NOT NULL,
    state_change_category text NOT NULL CHECK (state_change_category IN (
        'BALANCE', 'ACCOUNT', 'SIGNER', 'SIGNATURE_THRESHOLD', 'DATA_ENTRY', 'HOME_DOMAIN', 'ALLOWANCE', 'FLAGS', 'TRUSTLINE',
        'BALANCE_AUTHORIZATION')),
    state_change_reason text NOT NULL CHECK (state_change_reason IN (
        'CREATE', 'MERGE', 'DEBIT', 'CREDIT', 'MINT', 'BURN', 'ADD', 'REMOVE', 'UPDATE', 'SET', 'CLEAR')),
    ingested_at timestamptz NOT NULL DEFAULT now(),
    ledger_number integer NOT NULL,
    account_id bytea NOT NULL,
    token_id bytea,
    amount text,
    signer_account_id bytea,
    spender_account_id bytea,
    creator_account_id bytea,
    destination_account_id bytea,
    liquidity_pool_id text,
    signer_weight_old smallint,
    signer_weight_new smallint,
    threshold text,
    threshold_old smallint,
    threshold_new smallint,
    trustline_limit_old text,
    trustline_limit_new text,
    flags smallint,
    data_entry_name text,
    key_value jsonb,
    to_muxed_id text,
    ledger_created_at timestamptz NOT NULL,
    PRIMARY KEY (ledger_created_at, to_id, operation_id, state_change_id)
) /* history table */;

-- Serves: the state changes of an account, newest first; category and reason are filtered on the rows found.
CREATE INDEX idx_state_changes_account ON state_changes (account_id, to_id);
