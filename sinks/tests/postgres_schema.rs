//! The schema in a real Postgres: migrations, their checks, the network.

mod support;

use base64 as _;
use bytes as _;
use futures_util as _;
use hex as _;
use itoa as _;
use proptest as _;
use serde_json as _;
use sha2 as _;
use starmill_sinks::postgres::{HISTORY_TABLES, RowCounts, status};
use starmill_sinks::{PostgresConfig, PostgresSink};
use starmill_xdr as _;
use stellar_strkey as _;
use support::{NETWORK, database, postgres_installed};
use thiserror as _;

const TABLES_OF_SPEC: [&str; 18] = [
    "contract_tokens",
    "ingest_store",
    "liquidity_pool_balances",
    "liquidity_pools",
    "native_balances",
    "operations",
    "operations_accounts",
    "protocol_contracts",
    "protocol_wasms",
    "protocols",
    "sac_balances",
    "sep41_allowances",
    "sep41_balances",
    "state_changes",
    "transactions",
    "transactions_accounts",
    "trustline_assets",
    "trustline_balances",
];

#[test]
fn migrations_apply_once_and_make_the_whole_schema() {
    if !postgres_installed("migrations_apply_once_and_make_the_whole_schema") {
        return;
    }
    let db = database();
    assert_eq!(status(&db.config.url, RowCounts::Exact).unwrap_err().code(), "schema-missing");
    drop(PostgresSink::open(db.config.clone()).unwrap());
    let applied = db.sql.rows("SELECT name, sha256, applied_at FROM starmill_migrations ORDER BY name");
    drop(PostgresSink::open(db.config.clone()).unwrap());
    assert_eq!(db.sql.rows("SELECT name, sha256, applied_at FROM starmill_migrations ORDER BY name"), applied);
    assert_eq!(applied.len(), 7);

    let tables = db.sql.rows("SELECT tablename FROM pg_tables WHERE schemaname = 'public' ORDER BY tablename COLLATE \"C\"");
    let ours = [
        "ledger_coverage",
        "starmill_bulk",
        "starmill_bulk_ledgers",
        "starmill_migrations",
        "starmill_network",
        "starmill_pending",
        "starmill_writers",
    ];
    let (own, spec): (Vec<_>, Vec<_>) = tables.into_iter().partition(|table| ours.contains(&table.as_str()));
    assert_eq!((own.len(), spec), (7, TABLES_OF_SPEC.map(str::to_owned).to_vec()));
    assert_eq!(db.sql.rows("SELECT id, classification_status FROM protocols"), ["SEP41|not_started"]);
    for table in HISTORY_TABLES {
        assert_eq!(db.sql.one(&format!("SELECT relkind FROM pg_class WHERE relname = '{table}'")), "p");
    }
    assert_eq!(
        db.sql.one("SELECT count(*), min(array_to_string(reloptions, ' ')) FROM pg_class WHERE 'fillfactor=90' = ANY (reloptions)"),
        "6|fillfactor=90 autovacuum_vacuum_scale_factor=0.02 autovacuum_vacuum_threshold=50 autovacuum_analyze_scale_factor=0.01 \
         autovacuum_analyze_threshold=50 autovacuum_vacuum_cost_delay=0"
    );
    assert_eq!(db.sql.rows("SELECT relname FROM pg_class WHERE 'fillfactor=80' = ANY (reloptions)"), ["liquidity_pools"]);
    assert_eq!(
        db.sql.rows("SELECT conname FROM pg_constraint WHERE contype = 'f' AND condeferred ORDER BY 1"),
        ["fk_contract_token", "fk_sep41_allowance_contract_token", "fk_sep41_contract_token", "fk_trustline_asset"]
    );
    // The key columns in order, as readers of the reference's schema expect them.
    let key = |table: &str| {
        db.sql.one(&format!("SELECT pg_get_constraintdef(oid) FROM pg_constraint WHERE contype = 'p' AND conrelid = '{table}'::regclass"))
    };
    assert_eq!(key("transactions"), "PRIMARY KEY (to_id, ledger_created_at)");
    assert_eq!(key("transactions_accounts"), "PRIMARY KEY (account_id, ledger_created_at, tx_to_id)");
    assert_eq!(key("operations"), "PRIMARY KEY (id, ledger_created_at)");
    assert_eq!(key("operations_accounts"), "PRIMARY KEY (account_id, ledger_created_at, operation_id)");
    assert_eq!(key("state_changes"), "PRIMARY KEY (ledger_created_at, to_id, operation_id, state_change_id)");
    db.sql.run("INSERT INTO contract_tokens (id, contract_id, type, decimals, updated_at) VALUES ('42251ba8-4c73-5831-bb2f-4b211588ae3f', 'C', 'SAC', 7, 'epoch')");
    db.sql.run("UPDATE contract_tokens SET decimals = 6");
    assert_eq!(db.sql.one("SELECT updated_at > now() - interval '1 minute' FROM contract_tokens"), "t");
}

