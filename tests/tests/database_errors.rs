//! What a database can do to a run: statements that are stopped, sessions that are ended, a server that restarts, locks and deadlocks, no room, no right.
//!
//! What passes by itself is waited for, and the run ends well. What does not is one line with a code, status 1, nothing of the batch in the tables; and once
//! it is put right, the same command again completes. Either way the tables are those of an undisturbed run.

mod support;

use std::collections::BTreeMap;
use std::io::Write as _;
use std::os::unix::fs::MetadataExt as _;
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use starmill_sinks::PrivateCluster;
use starmill_tests::binary::{Said, binary, folder, ok, run, said, starmill};
use support::sessions::{Session, wait_until};
use support::tables::{assert_same, sums};
use support::{Database, Server, frames, ledgers, postgres_installed};

/// Connections for copying: one transaction a batch, and history ahead of its commit.
const CONNECTIONS: [&str; 2] = ["0", "2"];

struct Scene {
    server: Server,
    file: String,
    before: Database,
    undisturbed: BTreeMap<String, String>,
}

impl Scene {
    /// A run that goes on from ledger 1269 to 1300. The day changes at 1280.
    fn new(test: &str) -> Option<Self> {
        if !postgres_installed(test) {
            return None;
        }
        let server = Server::new();
        let file = ledgers(server.folder.path(), "chain.xdr", 1262, 1300, 5);
        let before = server.database(None);
        before.ran(&[&file, "--to", "1269"]);
        let all = server.database(Some(&before));
        all.ran(&[&file]);
        let undisturbed = sums(&all);
        Some(Self { server, file, before, undisturbed })
    }

    fn database(&self) -> Database {
        self.server.database(Some(&self.before))
    }

    fn start(&self, database: &Database, connections: &str) -> Child {
        let bounds = ["--batch-ledgers", "8", "--copy-connections", connections, "--copy-rows-min", "0"];
        let mut command = database.run_with(binary(), &[&self.file]);
        command.args(bounds).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap()
    }

    fn same(&self, database: &Database, what: &str) {
        assert_same(&sums(database), &self.undisturbed, what);
    }

    /// Something happens while the first commit waits for a lock; the run must come to its end by itself.
    fn goes_on(&self, what: &str, happens: impl Fn(&Database, &mut Session)) {
        for connections in CONNECTIONS {
            let database = self.database();
            let mut other = Session::open(&database);
            // All but the coverage of the batch is written then.
            other.run("BEGIN; LOCK TABLE ledger_coverage IN EXCLUSIVE MODE");
            let run = self.start(&database, connections);
            wait_for_lock(&database);
            happens(&database, &mut other);
            drop(other);
            ended_well(run, what);
            self.same(&database, &format!("{what}, {connections} connections"));
        }
    }

    /// Something bars the way: the run must end with this code and leave nothing that is not committed; without it, the next completes.
    fn is_refused(&self, code: &str, bar: &str, unbar: &str) {
        for connections in CONNECTIONS {
            let database = self.database();
            database.sql(bar);
            let said = said(self.start(&database, connections).wait_with_output().unwrap());
            assert_fails(&said, code);
            database.sql(unbar);
            let left = "SELECT count(*) FROM transactions WHERE NOT ledger_is_committed(ledger_number)";
            assert_eq!(database.sql(&format!("SELECT (SELECT count(*) FROM starmill_pending) + ({left})")), "0", "{code}");
            ended_well(self.start(&database, connections), code);
            self.same(&database, &format!("{code}, {connections} connections"));
        }
    }
}

/// One line with the code, and status 1.
fn assert_fails(said: &Said, code: &str) {
    let lines: Vec<_> = said.err.lines().filter(|line| line.starts_with("error[")).collect();
    assert!(said.status == Some(1) && lines.len() == 1 && lines[0].starts_with(&format!("error[{code}]: ")), "{code}: {said:?}");
}

