//! The same ledgers give the same tables, however a run is divided: over threads, into batches, behind queues, over connections, into runs.
//!
//! Runs of ascending ranges are compared in every table. Ranges below what is covered write history alone, since current state only moves forward
//! (docs/persistence.md): of those, history, coverage and cursors are those of one run over all, and current state is that of the newest range.

mod support;

use std::collections::BTreeMap;
use std::num::NonZeroUsize;

use starmill_sinks::postgres::HISTORY_TABLES;
use support::tables::{assert_same, sums};
use support::{Database, Server, ledgers, postgres_installed};

/// First and last ledger. The day changes at 1280, so that rows go to two partitions.
const LEDGERS: [usize; 2] = [1240, 1400];

struct Scene {
    server: Server,
    file: String,
}

impl Scene {
    fn new(test: &str) -> Option<Self> {
        if !postgres_installed(test) {
            return None;
        }
        let server = Server::new();
        let file = ledgers(server.folder.path(), "chain.xdr", LEDGERS[0], LEDGERS[1], 12);
        Some(Self { server, file })
    }

    /// The tables after runs over these ranges, one after another.
    fn after(&self, ranges: &[(u32, u32)], options: &[&str]) -> BTreeMap<String, String> {
        let database = self.server.database(None);
        for (from, to) in ranges {
            self.run(&database, *from, *to, options);
        }
        let sums = sums(&database);
        self.server.drop(&database);
        sums
    }

    fn run(&self, database: &Database, from: u32, to: u32, options: &[&str]) {
        let (from, to) = (from.to_string(), to.to_string());
        database.ran(&[&[self.file.as_str(), "--from", &from, "--to", &to], options].concat());
    }
}

/// A part of the tables by name.
fn only(sums: &BTreeMap<String, String>, wanted: impl Fn(&str) -> bool) -> BTreeMap<String, String> {
    sums.iter().filter(|(name, _)| wanted(name)).map(|(name, sum)| (name.clone(), sum.clone())).collect()
}

#[test]
fn whatever_the_threads_batches_queues_and_connections() {
    let Some(scene) = Scene::new("whatever_the_threads_batches_queues_and_connections") else { return };
    let whole = [(1240, 1400)];
    let first = scene.after(&whole, &["--threads", "1", "--batch-ledgers", "1", "--copy-connections", "0"]);
    let mut connections = [0, 1, 4].into_iter().cycle();
    for threads in [1, 2, 4] {
        for batch in [1, 7, 100] {
            for queue in [1, 64] {
                let copies = connections.next().unwrap();
                let given = [threads, batch, queue, copies].map(|number| number.to_string());
                let options = [
                    ["--threads", &given[0]],
                    ["--batch-ledgers", &given[1]],
                    ["--read-ahead-ledgers", &given[2]],
                    ["--copy-connections", &given[3]],
                    ["--copy-rows-min", "0"],
                ]
                .concat();
                assert_same(&scene.after(&whole, &options), &first, &format!("{options:?}"));
            }
        }
    }
    let cores = std::thread::available_parallelism().map_or(1, NonZeroUsize::get);
    println!("18 combinations give the same tables, on {cores} processors");
}

#[test]
fn ascending_and_overlapping_ranges_are_one_run() {
    let Some(scene) = Scene::new("ascending_and_overlapping_ranges_are_one_run") else { return };
    let whole = scene.after(&[(1240, 1400)], &[]);
    for ranges in [
        &[(1240, 1310), (1311, 1400)][..],
        &[(1240, 1310), (1240, 1400)],
        &[(1240, 1310), (1290, 1400), (1250, 1320)],
        &[(1240, 1240), (1241, 1241), (1241, 1399), (1400, 1400)],
    ] {
        assert_same(&scene.after(ranges, &[]), &whole, &format!("{ranges:?}"));
    }
}

#[test]
fn ranges_below_what_is_covered_fill_history() {
    let Some(scene) = Scene::new("ranges_below_what_is_covered_fill_history") else { return };
    let whole = scene.after(&[(1240, 1400)], &[]);
    let history = |name: &str| {
        HISTORY_TABLES.contains(&name) || ["ledger_coverage", "ingest_store", "partitions", "starmill_pending"].contains(&name)
    };
    for ranges in
        [&[(1311, 1400), (1240, 1310)][..], &[(1311, 1400), (1270, 1320), (1240, 1290)], &[(1240, 1250), (1300, 1400), (1240, 1400)]]
    {
        let found = scene.after(ranges, &[]);
        assert_same(&only(&found, history), &only(&whole, history), &format!("{ranges:?}"));
    }
    // Of the newest range nothing is overwritten.
    let newest = scene.after(&[(1311, 1400)], &[]);
    let after = scene.after(&[(1311, 1400), (1240, 1310)], &[]);
    let current = |name: &str| !history(name);
    assert_same(&only(&after, current), &only(&newest, current), "current state after a range below it");
}
