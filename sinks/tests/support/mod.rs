//! What the tests against a real Postgres share: one cluster while any test of the program needs it, a database per test, made-up ledgers.
//!
//! Where no Postgres is installed a test says so by name and passes.

#![allow(dead_code, unreachable_pub, reason = "a module of several test programs, each of which uses a part")]

use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex, Weak};

use starmill_ledger::AddressBytes;
use starmill_ledger::rows::{LedgerRow, OperationAccountRow, OperationRow, Rows as _, TransactionAccountRow, TransactionRow};
use starmill_ledger::sink::Batch;
use starmill_sinks::{CopyRows, PostgresConfig, PrivateCluster};
use tempfile::TempDir;
use tokio_postgres::{Client, NoTls};

pub const NETWORK: &str = "Test SDF Network ; September 2015";
/// 2026-06-18 00:00:00 UTC.
pub const DAY: i64 = 1_781_740_800;

/// A cluster in a temporary folder; dropped before the folder.
pub struct TestCluster {
    pub cluster: PrivateCluster,
    _folder: TempDir,
}

/// A temporary folder that the server's user can enter.
pub fn folder() -> TempDir {
    let folder = tempfile::Builder::new().prefix("starmill-test-").tempdir().unwrap();
    std::fs::set_permissions(folder.path(), std::fs::Permissions::from_mode(0o755)).unwrap();
    folder
}

/// Whether there is a Postgres to test against; says so if not.
pub fn postgres_installed(test: &str) -> bool {
    let installed = PrivateCluster::installed();
    if let Err(error) = &installed {
        eprintln!("{test}: skipped, {error}");
    }
    installed.is_ok()
}

/// The cluster shared by the tests that run now; the last of them stops it.
pub fn shared_cluster() -> Arc<TestCluster> {
    static SHARED: Mutex<Weak<TestCluster>> = Mutex::new(Weak::new());
    let mut shared = SHARED.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
    if let Some(cluster) = shared.upgrade() {
        return cluster;
    }
    let folder = folder();
    let cluster = Arc::new(TestCluster { cluster: PrivateCluster::start(&folder.path().join("data")).unwrap(), _folder: folder });
    *shared = Arc::downgrade(&cluster);
    cluster
}

/// An empty database of the shared cluster.
pub struct Database {
    pub config: PostgresConfig,
    pub sql: Sql,
    _cluster: Arc<TestCluster>,
}

pub fn database() -> Database {
    static NEXT: AtomicU32 = AtomicU32::new(0);
    let cluster = shared_cluster();
    let name = format!("test_{}", NEXT.fetch_add(1, Ordering::Relaxed));
    Sql::connect(&cluster.cluster.url()).run(&format!("CREATE DATABASE {name}"));
    let url = cluster.cluster.database_url(&name);
    Database { sql: Sql::connect(&url), config: PostgresConfig::new(url, NETWORK), _cluster: cluster }
}

/// A connection of the test's own, to look at what the sink has done.
pub struct Sql {
    client: Client,
    runtime: tokio::runtime::Runtime,
}

impl Sql {
    pub fn connect(url: &str) -> Self {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        let client = runtime.block_on(async {
            let (client, connection) = tokio_postgres::connect(url, NoTls).await.unwrap();
            tokio::spawn(async move { drop(connection.await) });
            client
        });
        Self { client, runtime }
    }

    pub fn run(&self, sql: &str) {
        self.runtime.block_on(self.client.batch_execute(sql)).unwrap();
    }

    /// All values of a query as text, columns joined by `|`, NULL as `-`.
    pub fn rows(&self, sql: &str) -> Vec<String> {
        let messages = self.runtime.block_on(self.client.simple_query(sql)).unwrap();
        let text = |row: &tokio_postgres::SimpleQueryRow| (0..row.len()).map(|i| row.get(i).unwrap_or("-")).collect::<Vec<_>>().join("|");
        messages
            .iter()
            .filter_map(|message| match message {
                tokio_postgres::SimpleQueryMessage::Row(row) => Some(text(row)),
                _ => None,
            })
            .collect()
    }

    pub fn one(&self, sql: &str) -> String {
        self.rows(sql).swap_remove(0)
    }

    pub fn count(&self, table: &str) -> u64 {
        self.one(&format!("SELECT count(*) FROM {table}")).parse().unwrap()
    }
}

pub fn ledger(sequence: u32, closed_at: i64) -> LedgerRow {
    LedgerRow { sequence, protocol: 23, closed_at, close_meta_version: 2, base_reserve: 5_000_000, transactions: 1 }
}

pub fn account(n: u64) -> AddressBytes {
    let mut key = [0; 32];
    key[..8].copy_from_slice(&n.wrapping_mul(0x9E37_79B9_7F4A_7C15).to_be_bytes());
    AddressBytes::account(&key)
}

/// Adds a ledger of `transactions` payments: one row of `transactions` and `operations`, three of each `*_accounts` per transaction.
pub fn put_ledger(batch: &mut Batch<CopyRows>, sequence: u32, closed_at: i64, transactions: u32) {
    let row = LedgerRow { transactions, ..ledger(sequence, closed_at) };
    batch.ledgers.push(row);
    batch.rows.ledger(&row);
    for index in 1..=transactions {
        let to_id = i64::from(sequence) << 32 | i64::from(index) << 12;
        let mut hash = [0; 32];
        hash[..8].copy_from_slice(&to_id.to_be_bytes());
        batch.rows.transaction(&TransactionRow {
            to_id,
            hash: &hash,
            inner_hash: &hash,
            fee_charged: 100,
            result_code: "TransactionResultCodeTxSuccess",
            is_fee_bump: false,
            ledger: sequence,
            closed_at,
        });
        batch.rows.operation(&OperationRow {
            id: to_id + 1,
            operation_type: "PAYMENT",
            operation_xdr: &[7; 112],
            result_code: "op_success",
            successful: true,
            ledger: sequence,
            closed_at,
        });
        for n in 0..3 {
            let account_id = account(to_id as u64 + n);
            batch.rows.transaction_account(&TransactionAccountRow { tx_to_id: to_id, account_id, closed_at });
            batch.rows.operation_account(&OperationAccountRow { operation_id: to_id + 1, account_id, closed_at });
        }
    }
}

/// A batch of ledgers with 10 transactions each, six seconds apart.
pub fn batch(sequences: impl IntoIterator<Item = u32>) -> Batch<CopyRows> {
    let mut batch = Batch::new();
    for sequence in sequences {
        put_ledger(&mut batch, sequence, DAY + i64::from(sequence) * 6, 10);
    }
    batch
}

/// A file's text, empty if there is none.
pub fn text(path: &Path) -> String {
    std::fs::read_to_string(path).unwrap_or_default()
}
