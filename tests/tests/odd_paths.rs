//! Folders and moments that are not the usual ones: names that are no text, starmill's own folders among the sources, signals before anything was read or
//! while the server is made or stopped, folders of somebody else.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::PermissionsExt as _;
use std::os::unix::process::CommandExt as _;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use starmill_tests::binary::{Said, binary, fails, folder, ok, run, said, starmill};

/// A chain of ledgers 2 to 6.
fn chain(folder: &Path, name: &str) {
    ok(folder, &["synth", "--ledgers", "5", "--tx-per-ledger", "3", "--output", name]);
}

/// Waits until something is there.
fn until(what: &str, mut there: impl FnMut() -> bool) {
    let begin = Instant::now();
    while !there() {
        assert!(begin.elapsed() < Duration::from_secs(60), "waited in vain for {what}");
        std::thread::sleep(Duration::from_millis(5));
    }
}

/// Waits for a child, but not for ever.
fn ended(mut child: Child, limit: Duration) -> Said {
    let begin = Instant::now();
    while child.try_wait().unwrap().is_none() && begin.elapsed() < limit {
        std::thread::sleep(Duration::from_millis(10));
    }
    let late = begin.elapsed() >= limit;
    let _ = child.kill();
    let said = said(child.wait_with_output().unwrap());
    assert!(!late, "not ended after {limit:?}: {said:?}");
    said
}

fn kill(signal: &str, target: &str) {
    assert!(Command::new("kill").args([signal, "--", target]).status().unwrap().success());
}

#[test]
fn names_that_are_not_utf_8_are_read() {
    let folder = folder();
    let folder = folder.path();
    std::fs::create_dir(folder.join("odd")).unwrap();
    chain(folder, "chain.xdr");
    std::fs::rename(folder.join("chain.xdr"), folder.join("odd").join(OsStr::from_bytes(b"\xff.xdr"))).unwrap();
    for source in ["odd/*", "*/?.xdr", "odd", "**/*.xdr"] {
        let said = run(folder, &["run", source, "--sink", "null:", "--json"]);
        assert!(said.status == Some(0) && said.out.contains("\"ledgers\":5"), "{source}: {said:?}");
    }
}

#[test]
fn starmills_own_folders_are_no_sources() {
    let folder = folder();
    let folder = folder.path();
    chain(folder, "chain.xdr");
    for source in [".", ".", "*", "**/*"] {
        ok(folder, &["run", source]);
    }
    for source in [".", ".", "*", "**/*"] {
        ok(folder, &["run", source, "--sink", "jsonl:rows"]);
    }
    ok(folder, &["run", "chain.xdr", "rows", "starmill-data", "--sink", "jsonl:rows"]);
}

