//! Kills at random moments: of starmill, of one of its backends (politely, and without a word, which makes Postgres restart), of the whole server.
//!
//! After the death of starmill the next run completes. After any other, starmill goes on by itself, or ends with an error that has a code, and the next run
//! completes. Then the tables are those of an undisturbed run. `STARMILL_KILLS` says how many, `STARMILL_KILL_SEED` which.

use std::collections::BTreeMap;
use std::os::unix::process::ExitStatusExt as _;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use starmill_sinks::PrivateCluster;
use starmill_tests::binary::{Said, binary, said};

use crate::support::tables::{assert_same, sums};
use crate::support::{Database, Server, ledgers, postgres_installed};

const KILLS: usize = 20;
/// Runs tried until a kill hits one that is under way.
const TRIES: usize = 10;
/// First ledger of the file, first and last of the run that is disturbed. The day changes at 1280.
const LEDGERS: [usize; 3] = [1240, 1250, 1400];
/// In each ledger: enough that most of a run is commits.
const TRANSACTIONS: u32 = 30;
/// A run that has not ended by then hangs.
const LIMIT: Duration = Duration::from_secs(150);
/// For a server to come back.
const BACK: Duration = Duration::from_secs(60);

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Victim {
    Starmill,
    SessionEnded,
    Backend,
    Server,
}

const VICTIMS: [Victim; 4] = [Victim::Starmill, Victim::SessionEnded, Victim::Backend, Victim::Server];

/// The same numbers for the same seed (`SplitMix64`).
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        z ^ (z >> 31)
    }

    /// From nothing to all of a time.
    fn moment(&mut self, all: Duration) -> Duration {
        all.mul_f64((self.next() % 10_000) as f64 / 10_000.0)
    }
}

/// A run of a kind, and what it leaves when nothing disturbs it.
struct Kind {
    before: Database,
    from: usize,
    undisturbed: BTreeMap<String, String>,
    takes: Duration,
}

struct Scene {
    server: Server,
    file: String,
    /// A first run, and one that goes on from what is covered.
    kinds: Vec<Kind>,
    /// Those who have started the server again; it runs as long as one of them is there.
    restarted: Vec<PrivateCluster>,
}

impl Scene {
    fn new() -> Self {
        let server = Server::new();
        let file = ledgers(server.folder.path(), "chain.xdr", LEDGERS[0], LEDGERS[2], TRANSACTIONS);
        let mut scene = Self { server, file, kinds: Vec::new(), restarted: Vec::new() };
        for from in [LEDGERS[1], LEDGERS[0]] {
            let before = scene.server.database(None);
            if from < LEDGERS[1] {
                before.ran(&[&scene.file, "--to", &(LEDGERS[1] - 1).to_string()]);
            }
            let database = scene.server.database(Some(&before));
            let started = Instant::now();
            let run = scene.start(&database, from, 1);
            let said = said(run.wait_with_output().unwrap());
            assert_eq!(said.status, Some(0), "{said:?}");
            let takes = started.elapsed();
            scene.kinds.push(Kind { before, from, undisturbed: sums(&database), takes });
        }
        scene
    }

    fn start(&self, database: &Database, from: usize, connections: u16) -> Child {
        let (from, connections) = (from.to_string(), connections.to_string());
        let bounds = ["--batch-ledgers", "5", "--copy-connections", &connections, "--copy-rows-min", "0"];
        let mut command = database.run_with(binary(), &[&self.file, "--from", &from]);
        command.args(bounds).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap()
    }

    /// One run, disturbed once. Says whether the kill has hit a run that was under way, and whether that came to its end by itself.
    fn disturb(&mut self, victim: Victim, connections: u16, kind: usize, random: &mut Random) -> Result<(bool, bool), String> {
        let kind = &self.kinds[kind];
        let (from, moment) = (kind.from, random.moment(kind.takes));
        let what = format!("{victim:?} killed after {moment:?} of ledgers {from}-{}, {connections} connections", LEDGERS[2]);
        let database = self.server.database(Some(&kind.before));
        let mut run = self.start(&database, from, connections);
        std::thread::sleep(moment);
        let under_way = run.try_wait().unwrap().is_none();
        let hit = match victim {
            Victim::Starmill => {
                run.kill().unwrap();
                under_way
            }
            Victim::SessionEnded => {
                a_backend(&mut run, &database, random, |pid| database.sql(&format!("SELECT pg_terminate_backend({pid})")) == "t")
            }
            Victim::Backend => a_backend(&mut run, &database, random, kill),
            Victim::Server => {
                let killed = kill(self.postmaster());
                std::thread::sleep(random.moment(Duration::from_millis(400)));
                // By somebody else, as when a system's service manager does it.
                self.restarted.push(PrivateCluster::attach(&self.data_dir()).unwrap());
                killed && under_way
            }
        };
        let (said, signal) = ended(run).ok_or(format!("{what}: it hangs"))?;
        self.wait_for_server();
        let by_itself = said.status == Some(0);
        match victim {
            Victim::Starmill if hit && !by_itself && signal != Some(9) => return Err(format!("{what}: {said:?}")),
            Victim::Starmill => {}
            _ if !(by_itself || said.status == Some(1) && said.err.contains("error[")) => return Err(format!("{what}: {said:?}")),
            _ if !by_itself => println!("{what}: {}", said.err.trim()),
            _ => {}
        }
        let again = said_of(self.start(&database, from, connections));
        if again.status != Some(0) {
            return Err(format!("{what}: the next run: {again:?}"));
        }
        let found = sums(&database);
        let same = std::panic::catch_unwind(|| assert_same(&found, &self.kinds_at(from).undisturbed, &what));
        self.server.drop(&database);
        same.map(|()| (hit, by_itself)).map_err(|panic| panic.downcast_ref::<String>().cloned().unwrap_or(what))
    }