fn ended_well(run: Child, what: &str) {
    let said = said(run.wait_with_output().unwrap());
    assert_eq!(said.status, Some(0), "{what}: {said:?}");
}

fn wait_for_lock(database: &Database) {
    let waiting = "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND application_name = 'starmill' AND wait_event_type = 'Lock'";
    wait_until("starmill waits for a lock", || database.sql(waiting) != "0");
}

/// Runs a function of the server on all of starmill's sessions of a database.
fn to_all_sessions(database: &Database, function: &str) {
    let of = "FROM pg_stat_activity WHERE datname = current_database() AND application_name = 'starmill'";
    assert_ne!(database.sql(&format!("SELECT count({function}(pid)) {of}")), "0");
}

#[test]
fn what_passes_is_waited_for() {
    let Some(scene) = Scene::new("what_passes_is_waited_for") else { return };
    scene.goes_on("a lock that is held for a while", |_, _| std::thread::sleep(Duration::from_secs(1)));
    scene.goes_on("a statement that is cancelled", |database, _| to_all_sessions(database, "pg_cancel_backend"));
    scene.goes_on("a statement that is cancelled twice", |database, _| {
        to_all_sessions(database, "pg_cancel_backend");
        std::thread::sleep(Duration::from_millis(400));
        wait_for_lock(database);
        to_all_sessions(database, "pg_cancel_backend");
    });
    scene.goes_on("sessions that are ended", |database, _| to_all_sessions(database, "pg_terminate_backend"));
}

#[test]
fn limits_of_a_role_or_database_do_not_count() {
    let Some(scene) = Scene::new("limits_of_a_role_or_database_do_not_count") else { return };
    for setting in ["statement_timeout", "lock_timeout", "idle_in_transaction_session_timeout"] {
        let database = scene.database();
        database.sql(&format!("ALTER DATABASE {} SET {setting} TO '1ms'", database.name));
        ended_well(scene.start(&database, "2"), setting);
        database.sql(&format!("SET {setting} TO 0; ALTER DATABASE {} RESET {setting}", database.name));
        scene.same(&database, setting);
    }
}

#[test]
fn a_statement_timeout_that_does_count() {
    let Some(scene) = Scene::new("a_statement_timeout_that_does_count") else { return };
    for connections in CONNECTIONS {
        let database = scene.database();
        // A trigger gives the first transaction a limit, which only its last statement exceeds.
        database.sql(
            "CREATE SEQUENCE hurried; \
             CREATE FUNCTION hurry() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN \
               IF nextval('hurried') = 1 THEN PERFORM set_config('statement_timeout', '100ms', true); END IF; RETURN NULL; END $$; \
             CREATE FUNCTION dawdle() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN \
               IF current_setting('statement_timeout') <> '0' THEN PERFORM pg_sleep(30); END IF; RETURN NULL; END $$; \
             CREATE TRIGGER hurry AFTER INSERT ON native_balances FOR EACH STATEMENT EXECUTE FUNCTION hurry(); \
             CREATE TRIGGER dawdle AFTER INSERT ON ledger_coverage FOR EACH STATEMENT EXECUTE FUNCTION dawdle()",
        );
        ended_well(scene.start(&database, connections), "a timeout");
        assert!(database.sql("SELECT last_value FROM hurried").parse::<u32>().unwrap() > 1);
        scene.same(&database, "a statement timeout");
    }
}

#[test]
fn a_deadlock() {
    let Some(scene) = Scene::new("a_deadlock") else { return };
    for connections in CONNECTIONS {
        let database = scene.database();
        // starmill is the one that notices, and is sent away.
        database.sql(&format!("ALTER DATABASE {} SET deadlock_timeout TO '2s'", database.name));
        let mut other = Session::open(&database);
        other.run("SET deadlock_timeout TO '1min'; BEGIN; LOCK TABLE ledger_coverage IN EXCLUSIVE MODE");
        let run = scene.start(&database, connections);
        wait_for_lock(&database);
        other.run("LOCK TABLE native_balances IN ACCESS EXCLUSIVE MODE; COMMIT");
        drop(other);
        ended_well(run, "a deadlock");
        let deadlocks = format!("SELECT deadlocks FROM pg_stat_database WHERE datname = '{}'", database.name);
        wait_until("the deadlock is counted", || database.sql(&deadlocks) != "0");
        scene.same(&database, "a deadlock");
    }
}

