//! What commands do at their edges: where they write, what they say when it goes wrong, which setting beats which.

use std::io::Write as _;
use std::net::TcpListener;
use std::os::unix::fs::symlink;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use starmill_fixtures::{LedgerBuilder, hash, write_framed};
use starmill_tests::binary::{binary, fails, folder, ok, run, said, starmill};

const SMALL: [&str; 5] = ["synth", "--ledgers", "5", "--tx-per-ledger", "3"];

#[test]
fn synth_writes_through_what_is_there() {
    let folder = folder();
    let folder = folder.path();
    let synth = |to: &str| ok(folder, &[&SMALL[..], &["--output", to]].concat());
    synth("chain.xdr");
    let expected = std::fs::read(folder.join("chain.xdr")).unwrap();

    assert!(Command::new("mkfifo").arg(folder.join("pipe")).status().unwrap().success());
    let reader = Command::new("cat").arg("pipe").current_dir(folder).stdout(Stdio::piped()).spawn().unwrap();
    synth("pipe");
    let metadata = std::fs::symlink_metadata(folder.join("pipe")).unwrap();
    assert!(std::os::unix::fs::FileTypeExt::is_fifo(&metadata.file_type()), "the pipe was replaced");
    assert_eq!(reader.wait_with_output().unwrap().stdout, expected);

    std::fs::create_dir(folder.join("there")).unwrap();
    std::fs::write(folder.join("there/old"), b"old").unwrap();
    for (link, target) in [("link", "there/old"), ("new", "there/new")] {
        symlink(target, folder.join(link)).unwrap();
        synth(link);
        assert!(folder.join(link).is_symlink(), "{link} was replaced");
        assert_eq!(std::fs::read(folder.join(target)).unwrap(), expected, "{target}");
    }

    let limited = format!("trap '' XFSZ; ulimit -f 1; exec '{}' \"$@\"", binary().display());
    let arguments = [&["-c", &limited, "sh"], &SMALL[..], &["--output", "large"]].concat();
    let limited = said(Command::new("sh").args(arguments).current_dir(folder).output().unwrap());
    assert_eq!(limited.status, Some(1), "{limited:?}");
    assert!(
        limited.err.starts_with("error[io]: writing large: cannot write the ledger: ") && limited.err.lines().count() == 1,
        "{limited:?}"
    );
    assert_eq!(limited.err.matches("os error").count(), 1, "{limited:?}");
    assert!(!folder.join("large").exists() && !folder.join("large.part").exists());
}

#[test]
fn a_closed_output_is_no_failure() {
    let folder = folder();
    let folder = folder.path();
    ok(folder, &["synth", "--ledgers", "2000", "--tx-per-ledger", "1", "--output", "chain.xdr"]);
    for arguments in [&["inspect", "--json", "chain.xdr"][..], &["inspect", "chain.xdr"], &["rows", "chain.xdr"], &["synth"]] {
        let mut child = starmill(folder).args(arguments).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        drop(child.stdout.take());
        let said = said(child.wait_with_output().unwrap());
        assert!(said.status == Some(0) && said.err.is_empty(), "{arguments:?}: {said:?}");
    }
}

#[test]
fn a_server_that_says_nothing_is_not_waited_for() {
    let folder = folder();
    // The system takes connections; nobody answers them.
    let silent = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("postgres://me:secret@127.0.0.1:{}/db?connect_timeout=1", silent.local_addr().unwrap().port());
    let mut child = starmill(folder.path()).args(["status", "--database-url", &url]).stderr(Stdio::piped()).spawn().unwrap();
    let begin = Instant::now();
    while child.try_wait().unwrap().is_none() && begin.elapsed() < Duration::from_secs(20) {
        std::thread::sleep(Duration::from_millis(20));
    }
    let _ = child.kill();
    let said = said(child.wait_with_output().unwrap());
    assert!(said.status == Some(1) && said.err.starts_with("error[connection-timeout]: "), "{said:?}");
    assert!(said.err.contains("no answer within 1 s") && !said.err.contains("secret"), "{said:?}");
}

#[test]
fn a_flag_beats_a_variable_and_an_empty_one_is_none() {
    let folder = folder();
    let status = |variables: &[(&str, &str)], arguments: &[&str]| {
        let mut command = starmill(folder.path());
        command.arg("status").args(arguments).envs(variables.iter().copied());
        said(command.output().unwrap())
    };
    let (url, nowhere) = (("STARMILL_DATABASE_URL", "postgres://me@127.0.0.1:1/db"), ["--data-dir", "nowhere"]);
    for said in [status(&[url], &nowhere), status(&[("STARMILL_DATABASE_URL", "")], &nowhere), status(&[("STARMILL_DATA_DIR", "")], &[])] {
        assert!(said.err.starts_with("error[no-database]: "), "{said:?}");
    }
    for said in [status(&[url], &[]), status(&[url, ("STARMILL_DATA_DIR", "elsewhere")], &[])] {
        assert!(said.err.starts_with("error[connection-refused]: "), "{said:?}");
    }
    assert_eq!(status(&[], &["--database-url", url.1, "--data-dir", "nowhere"]).status, Some(2));
    assert_eq!(status(&[], &["--database-url", ""]).status, Some(2));
    let mut rows = starmill(folder.path());
    let said = said(rows.args(["rows", "absent"]).env("STARMILL_NETWORK", "").output().unwrap());
    assert!(said.err.starts_with("error[not-found]: "), "{said:?}");
    let help = starmill(folder.path()).args(["run", "--help"]).env(url.0, "postgres://me:secret@h/db").output().unwrap();
    assert!(!String::from_utf8_lossy(&help.stdout).contains("secret"));
}