#[test]
fn a_signal_ends_a_run_that_waits_for_its_first_ledger() {
    let folder = folder();
    let stdin = || starmill(folder.path()).args(["run", "-"]).stdin(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    for signal in ["-INT", "-TERM", "-HUP"] {
        let mut child = stdin();
        // Nothing comes, and the pipe stays open.
        let _input = child.stdin.take();
        std::thread::sleep(Duration::from_millis(500));
        kill(signal, &child.id().to_string());
        let said = ended(child, Duration::from_secs(5));
        assert_eq!(said.status, Some(130), "{signal}: {said:?}");
    }
}

#[test]
fn a_run_that_is_to_outlive_its_terminal_does() {
    let folder = folder();
    let script = format!("trap '' HUP; exec '{}' run - --sink null:", binary().display());
    let mut child =
        Command::new("sh").args(["-c", &script]).current_dir(folder.path()).stdin(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let input = child.stdin.take();
    std::thread::sleep(Duration::from_millis(500));
    kill("-HUP", &child.id().to_string());
    std::thread::sleep(Duration::from_millis(500));
    assert!(child.try_wait().unwrap().is_none());
    drop(input);
    let said = ended(child, Duration::from_secs(5));
    assert!(said.err.starts_with("error[empty-file]: "), "{said:?}");
}

#[test]
fn ctrl_c_at_a_terminal_does_not_reach_the_making_of_the_database() {
    let folder = folder();
    let folder = folder.path();
    chain(folder, "chain.xdr");
    let child = starmill(folder).args(["run", "chain.xdr"]).process_group(0).stderr(Stdio::piped()).stdout(Stdio::null()).spawn().unwrap();
    let unfinished = || {
        let mut entries = std::fs::read_dir(folder.join("starmill-data")).into_iter().flatten().flatten();
        entries
            .any(|entry| entry.file_name().to_string_lossy().starts_with("postgres.unfinished") && entry.path().join("PG_VERSION").exists())
    };
    until("initdb", unfinished);
    // As the terminal does it: to the whole group.
    kill("-INT", &format!("-{}", child.id()));
    let said = ended(child, Duration::from_secs(60));
    assert!(said.status == Some(130) && !said.err.contains("error["), "{said:?}");
    ok(folder, &["run", "chain.xdr"]);
}

#[test]
fn a_server_killed_while_it_is_stopped_is_not_waited_for() {
    let folder = folder();
    let folder = folder.path();
    chain(folder, "chain.xdr");
    ok(folder, &["run", "chain.xdr"]);
    let pid_file = folder.join("starmill-data/postgres/postmaster.pid");
    // The server hears nothing any more; so it cannot stop when it is asked to.
    let freeze = format!("\\! kill -STOP $(head -n 1 '{}'); touch frozen", pid_file.display());
    let child = starmill(folder).args(["db", "psql", "--", "-qc", &freeze]).stderr(Stdio::piped()).stdout(Stdio::null()).spawn().unwrap();
    until("psql", || folder.join("frozen").exists());
    let pid = std::fs::read_to_string(&pid_file).unwrap().lines().next().unwrap().to_owned();
    std::thread::sleep(Duration::from_secs(1));
    kill("-KILL", &pid);
    ended(child, Duration::from_secs(30));
    ok(folder, &["run", "chain.xdr"]);
}

#[test]
fn a_folder_of_somebody_else_is_not_an_empty_one() {
    let folder = folder();
    let folder = folder.path();
    chain(folder, "chain.xdr");
    ok(folder, &["run", "chain.xdr"]);
    let barred = folder.join("starmill-data/postgres");
    let mode = std::fs::metadata(&barred).unwrap().permissions();
    std::fs::set_permissions(&barred, std::fs::Permissions::from_mode(0o000)).unwrap();
    for arguments in [&["status"][..], &["db", "stop"], &["db", "url"]] {
        let mut command = starmill(folder);
        command.args(arguments);
        if Command::new("id").arg("-u").output().unwrap().stdout == b"0\n" {
            // Root sees everything: ask as nobody.
            command.uid(65534).gid(65534);
        }
        let Ok(output) = command.output() else {
            println!("skipped a_folder_of_somebody_else_is_not_an_empty_one: nobody cannot reach the program");
            break;
        };
        let said = said(output);
        assert!(said.status == Some(1) && said.err.starts_with("error[data-dir-forbidden]: "), "{arguments:?}: {said:?}");
    }
    std::fs::set_permissions(&barred, mode).unwrap();
    // What is no folder at all is told, too.
    fails(folder, &["db", "stop", "--data-dir", "chain.xdr"], "io");
}

#[test]
fn the_data_folder_may_have_any_name_of_one_line() {
    let folder = folder();
    let folder = folder.path();
    chain(folder, "chain.xdr");
    for name in ["back\\slash", "it's \"100%\" \\'n, ok\\"] {
        ok(folder, &["run", "chain.xdr", "--data-dir", name]);
        assert!(ok(folder, &["status", "--json", "--data-dir", name]).contains("\"coverage\":[[2,6]]"), "{name}");
    }
    let line = fails(folder, &["run", "chain.xdr", "--data-dir", "two\nlines"], "data-dir-name");
    assert!(line.contains("two\\nlines") && !folder.join("two\nlines").exists(), "{line}");
}

#[test]
fn threads_that_cannot_start_are_an_error() {
    let folder = folder();
    let folder = folder.path();
    chain(folder, "chain.xdr");
    let mut refused = 0;
    for limit in 1..=8 {
        let script = format!("ulimit -u {limit}; exec '{}' run chain.xdr --sink null: --threads 2", binary().display());
        let mut command = Command::new("bash");
        command.args(["-c", &script]).current_dir(folder);
        if Command::new("id").arg("-u").output().unwrap().stdout == b"0\n" {
            // Limits of processes are not for root. A user without any other process.
            command.uid(65533).gid(65533);
        }
        let said = said(command.output().unwrap());
        if said.err.contains("bash") {
            println!("skipped threads_that_cannot_start_are_an_error: {}", said.err);
            return;
        }
        refused += usize::from(said.err.starts_with("error[thread]: "));
        assert!(said.status == Some(0) || said.err.starts_with("error[thread]: "), "{limit}: {said:?}");
        assert!(said.status == Some(0) || said.err.lines().count() == 1, "{limit}: {said:?}");
    }
    assert!(refused > 1, "{refused}");
}
