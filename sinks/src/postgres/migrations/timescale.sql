-- Runs after 0002_history.sql where the TimescaleDB extension is installed: the history tables become hypertables of one day, or as wide as
-- configured. {days} is filled in. No automatic index on time alone: no query uses it.
SELECT create_hypertable('transactions', 'ledger_created_at', chunk_time_interval => INTERVAL '{days} days', create_default_indexes => FALSE);
SELECT create_hypertable('transactions_accounts', 'ledger_created_at', chunk_time_interval => INTERVAL '{days} days', create_default_indexes => FALSE);
SELECT create_hypertable('operations', 'ledger_created_at', chunk_time_interval => INTERVAL '{days} days', create_default_indexes => FALSE);
SELECT create_hypertable('operations_accounts', 'ledger_created_at', chunk_time_interval => INTERVAL '{days} days', create_default_indexes => FALSE);
SELECT create_hypertable('state_changes', 'ledger_created_at', chunk_time_interval => INTERVAL '{days} days', create_default_indexes => FALSE);
