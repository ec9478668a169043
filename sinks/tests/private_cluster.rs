//! The private cluster as a user meets it: made, started, used by several, stopped, killed, taken over.

mod support;

use std::path::Path;
use std::process::Command;
use std::time::{Duration, Instant};

use base64 as _;
use bytes as _;
use futures_util as _;
use hex as _;
use itoa as _;
use proptest as _;
use serde_json as _;
use sha2 as _;
use starmill_ledger::sink::Sink as _;
use starmill_sinks::{PostgresConfig, PostgresSink, PrivateCluster};
use starmill_xdr as _;
use stellar_strkey as _;
use support::{NETWORK, Sql, batch, folder, postgres_installed, text};
use thiserror as _;

fn server_pid(data: &Path) -> Option<u32> {
    text(&data.join("postgres/postmaster.pid")).lines().next()?.parse().ok()
}

fn alive(pid: u32) -> bool {
    text(Path::new(&format!("/proc/{pid}/stat"))).rsplit(") ").next().is_some_and(|rest| !rest.is_empty() && !rest.starts_with('Z'))
}

/// Whether a process that was told to end does so soon: its files go a moment before it does.
fn ends(pid: u32) -> bool {
    let until = Instant::now() + Duration::from_secs(10);
    while alive(pid) && Instant::now() < until {
        std::thread::sleep(Duration::from_millis(10));
    }
    !alive(pid)
}

fn kill(pid: u32) {
    assert!(Command::new("kill").args(["-9", &pid.to_string()]).status().unwrap().success());
    let until = Instant::now() + Duration::from_secs(10);
    while alive(pid) {
        assert!(Instant::now() < until);
        std::thread::sleep(Duration::from_millis(5));
    }
}

#[test]
fn starts_stops_and_keeps_its_data() {
    if !postgres_installed("starts_stops_and_keeps_its_data") {
        return;
    }
    let folder = folder();
    let data = folder.path().join("data");
    assert!(!PrivateCluster::exists(&data).unwrap());
    // As an interrupted initdb leaves it.
    std::fs::create_dir_all(data.join("postgres.unfinished/base")).unwrap();
    let cluster = PrivateCluster::start(&data).unwrap();
    assert!(PrivateCluster::exists(&data).unwrap() && !data.join("postgres.unfinished").exists());
    let error = PrivateCluster::start(&data).unwrap_err();
    assert_eq!(error.code(), "data-dir-busy");
    assert!(error.to_string().contains(&format!("process {}", std::process::id())), "{error}");
    assert_eq!(PrivateCluster::shut_down(&data).unwrap_err().code(), "cluster-in-use");

    let mut sink = PostgresSink::open(PostgresConfig::new(cluster.url(), NETWORK)).unwrap();
    sink.commit(&mut batch(1..4)).unwrap();
    drop(sink);
    let psql = cluster.psql_command().args(["-qAtXc", "SELECT count(*), current_database(), current_setting('server_encoding'), current_setting('listen_addresses') FROM transactions"]).output();
    if let Ok(output) = psql {
        assert_eq!(String::from_utf8_lossy(&output.stdout).trim(), "30|starmill|UTF8|", "{}", String::from_utf8_lossy(&output.stderr));
    }
    let pid = server_pid(&data).unwrap();
    // Whoever only reads uses the same server, and does not stop it for the writer.
    let reader = PrivateCluster::attach(&data).unwrap();
    assert_eq!(reader.url(), cluster.url());
    reader.stop().unwrap();
    assert!(alive(pid));
    // The last one stops it, whoever started it.
    let reader = PrivateCluster::attach(&data).unwrap();
    cluster.stop().unwrap();
    assert!(alive(pid));
    assert_eq!(Sql::connect(&reader.url()).count("transactions"), 30);
    drop(reader);
    assert!(ends(pid) && server_pid(&data).is_none());
    assert!(!PrivateCluster::shut_down(&data).unwrap());

    // Told to keep it running, nobody stops it but `shut_down`.
    PrivateCluster::attach(&data).unwrap().leave_running().unwrap();
    let pid = server_pid(&data).unwrap();
    let reader = PrivateCluster::attach(&data).unwrap();
    assert_eq!(Sql::connect(&reader.url()).count("transactions"), 30);
    reader.stop().unwrap();
    assert!(alive(pid));
    assert!(PrivateCluster::shut_down(&data).unwrap());
    assert!(ends(pid));
}

#[test]
fn takes_over_after_a_kill() {
    if !postgres_installed("takes_over_after_a_kill") {
        return;
    }
    let folder = folder();
    let data = folder.path().join("data");
    let cluster = PrivateCluster::start(&data).unwrap();
    let mut config = PostgresConfig::new(cluster.url(), NETWORK);
    config.retry_max = std::time::Duration::ZERO;
    let mut sink = PostgresSink::open(config).unwrap();
    sink.commit(&mut batch(1..4)).unwrap();
    // Postgres killed while in use: commits fail, stopping is no error, the next start recovers what was committed.
    let pid = server_pid(&data).unwrap();
    kill(pid);
    assert_eq!(sink.commit(&mut batch(4..5)).unwrap_err().code(), "connection-lost");
    drop(sink);
    cluster.stop().unwrap();
    assert_eq!(server_pid(&data), Some(pid), "the file is stale");
    let cluster = PrivateCluster::start(&data).unwrap();
    let mut sink = PostgresSink::open(PostgresConfig::new(cluster.url(), NETWORK)).unwrap();
    assert!(sink.coverage().contains(3) && !sink.coverage().contains(4));
    sink.commit(&mut batch(4..5)).unwrap();
    drop(sink);

    // A stale file whose number now belongs to another process: ours.
    let pid = server_pid(&data).unwrap();
    kill(pid);
    cluster.stop().unwrap();
    let path = data.join("postgres/postmaster.pid");
    let stale = text(&path).replacen(&pid.to_string(), &std::process::id().to_string(), 1);
    std::fs::write(&path, stale).unwrap();
    let cluster = PrivateCluster::start(&data).unwrap();
    assert_eq!(Sql::connect(&cluster.url()).count("transactions"), 40);
    cluster.stop().unwrap();
}