#[test]
fn a_network_that_nobody_says_is_unknown() {
    let folder = folder();
    let folder = folder.path();
    let mut bytes = Vec::new();
    let network = hash::network_id("Test SDF Network ; September 2015");
    write_framed(&mut bytes, &LedgerBuilder::new(network, 7).build(hash::network_id("before")).unwrap()).unwrap();
    std::fs::write(folder.join("empty.xdr"), bytes).unwrap();
    let inspect = |more: &[&str]| {
        let line = ok(folder, &[&["inspect", "--json", "empty.xdr"], more].concat());
        serde_json::from_str::<serde_json::Value>(&line).unwrap()["network"].clone()
    };
    assert_eq!(inspect(&[]), "unknown");
    assert_eq!(inspect(&["--network", "testnet"]), "testnet");
    assert!(ok(folder, &["inspect", "empty.xdr"]).contains("network unknown"));
}

#[test]
fn what_is_missing_of_a_range_is_told_whole() {
    let folder = folder();
    let folder = folder.path();
    ok(folder, &[&SMALL[..], &["--output", "chain.xdr"]].concat());
    let range = |from, to, network: &[&str]| {
        let arguments = [&["run", "chain.xdr", "--sink", "null:", "--from", from, "--to", to], network].concat();
        fails(folder, &arguments, "range-not-reached")
    };
    let line = range("1", "9", &[]);
    assert!(line.contains("ledgers 1 and 7 to 9"), "{line}");
    for network in [&[][..], &["--network", "Test SDF Network ; September 2015"]] {
        let line = range("50", "60", network);
        assert!(line.contains("no ledger from 50 to 60"), "{line}");
    }
    for flag in ["--from", "--to"] {
        let said = run(folder, &["run", "chain.xdr", "--sink", "null:", flag, "0"]);
        assert!(said.status == Some(2) && said.err.contains("the first ledger of a network is 1"), "{said:?}");
    }
}

#[test]
fn errors_are_one_line_and_the_command_in_them_is_for_a_shell() {
    let folder = folder();
    let folder = folder.path();
    ok(folder, &[&SMALL[..], &["--output", "chain.xdr"]].concat());
    let mut damaged = std::fs::read(folder.join("chain.xdr")).unwrap();
    // In the transactions of the third ledger, behind its header; the record marks stay true, and the network is told by the first.
    let length = |at: usize| 4 + (u32::from_be_bytes(damaged[at..at + 4].try_into().unwrap()) & 0x7fff_ffff) as usize;
    let third = length(0) + length(length(0));
    damaged[third + 600..third + 664].fill(0xee);
    std::fs::write(folder.join("large"), [&[0xff, 0xff, 0xff, 0xfc], &damaged[4..]].concat()).unwrap();
    let line = fails(folder, &["run", "large", "--sink", "null:"], "frame-too-large");
    assert!(line.contains("damaged") && !line.contains("raise"), "{line}");
    for name in ["it's damaged", "two\nlines", "-dash"] {
        std::fs::write(folder.join(name), &damaged).unwrap();
        let named = format!("./{name}");
        let first = run(folder, &["run", &named, "--sink", "null:"]);
        assert_eq!((first.status, first.err.lines().count()), (Some(1), 1), "{first:?}");
        let command = first.err.split_once("replay it alone: starmill ").unwrap().1.trim_end();
        let again = format!("'{}' {command}", binary().display());
        let again = said(Command::new("bash").args(["-c", &again]).current_dir(folder).stdin(Stdio::null()).output().unwrap());
        let code = |said: &str| said.split_once(']').unwrap().0.to_owned();
        assert_eq!((again.status, code(&again.err)), (Some(1), code(&first.err)), "{command}: {again:?}");
        assert_eq!(again.err.lines().count(), 1, "{again:?}");
    }
}

#[test]
fn white_space_without_end_comes_to_an_end() {
    let folder = folder();
    let mut child =
        starmill(folder.path()).args(["run", "-", "--sink", "null:"]).stdin(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let mut input = child.stdin.take().unwrap();
    let lines = [b'\n'; 1 << 16];
    let begin = Instant::now();
    while input.write_all(&lines).is_ok() && begin.elapsed() < Duration::from_secs(20) {}
    let _ = child.kill();
    let said = said(child.wait_with_output().unwrap());
    assert!(said.err.starts_with("error[bad-base64]: "), "{said:?}");
}
