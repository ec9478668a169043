//! The binary under test, and what it said.

use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::sync::OnceLock;

use crate::workspace;

/// The binary: `STARMILL_BIN`, or built here once.
pub fn binary() -> &'static Path {
    static BINARY: OnceLock<PathBuf> = OnceLock::new();
    BINARY.get_or_init(|| {
        if let Some(given) = std::env::var_os("STARMILL_BIN") {
            return given.into();
        }
        let build = Command::new(env!("CARGO")).args(["build", "--locked", "--package", "starmill"]).current_dir(workspace()).status();
        assert!(build.expect("cargo starts").success(), "starmill does not build");
        let target = std::env::var_os("CARGO_TARGET_DIR").map_or_else(|| workspace().join("target"), PathBuf::from);
        target.join("debug/starmill")
    })
}

/// A command of the binary in a folder, with nothing of this process's own settings.
pub fn starmill(folder: &Path) -> Command {
    command(binary(), folder)
}

/// The same of another build of the binary.
pub fn command(binary: &Path, folder: &Path) -> Command {
    let mut command = Command::new(binary);
    command.current_dir(folder).stdin(Stdio::null());
    for name in ["STARMILL_NETWORK", "STARMILL_DATABASE_URL", "STARMILL_DATA_DIR", "STARMILL_ADMIN_ADDR"] {
        command.env_remove(name);
    }
    command
}

/// What a command said.
#[derive(Debug)]
pub struct Said {
    /// Exit status; `None` after a signal.
    pub status: Option<i32>,
    /// Standard output.
    pub out: String,
    /// Standard error.
    pub err: String,
}

/// Runs a command of the binary.
pub fn run(folder: &Path, arguments: &[&str]) -> Said {
    said(starmill(folder).args(arguments).output().expect("starmill starts"))
}

/// What an ended command said.
pub fn said(output: Output) -> Said {
    Said {
        status: output.status.code(),
        out: String::from_utf8_lossy(&output.stdout).into_owned(),
        err: String::from_utf8_lossy(&output.stderr).into_owned(),
    }
}

/// Runs a command that must end well, and gives what it printed.
pub fn ok(folder: &Path, arguments: &[&str]) -> String {
    let said = run(folder, arguments);
    assert_eq!(said.status, Some(0), "starmill {arguments:?}: {}", said.err);
    said.out
}

/// Runs a command that must fail with this code, on one line that says where, and gives that line.
pub fn fails(folder: &Path, arguments: &[&str], code: &str) -> String {
    let said = run(folder, arguments);
    assert_eq!(said.status, Some(1), "starmill {arguments:?}: {said:?}");
    let line = said.err.lines().find(|line| line.starts_with("error[")).unwrap_or_else(|| panic!("no error line: {said:?}")).to_owned();
    assert!(line.starts_with(&format!("error[{code}]: ")), "{line}");
    line
}

/// A folder that the server of another user can reach.
pub fn folder() -> tempfile::TempDir {
    use std::os::unix::fs::PermissionsExt;
    let folder = tempfile::tempdir().expect("a folder for the test");
    std::fs::set_permissions(folder.path(), std::fs::Permissions::from_mode(0o755)).expect("a folder of our own");
    folder
}

/// The private server of a folder, running on after the command that started it, until this is dropped.
#[derive(Debug)]
pub struct Server<'a> {
    folder: &'a Path,
    data: String,
    /// Where several processes at a time can reach it.
    pub url: String,
}

impl<'a> Server<'a> {
    /// Starts the server of the usual data folder, which must be there.
    pub fn of(folder: &'a Path) -> Self {
        Self::of_data(folder, "starmill-data")
    }

    /// Starts the server of a data folder that is there.
    pub fn of_data(folder: &'a Path, data: &str) -> Self {
        Self { folder, data: data.to_owned(), url: ok(folder, &["db", "url", "--data-dir", data]).trim().to_owned() }
    }

    /// What a query says, a line a row, columns parted by `|`.
    pub fn query(&self, sql: &str) -> String {
        let out = Command::new("psql").args([&self.url, "-qAtX", "-v", "ON_ERROR_STOP=1", "-c", sql]).output().expect("psql starts");
        assert!(out.status.success(), "{sql}: {}", String::from_utf8_lossy(&out.stderr));
        String::from_utf8_lossy(&out.stdout).trim_end().to_owned()
    }
}

impl Server<'_> {
    /// A checksum of every table that holds rows of ledgers, current state and coverage among them: `table|rows|md5`, a line a table.
    pub fn checksums(&self) -> String {
        let tables = self.query(
            "select c.relname from pg_class c where c.relnamespace = current_schema()::regnamespace and c.relkind in ('r', 'p') \
             and not c.relispartition and c.relname not like 'starmill%' and c.relname not in ('protocols') order by 1",
        );
        assert!(tables.lines().count() > 10, "{tables}");
        tables.lines().fold(String::new(), |sums, table| {
            // When a row was made is of the run, not of the ledger.
            let sql = format!(
                "select '{table}', count(*), md5(coalesce(string_agg(r, ' ' order by r), '')) \
                 from (select (to_jsonb(t) - 'created_at' - 'updated_at' - 'ingested_at')::text r from {table} t) t"
            );
            sums + &self.query(&sql) + "\n"
        })
    }
}

impl Drop for Server<'_> {
    fn drop(&mut self) {
        let _ = starmill(self.folder).args(["db", "stop", "--data-dir", &self.data]).output();
    }
}
