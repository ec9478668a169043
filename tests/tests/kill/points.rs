//! Every step that has a name (`starmill_sinks::postgres::STEPS`), in every way of writing: the process aborts there, and the next run completes.

use std::collections::BTreeMap;
use std::os::unix::process::ExitStatusExt as _;
use std::path::PathBuf;

use starmill_sinks::postgres::{STEPS, Step};
use starmill_tests::binary::{Said, said};

use crate::support::tables::{assert_same, sums};
use crate::support::{Database, Server, ledgers};
use crate::with_fail_points;

const SIGABRT: i32 = 6;
/// Connections for copying; 0 is a batch in one transaction.
const CONNECTIONS: [u16; 3] = [0, 1, 4];
/// First ledger of the file, first and last of the run that dies. The day changes at 1280: partitions are made under way.
const LEDGERS: [usize; 3] = [1262, 1270, 1300];

struct Scene {
    server: Server,
    binary: PathBuf,
    file: String,
    /// What is there before the run that dies.
    before: Database,
    /// The first ledger of the run.
    from: usize,
    undisturbed: BTreeMap<String, String>,
}

impl Scene {
    /// `live`: a run that goes on from what is covered; otherwise the first run on an empty database.
    fn new(test: &str, live: bool) -> Option<Self> {
        let binary = with_fail_points(test)?;
        let server = Server::new();
        let file = ledgers(server.folder.path(), "chain.xdr", LEDGERS[0], LEDGERS[2], 5);
        let before = server.database(None);
        if live {
            before.ran(&[&file, "--to", &(LEDGERS[1] - 1).to_string()]);
        }
        let from = if live { LEDGERS[0] } else { LEDGERS[1] };
        let mut scene = Self { server, binary, file, before, from, undisturbed: BTreeMap::new() };
        let database = scene.database();
        scene.complete(&database, 0);
        scene.undisturbed = sums(&database);
        Some(scene)
    }

    fn database(&self) -> Database {
        self.server.database(Some(&self.before))
    }

    /// A run that dies at a step, the `time`-th time it comes there; or one that does not.
    fn run(&self, database: &Database, connections: u16, dies_at: Option<(Step, u32)>) -> (Said, Option<i32>) {
        let (from, connections) = (self.from.to_string(), connections.to_string());
        let bounds = ["--batch-ledgers", "8", "--copy-connections", &connections, "--copy-rows-min", "0"];
        let mut command = database.run_with(&self.binary, &[&self.file, "--from", &from]);
        command.args(bounds).env_remove("STARMILL_FAIL_AT");
        if let Some((step, time)) = dies_at {
            command.env("STARMILL_FAIL_AT", format!("{step}:{time}"));
        }
        let output = command.output().unwrap();
        let signal = output.status.signal();
        (said(output), signal)
    }

    fn dies(&self, database: &Database, connections: u16, step: Step, time: u32) {
        let (said, signal) = self.run(database, connections, Some((step, time)));
        assert_eq!(signal, Some(SIGABRT), "{step}:{time} with {connections} connections was not come to: {said:?}");
    }

    fn complete(&self, database: &Database, connections: u16) {
        let (said, _) = self.run(database, connections, None);
        assert_eq!(said.status, Some(0), "{said:?}");
    }
}

/// Each step alone: dies there the `time`-th time, then a run that nothing disturbs.
fn dies_once_at_each_step(test: &str, live: bool, time: impl Fn(Step) -> u32) {
    let Some(scene) = Scene::new(test, live) else { return };
    let mut deaths = 0;
    for connections in CONNECTIONS {
        for step in STEPS.into_iter().filter(|step| step.is_in(connections > 0)) {
            let database = scene.database();
            if matches!(step, Step::Cleaned(_)) {
                // There is something to clean after a death between history and its commit.
                scene.dies(&database, connections.max(1), Step::HistoryWritten, 1);
            }
            scene.dies(&database, connections, step, time(step));
            scene.complete(&database, connections);
            assert_same(&sums(&database), &scene.undisturbed, &format!("{test}: died at {step}, {connections} connections"));
            scene.server.drop(&database);
            deaths += 1;
        }
    }
    println!("{test}: {deaths} deaths, the tables as undisturbed after each");
}

#[test]
fn a_run_that_goes_on_from_its_cursor() {
    dies_once_at_each_step("a_run_that_goes_on_from_its_cursor", true, |_| 1);
}

#[test]
fn a_first_run() {
    // Under way, where a step comes with each batch.
    dies_once_at_each_step("a_first_run", false, |step| match step {
        Step::Migrated | Step::Fenced | Step::Cleaned(_) | Step::TakenOver => 1,
        _ => 2,
    });
}

#[test]
fn deaths_at_every_step_one_after_another() {
    let test = "deaths_at_every_step_one_after_another";
    let Some(scene) = Scene::new(test, true) else { return };
    for connections in CONNECTIONS {
        let database = scene.database();
        // From the last step to the first: what one has left, the next finds.
        for step in STEPS.into_iter().rev().filter(|step| step.is_in(connections > 0)) {
            let (said, signal) = scene.run(&database, connections, Some((step, 1)));
            // Where the one before had left nothing, there is nothing to clean, and no partition is made twice.
            let may_miss = matches!(step, Step::Cleaned(_) | Step::Partitioned);
            assert!(signal == Some(SIGABRT) || may_miss && said.status == Some(0), "{step}: {said:?}");
        }
        scene.complete(&database, connections);
        assert_same(&sums(&database), &scene.undisturbed, &format!("{test}: {connections} connections"));
    }
}