    fn kinds_at(&self, from: usize) -> &Kind {
        self.kinds.iter().find(|kind| kind.from == from).unwrap()
    }

    fn data_dir(&self) -> PathBuf {
        self.server.folder.path().join("data")
    }

    fn postmaster(&self) -> u32 {
        let text = std::fs::read_to_string(self.data_dir().join("postgres/postmaster.pid")).unwrap();
        text.lines().next().unwrap().trim().parse().unwrap()
    }

    fn wait_for_server(&self) {
        let until = Instant::now() + BACK;
        while self.kinds[0].before.try_sql("SELECT 1").is_err() {
            assert!(Instant::now() < until, "the server does not come back");
            std::thread::sleep(Duration::from_millis(20));
        }
    }
}

fn said_of(run: Child) -> Said {
    said(run.wait_with_output().unwrap())
}

/// What a run said, and the signal that ended it; `None` if it does not end.
fn ended(mut run: Child) -> Option<(Said, Option<i32>)> {
    let until = Instant::now() + LIMIT;
    while run.try_wait().unwrap().is_none() {
        if Instant::now() > until {
            run.kill().unwrap();
            run.wait().unwrap();
            return None;
        }
        std::thread::sleep(Duration::from_millis(10));
    }
    let output = run.wait_with_output().unwrap();
    let signal = output.status.signal();
    Some((said(output), signal))
}

/// Does something to one of the sessions of a run, as soon as it has one; says whether that hit.
fn a_backend(run: &mut Child, database: &Database, random: &mut Random, mut act: impl FnMut(u32) -> bool) -> bool {
    let sql = "SELECT pid FROM pg_stat_activity WHERE datname = current_database() AND application_name = 'starmill' ORDER BY 1";
    let one = random.next();
    while run.try_wait().unwrap().is_none() {
        let pids: Vec<u32> = database.sql(sql).lines().map(|pid| pid.parse().unwrap()).collect();
        if let Some(pid) = pids.get(usize::try_from(one).unwrap() % pids.len().max(1)) {
            return act(*pid);
        }
    }
    false
}

/// `kill -9`; says whether there was such a process.
fn kill(pid: u32) -> bool {
    Command::new("kill").args(["-9", &pid.to_string()]).stderr(Stdio::null()).status().unwrap().success()
}

fn number(variable: &str, default: u64) -> u64 {
    std::env::var(variable).map_or(default, |text| text.parse().unwrap_or_else(|_| panic!("{variable} is no number")))
}

#[test]
fn kills_at_random_moments() {
    if !postgres_installed("kills_at_random_moments") {
        return;
    }
    let (kills, seed) = (usize::try_from(number("STARMILL_KILLS", KILLS as u64)).unwrap(), number("STARMILL_KILL_SEED", 1));
    let mut random = Random(seed);
    let mut scene = Scene::new();
    let (mut counts, mut failures) = (BTreeMap::<Victim, [usize; 3]>::new(), Vec::new());
    for n in 0..kills {
        let victim = VICTIMS[n % VICTIMS.len()];
        // Every victim in every way of writing, and in both kinds of run.
        let (connections, kind) = ([4, 1, 0][n / VICTIMS.len() % 3], n / VICTIMS.len() % 2);
        let count = counts.entry(victim).or_default();
        // A run may be over when its moment comes; then another moment.
        for _ in 0..TRIES {
            count[0] += 1;
            match scene.disturb(victim, connections, kind, &mut random) {
                Ok((false, _)) => continue,
                Ok((true, by_itself)) => {
                    count[1] += 1;
                    count[2] += usize::from(by_itself);
                }
                Err(failure) => failures.push(format!("kill {n}: {failure}")),
            }
            break;
        }
    }
    for (victim, [runs, hit, by_itself]) in &counts {
        println!("{victim:?}: {runs} runs, {hit} hit, {by_itself} of these went on by themselves");
    }
    let [runs, hit] = [0, 1].map(|n| counts.values().map(|count| count[n]).sum::<usize>());
    println!("kills_at_random_moments: seed {seed}, {runs} runs, {hit} kills that hit, {} failures", failures.len());
    assert!(failures.is_empty(), "seed {seed}\n{}", failures.join("\n"));
    assert_eq!(hit, kills, "a kill that never hits shows nothing: {counts:?}");
}