/// Run by `a_server_outlives_a_killed_starmill` in a process of its own.
#[test]
fn helper_that_starts_a_cluster_and_waits() {
    let Ok(data) = std::env::var("STARMILL_TEST_CLUSTER") else { return };
    let cluster = PrivateCluster::start(Path::new(&data)).unwrap();
    println!("{}", cluster.url());
    std::thread::sleep(Duration::from_mins(1));
}

#[test]
fn a_server_outlives_a_killed_starmill() {
    if !postgres_installed("a_server_outlives_a_killed_starmill") {
        return;
    }
    let folder = folder();
    let data = folder.path().join("data");
    let mut starmill = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "helper_that_starts_a_cluster_and_waits", "--nocapture"])
        .env("STARMILL_TEST_CLUSTER", &data)
        .stdout(std::process::Stdio::null())
        .spawn()
        .unwrap();
    let until = Instant::now() + Duration::from_mins(1);
    while !text(&data.join("postgres/postmaster.pid")).contains("ready") {
        assert!(Instant::now() < until, "{}", text(&data.join("postgres.log")));
        std::thread::sleep(Duration::from_millis(20));
    }
    let error = PrivateCluster::start(&data).unwrap_err();
    assert_eq!(error.code(), "data-dir-busy");
    assert!(error.to_string().contains(&format!("process {}", starmill.id())), "{error}");
    starmill.kill().unwrap();
    starmill.wait().unwrap();
    let pid = server_pid(&data).unwrap();
    assert!(alive(pid), "the server is an orphan");
    // The next writer uses it, and stops it when it leaves.
    let cluster = PrivateCluster::start(&data).unwrap();
    assert_eq!(server_pid(&data), Some(pid));
    assert_eq!(Sql::connect(&cluster.url()).one("SELECT 1"), "1");
    cluster.stop().unwrap();
    assert!(ends(pid));
}

#[test]
fn any_folder_name_will_do() {
    if !postgres_installed("any_folder_name_will_do") {
        return;
    }
    let folder = folder();
    for (name, here) in [("'quotes' & \"more\" %41", true), ("a, b", false), (&"long".repeat(25), false)] {
        let data = folder.path().join(name);
        let cluster = PrivateCluster::start(&data).unwrap();
        assert_eq!(data.join("socket").exists(), here, "{name}");
        let sql = Sql::connect(&cluster.url());
        assert_eq!(sql.one("SELECT current_database()"), "starmill");
        let psql = cluster.psql_command().args(["-qAtXc", "SELECT 1"]).output();
        assert!(psql.is_err() || psql.is_ok_and(|output| output.stdout == b"1\n"), "{name}");
        let socket = sql.one("SHOW unix_socket_directories");
        cluster.stop().unwrap();
        if !here {
            std::fs::remove_dir(socket.trim_matches('"')).unwrap();
        }
    }
}

#[test]
fn says_what_is_wrong_with_the_folder() {
    if !postgres_installed("says_what_is_wrong_with_the_folder") {
        return;
    }
    let folder = folder();
    let data = folder.path().join("data");
    std::fs::create_dir_all(data.join("postgres")).unwrap();
    std::fs::write(data.join("postgres/PG_VERSION"), "9\n").unwrap();
    let error = PrivateCluster::start(&data).unwrap_err();
    assert_eq!(error.code(), "postgres-version");
    assert!(error.to_string().contains("made by PostgreSQL 9"), "{error}");
    std::fs::rename(data.join("postgres/PG_VERSION"), data.join("postgres/other")).unwrap();
    assert_eq!(PrivateCluster::start(&data).unwrap_err().code(), "not-a-cluster");

    // A broken configuration: the log's end is in the message.
    let data = folder.path().join("broken");
    PrivateCluster::start(&data).unwrap().stop().unwrap();
    let conf = data.join("postgres/postgresql.conf");
    std::fs::write(&conf, text(&conf) + "\nno_such_setting = 1\n").unwrap();
    let error = PrivateCluster::start(&data).unwrap_err();
    assert_eq!(error.code(), "postgres-start");
    assert!(error.to_string().contains("no_such_setting"), "{error}");

    // Only root starts the server as another user, who may be barred.
    let own = Path::new("/proc/self").metadata().unwrap();
    if std::os::unix::fs::MetadataExt::uid(&own) == 0 {
        let barred = support::folder();
        std::fs::set_permissions(barred.path(), std::os::unix::fs::PermissionsExt::from_mode(0o700)).unwrap();
        let error = PrivateCluster::start(&barred.path().join("data")).unwrap_err();
        assert_eq!(error.code(), "data-dir-unreachable");
        assert!(error.to_string().contains(&format!("chmod o+x {}", barred.path().canonicalize().unwrap().display())), "{error}");
    } else {
        eprintln!("says_what_is_wrong_with_the_folder: not root, the barred folder is skipped");
    }
}
