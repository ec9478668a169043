//! `run --backfill` of whole partitions: the tables are those that inserting gives, nobody sees a row before its partition is whole, and a process that is
//! killed in the middle leaves nothing that the next one does not clear away.

mod support;

use std::io::{Read as _, Write as _};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use support::tables::{assert_same, sums};
use support::{Database, Server, frames, ledgers, postgres_installed};

/// Made ledgers of four days: the day changes before 1280, 18560 and 35840. In each day there are some, with holes between.
const FIRST: usize = 1262;
const RUNS: [(usize, usize); 3] = [(1262, 1299), (18_540, 18_575), (35_835, 35_845)];
/// The tip has the last of them, so the last day has its partition.
const TOP: (usize, usize) = (35_841, 35_845);

struct Scene {
    server: Server,
    /// All ledgers in one file, `top` those of the tip.
    file: String,
    top: String,
}

impl Scene {
    fn new(test: &str) -> Option<Self> {
        if !postgres_installed(test) {
            return None;
        }
        let server = Server::new();
        let folder = server.folder.path();
        let all = ledgers(folder, "all.xdr", FIRST, RUNS[2].1, 3);
        let bytes = std::fs::read(&all).unwrap();
        let frames = frames(&bytes);
        let write = |name: &str, runs: &[(usize, usize)]| {
            let path = folder.join(name);
            let parts: Vec<u8> = runs.iter().flat_map(|(from, to)| frames[from - FIRST..=to - FIRST].concat()).collect();
            std::fs::write(&path, parts).unwrap();
            path.to_str().unwrap().to_owned()
        };
        let (file, top) = (write("runs.xdr", &RUNS), write("top.xdr", &[TOP]));
        Some(Self { server, file, top })
    }

    /// A database in which the tip has written its ledgers.
    fn with_tip(&self) -> Database {
        let database = self.server.database(None);
        database.ran(&[&self.top]);
        database
    }
}

const BACKFILL: [&str; 2] = ["--backfill", "--allow-gaps"];

fn backfill(database: &Database, more: &[&str]) -> Command {
    let mut arguments = BACKFILL.to_vec();
    arguments.extend(more);
    database.run_with(starmill_tests::binary::binary(), &arguments)
}

/// Tables of partitions that are being loaded.
fn hidden(database: &Database) -> String {
    database.sql("SELECT count(*) FROM pg_class WHERE relkind = 'r' AND relname ~ '^starmill_bulk_.*_p[0-9]+$'")
}

fn covered(database: &Database) -> String {
    database.sql("SELECT string_agg(lo || '-' || hi, ' ' ORDER BY lo) FROM ledger_coverage")
}

#[test]
fn the_same_tables_as_inserting() {
    let Some(scene) = Scene::new("the_same_tables_as_inserting") else { return };
    let inserted = scene.with_tip();
    // The tip's writer inserts, whatever is below its top.
    inserted.ran(&["--allow-gaps", &scene.file]);
    let expected = sums(&inserted);
    assert_eq!(covered(&inserted), "1262-1299 18540-18575 35835-35845");
    for how in [&[][..], &["--newest-first"], &["--batch-ledgers", "1"], &["--batch-ledgers", "1000"]] {
        let database = scene.with_tip();
        let mut arguments = vec!["--backfill", "--allow-gaps", "--json", &scene.file];
        arguments.extend(how);
        let said = database.run(&arguments);
        assert_eq!(said.status, Some(0), "{how:?}: {said:?}");
        assert_same(&sums(&database), &expected, &format!("{how:?}"));
        assert_eq!(hidden(&database), "0");
        let summary: serde_json::Value = serde_json::from_str(&said.out).unwrap();
        let ledgers: usize = RUNS.iter().map(|(from, to)| to - from + 1).sum();
        assert_eq!(summary["ledgers"], ledgers - 5, "{summary}");
    }
    // In parts, the second of which begins in partitions that the first has made.
    let database = scene.with_tip();
    database.ran(&["--backfill", "--allow-gaps", &scene.file, "--from", "1270", "--to", "18550"]);
    assert_eq!(covered(&database), "1270-1299 18540-18550 35841-35845");
    database.ran(&["--backfill", "--allow-gaps", &scene.file]);
    assert_same(&sums(&database), &expected, "in parts");
}

/// A backfill that reads standard input, to which frames are given one by one.
struct Fed {
    child: Child,
}

impl Fed {
    fn new(database: &Database) -> Self {
        let child = backfill(database, &["--batch-ledgers", "1", "-"]).stdin(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        Self { child }
    }

    fn give(&mut self, frames: &[&[u8]]) {
        let stdin = self.child.stdin.as_mut().unwrap();
        if stdin.write_all(&frames.concat()).and_then(|()| stdin.flush()).is_err() {
            let mut said = String::new();
            self.child.stderr.as_mut().unwrap().read_to_string(&mut said).unwrap();
            panic!("the backfill has ended: {said}");
        }
    }
}

fn until(what: &str, mut holds: impl FnMut() -> bool) {
    let end = Instant::now() + Duration::from_secs(60);
    while !holds() {
        assert!(Instant::now() < end, "{what} did not happen");
        std::thread::sleep(Duration::from_millis(20));
    }
}

#[test]
fn killed_in_the_middle() {
    let Some(scene) = Scene::new("killed_in_the_middle") else { return };
    let inserted = scene.with_tip();
    inserted.ran(&["--allow-gaps", &scene.file]);
    let expected = sums(&inserted);
    let bytes = std::fs::read(Path::new(&scene.file)).unwrap();
    let frames = frames(&bytes);

    let database = scene.with_tip();
    let before = sums(&database);
    let loaded = |ledgers: &str| database.sql("SELECT sum(hi - lo + 1) FROM starmill_bulk_ledgers") == ledgers;
    let mut first = Fed::new(&database);
    first.give(&frames[..10]);
    until("loading ten ledgers", || loaded("10"));
    // What readers have is what it was; only the record of the work and its tables are there.
    let mut during = sums(&database);
    assert_eq!(hidden(&database), "5");
    during.retain(|name, _| before.contains_key(name));
    let mut same = before.clone();
    for name in ["starmill_bulk", "starmill_bulk_ledgers"] {
        assert_ne!(during.remove(name), same.remove(name), "{name}");
    }
    assert_same(&during, &same, "while a partition is loaded");
    first.child.kill().unwrap();
    first.child.wait().unwrap();
    assert!(loaded("10") && hidden(&database) == "5", "what is left is not seen");

    // Killed again, with three partitions begun; the second run has dropped what the first left.
    let mut second = Fed::new(&database);
    second.give(&frames[..60]);
    until("loading sixty ledgers", || loaded("60"));
    second.give(&frames[60..79]);
    until("loading all but the tip's day", || loaded("79"));
    assert_eq!(hidden(&database), "15");
    second.child.kill().unwrap();
    second.child.wait().unwrap();
    // A tip that goes on clears away what a dead backfill has left.
    until("dropping what is left", || {
        database.ran(&[&scene.top]);
        hidden(&database) == "0"
    });
    assert_same(&sums(&database), &before, "after the death of the second");
    assert_eq!(backfill(&database, &[&scene.file]).status().unwrap().code(), Some(0));
    assert_same(&sums(&database), &expected, "at the end");
}
