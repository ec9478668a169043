//! What the tests of a database share: a server of the test's own, a database a case, and everything that stands in its tables as checksums.

#![allow(dead_code, unreachable_pub, reason = "a module of several test programs, each of which uses a part")]

pub mod sessions;
pub mod tables;

use std::fs::Permissions;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::atomic::{AtomicU32, Ordering::Relaxed};

use starmill_sinks::PrivateCluster;
use starmill_tests::binary::{Said, binary, said};
use tempfile::TempDir;

/// Whether there is a Postgres to test against; says so if not.
pub fn postgres_installed(test: &str) -> bool {
    let installed = PrivateCluster::installed();
    if let Err(error) = &installed {
        println!("skipped {test}: {error}");
    }
    installed.is_ok()
}

/// A Postgres of the test's own, in a temporary folder.
pub struct Server {
    pub cluster: PrivateCluster,
    databases: AtomicU32,
    // Dropped after the cluster.
    pub folder: TempDir,
}

impl Server {
    pub fn new() -> Self {
        let folder = tempfile::Builder::new().prefix("starmill-test-").tempdir().unwrap();
        // The server's user must be able to enter it.
        std::fs::set_permissions(folder.path(), Permissions::from_mode(0o755)).unwrap();
        let cluster = PrivateCluster::start(&folder.path().join("data")).unwrap();
        Self { cluster, databases: AtomicU32::new(0), folder }
    }

    /// An empty database, or a copy of another to which nobody is connected.
    pub fn database(&self, template: Option<&Database>) -> Database {
        let name = format!("case_{}", self.databases.fetch_add(1, Relaxed));
        let template = template.map_or_else(String::new, |template| format!(" TEMPLATE {}", template.name));
        psql(&self.cluster, &self.cluster.url(), &format!("CREATE DATABASE {name}{template}")).expect("a new database");
        Database { url: self.cluster.database_url(&name), name, psql: program(&self.cluster) }
    }

    /// Removes a database, whoever is connected.
    pub fn drop(&self, database: &Database) {
        psql(&self.cluster, &self.cluster.url(), &format!("DROP DATABASE {} WITH (FORCE)", database.name)).expect("the database goes");
    }
}

fn program(cluster: &PrivateCluster) -> PathBuf {
    cluster.psql_command().get_program().into()
}

fn psql(cluster: &PrivateCluster, url: &str, sql: &str) -> Result<String, String> {
    query(&program(cluster), url, sql)
}

/// What psql prints, columns joined by `|`; or its error.
pub fn query(program: &Path, url: &str, sql: &str) -> Result<String, String> {
    let out = Command::new(program).args(["-qAtX", "-v", "ON_ERROR_STOP=1", "-d", url, "-c", sql]).output().expect("psql starts");
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).trim().to_owned();
    if out.status.success() { Ok(text(&out.stdout)) } else { Err(text(&out.stderr)) }
}

/// A database of a server.
#[derive(Clone, Debug)]
pub struct Database {
    pub name: String,
    pub url: String,
    pub psql: PathBuf,
}

impl Database {
    /// What psql prints, columns joined by `|`.
    pub fn sql(&self, sql: &str) -> String {
        self.try_sql(sql).unwrap_or_else(|error| panic!("{sql}: {error}"))
    }

    /// The same where the server may be away.
    pub fn try_sql(&self, sql: &str) -> Result<String, String> {
        query(&self.psql, &self.url, sql)
    }

    /// A `starmill run` of a binary into this database.
    pub fn run_with(&self, binary: &Path, arguments: &[&str]) -> Command {
        let mut command = starmill_tests::binary::command(binary, Path::new("."));
        command.args(["run", "--database-url", &self.url]).args(arguments);
        command
    }

    /// Runs the binary under test into this database.
    pub fn run(&self, arguments: &[&str]) -> Said {
        said(self.run_with(binary(), arguments).output().expect("starmill starts"))
    }

    /// The same; it must end well.
    pub fn ran(&self, arguments: &[&str]) {
        let said = self.run(arguments);
        assert_eq!(said.status, Some(0), "run {arguments:?}: {said:?}");
    }
}

/// The frames of a file, each with its record mark.
pub fn frames(bytes: &[u8]) -> Vec<&[u8]> {
    let mut rest = bytes;
    let mut frames = Vec::new();
    while let Some(mark) = rest.first_chunk() {
        let length = 4 + usize::try_from(u32::from_be_bytes(*mark) & 0x7fff_ffff).unwrap();
        let (frame, after) = rest.split_at(length);
        frames.push(frame);
        rest = after;
    }
    frames
}

/// Made ledgers `from` to `to`, in a file of a folder. Ledger 1280 is the first of a day.
pub fn ledgers(folder: &Path, name: &str, from: usize, to: usize, transactions: u32) -> String {
    let count = (to - 1).to_string();
    let made =
        starmill_tests::binary::ok(folder, &["synth", "--ledgers", &count, "--tx-per-ledger", &transactions.to_string(), "-o", name]);
    assert_eq!(made, "");
    let path = folder.join(name);
    let all = std::fs::read(&path).unwrap();
    // The first frame is ledger 2.
    std::fs::write(&path, frames(&all)[from - 2..].concat()).unwrap();
    path.to_str().unwrap().to_owned()
}