#[test]
fn a_server_that_restarts() {
    let Some(scene) = Scene::new("a_server_that_restarts") else { return };
    let pg_ctl = PrivateCluster::installed().unwrap().1.join("pg_ctl");
    let data = scene.server.folder.path().join("data/postgres");
    for mode in ["fast", "immediate"] {
        scene.goes_on(&format!("a restart, {mode}"), |_, _| {
            let owner = std::fs::metadata(&data).unwrap();
            let mut command = Command::new(&pg_ctl);
            command.args(["restart", "-w", "-s", "-m", mode, "-D"]).arg(&data).arg("-l").arg(data.join("restart.log"));
            assert!(command.uid(owner.uid()).gid(owner.gid()).status().unwrap().success());
        });
    }
}

#[test]
fn its_own_server_is_killed_and_comes_back() {
    if !postgres_installed("its_own_server_is_killed_and_comes_back") {
        return;
    }
    let folder = folder();
    let folder = folder.path();
    let file = ledgers(folder, "chain.xdr", 2, 60, 5);
    ok(folder, &["run", &file, "--data-dir", "undisturbed"]);
    let bytes = std::fs::read(&file).unwrap();
    let frames = frames(&bytes);
    let (first, rest) = frames.split_at(20);
    let mut run = starmill(folder).args(["run", "-"]).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let mut input = run.stdin.take().unwrap();
    input.write_all(&first.concat()).unwrap();
    let mine = data_folder(folder, "starmill-data");
    wait_until("the first ledgers are there", || {
        mine.try_sql("SELECT count(*) FROM ledger_coverage WHERE hi = 21").is_ok_and(|n| n == "1")
    });
    let pid = std::fs::read_to_string(folder.join("starmill-data/postgres/postmaster.pid")).unwrap();
    assert!(Command::new("kill").args(["-9", pid.lines().next().unwrap()]).status().unwrap().success());
    for frame in rest {
        input.write_all(frame).unwrap();
    }
    drop(input);
    std::thread::sleep(Duration::from_millis(300));
    ok(folder, &["db", "url"]);
    ended_well(run, "its server came back");
    ok(folder, &["db", "url", "--data-dir", "undisturbed"]);
    assert_same(&sums(&mine), &sums(&data_folder(folder, "undisturbed")), "its own server was killed");
    for data in ["starmill-data", "undisturbed"] {
        ok(folder, &["db", "stop", "--data-dir", data]);
    }
}

/// The database of a private cluster, which need not run yet.
fn data_folder(folder: &Path, name: &str) -> Database {
    let socket = folder.join(name).join("socket");
    let url = format!("postgresql:///starmill?host={}&port=5432&user=starmill", socket.display());
    Database { name: "starmill".into(), url, psql: psql() }
}

fn psql() -> PathBuf {
    PrivateCluster::installed().unwrap().1.join("psql")
}