#[test]
fn refuses_what_it_did_not_make() {
    if !postgres_installed("refuses_what_it_did_not_make") {
        return;
    }
    let open = |config: &PostgresConfig| PostgresSink::open(config.clone()).map(drop).map_err(|error| (error.code(), error.to_string()));
    let db = database();
    db.sql.run("CREATE TABLE operations (id int)");
    let (code, message) = open(&db.config).unwrap_err();
    assert_eq!(code, "schema-foreign", "{message}");
    assert_eq!(db.sql.one("SELECT count(*) FROM pg_tables WHERE schemaname = 'public'"), "1", "a failed migration leaves nothing");
    db.sql.run("DROP TABLE operations");
    open(&db.config).unwrap();

    let (code, message) = open(&PostgresConfig::new(db.config.url.clone(), "Another Network")).unwrap_err();
    assert_eq!(code, "network-mismatch");
    assert!(message.contains(NETWORK) && message.contains("Another Network"), "{message}");
    assert_eq!(
        db.sql.one("SELECT passphrase, encode(network_id, 'hex') FROM starmill_network"),
        format!("{NETWORK}|cee0302d59844d32bdca915c8203dd44b33fbb7edc19051ea37abedf28ecd472")
    );

    db.sql.run("INSERT INTO starmill_migrations (name, sha256) VALUES ('0099_from_the_future', '')");
    let (code, message) = open(&db.config).unwrap_err();
    assert_eq!(code, "schema-newer");
    assert!(message.contains("0099_from_the_future") && message.contains("upgrade starmill"), "{message}");
    assert_eq!(status(&db.config.url, RowCounts::Exact).unwrap_err().code(), "schema-newer");
    db.sql.run("DELETE FROM starmill_migrations WHERE name LIKE '0099%'");

    db.sql.run("UPDATE starmill_migrations SET sha256 = 'abc' WHERE name = '0002_history'");
    let (code, message) = open(&db.config).unwrap_err();
    assert_eq!(code, "schema-changed");
    assert!(message.contains("0002_history"), "{message}");
}

#[test]
fn says_why_it_cannot_connect() {
    let open = |url: &str| PostgresSink::open(PostgresConfig::new(url, NETWORK)).unwrap_err();
    let error = open("postgresql://me:secret@localhost:1/db?connect_timeout=2");
    assert_eq!(error.code(), "connection-refused", "{error}");
    assert!(error.to_string().contains("localhost") && !error.to_string().contains("secret"), "{error}");
    assert!(error.is_transient());
    assert_eq!(open("postgresql://[").code(), "database-url");
    if postgres_installed("says_why_it_cannot_connect") {
        let db = database();
        let error = open(&db.config.url.replace("/test_", "/absent_"));
        assert_eq!(error.code(), "database-missing", "{error}");
    }
}