#[test]
fn what_does_not_pass_is_named_and_leaves_nothing() {
    let Some(scene) = Scene::new("what_does_not_pass_is_named_and_leaves_nothing") else { return };
    scene.is_refused(
        "row-refused",
        "ALTER TABLE operations ADD CONSTRAINT barred CHECK (ledger_number <> 1285)",
        "ALTER TABLE operations DROP CONSTRAINT barred",
    );
    let stray = "to_id, hash, fee_charged, result_code, ledger_number, ledger_created_at";
    scene.is_refused(
        "rows-exist",
        &format!(
            "INSERT INTO transactions ({stray}) SELECT (1272::int8 << 32) + (to_id & 4294967295), '\\x00', 1, 'stray', 1272, \
             to_timestamp(1700000000 + 5 * 1272) FROM transactions WHERE ledger_number = 1265"
        ),
        "DELETE FROM transactions WHERE result_code = 'stray'",
    );
    let name = "SELECT 1";
    for connections in CONNECTIONS {
        let database = scene.database();
        database.sql(name);
        database.sql(&format!("ALTER DATABASE {} SET default_transaction_read_only TO on", database.name));
        let run = scene.start(&database, connections);
        assert_fails(&said(run.wait_with_output().unwrap()), "database-read-only");
        database.sql(&format!("BEGIN READ WRITE; ALTER DATABASE {} RESET default_transaction_read_only; COMMIT", database.name));
        ended_well(scene.start(&database, connections), "read only");
        scene.same(&database, "read only");
    }
    let mut nowhere = scene.database();
    nowhere.url = nowhere.url.replace(&nowhere.name, "nowhere");
    assert_fails(&nowhere.run(&[&scene.file]), "database-missing");
    nowhere.url = nowhere.url.replace("port=5432", "port=5433");
    assert_fails(&nowhere.run(&[&scene.file]), "connection-refused");
}

/// A file system of its own, of a size that can be changed; `None` where this process may not make one.
struct SmallDisk(PathBuf);

impl SmallDisk {
    fn new(at: PathBuf, size: &str) -> Option<Self> {
        std::fs::create_dir(&at).unwrap();
        let options = format!("size={size},mode=755");
        let mounted = Command::new("mount").args(["-t", "tmpfs", "-o", &options, "tmpfs"]).arg(&at).stderr(Stdio::null()).status();
        mounted.is_ok_and(|status| status.success()).then_some(Self(at))
    }

    fn grow(&self, size: &str) {
        let grown = Command::new("mount").args(["-o", &format!("remount,size={size}")]).arg(&self.0).status();
        assert!(grown.unwrap().success());
    }
}

impl Drop for SmallDisk {
    fn drop(&mut self) {
        let _ = Command::new("umount").arg("-l").arg(&self.0).status();
    }
}

#[test]
fn a_full_disk_is_said_and_what_fits_later_completes() {
    if !postgres_installed("a_full_disk_is_said_and_what_fits_later_completes") {
        return;
    }
    let folder = folder();
    let folder = folder.path();
    let Some(disk) = SmallDisk::new(folder.join("disk"), "150m") else {
        println!("skipped a_full_disk_is_said_and_what_fits_later_completes: this process may not mount a small disk");
        return;
    };
    ok(folder, &["synth", "--ledgers", "600", "--tx-per-ledger", "200", "--output", "chain.xdr"]);
    let data = ["--data-dir", "disk/data"];
    let said = run(folder, &["run", "chain.xdr", data[0], data[1]]);
    // A server that cannot write its log ends itself; then all that is seen here is the lost connection.
    let told = said.err.contains("error[disk-full]: ") || said.err.contains("error[connection-lost]: ");
    assert!(said.status == Some(1) && told, "{said:?}");
    disk.grow("3g");
    // Where the log of the server itself had no room, it starts again first.
    let stood = ok(folder, &["status", "--json", data[0], data[1]]);
    let covered: serde_json::Value = serde_json::from_str::<serde_json::Value>(&stood).unwrap()["coverage"].clone();
    assert!(covered.as_array().unwrap().len() <= 1, "{said:?} {covered}");
    ok(folder, &["run", "chain.xdr", data[0], data[1]]);
    ok(folder, &["run", "chain.xdr"]);
    let tables = |data: &str| {
        ok(folder, &["db", "url", "--data-dir", data]);
        let sums = sums(&data_folder(folder, data));
        ok(folder, &["db", "stop", "--data-dir", data]);
        sums
    };
    assert_same(&tables(data[1]), &tables("starmill-data"), "a full disk");
}
