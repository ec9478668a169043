//! The admin address of a run: what it answers while the run starts, works and ends, and that its numbers are those of the database.

use std::collections::{BTreeMap, BTreeSet};
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::path::Path;
use std::process::{Child, ChildStderr, Command, Stdio};
use std::time::{Duration, Instant};

use starmill_tests::binary::{fails, folder, ok, starmill};
use starmill_tests::http::{Answer, get};

/// A run that reads from a pipe and answers on a free port.
struct Run {
    child: Child,
    address: String,
    errors: BufReader<ChildStderr>,
}

impl Run {
    fn start(folder: &Path, arguments: &[&str]) -> Self {
        let mut child = starmill(folder)
            .args(["run", "-", "--admin-addr", "127.0.0.1:0"])
            .args(arguments)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let mut errors = BufReader::new(child.stderr.take().unwrap());
        let mut line = String::new();
        errors.read_line(&mut line).unwrap();
        let address = line.trim().rsplit_once("http://").unwrap_or_else(|| panic!("no address: {line}")).1.to_owned();
        Self { child, address, errors }
    }

    fn get(&self, path: &str) -> Answer {
        get(&self.address, path).unwrap_or_else(|error| panic!("{path}: {error}"))
    }

    fn metrics(&self) -> Metrics {
        Metrics::parse(&self.get("/metrics").body)
    }

    fn statusz(&self) -> serde_json::Value {
        serde_json::from_str(&self.get("/statusz").body).unwrap()
    }

    fn feed(&mut self, bytes: &[u8]) {
        let input = self.child.stdin.as_mut().unwrap();
        input.write_all(bytes).unwrap();
        input.flush().unwrap();
    }

    /// Waits until a metric has a value.
    fn wait_for(&self, metric: &str, value: f64) -> Metrics {
        let until = Instant::now() + Duration::from_secs(60);
        loop {
            let metrics = self.metrics();
            if metrics.samples.get(metric) == Some(&value) {
                return metrics;
            }
            assert!(Instant::now() < until, "{metric} is {:?}, not {value}", metrics.samples.get(metric));
            std::thread::sleep(Duration::from_millis(50));
        }
    }

    /// Ends the source and waits for the run; what it said on standard error.
    fn end(mut self) -> String {
        drop(self.child.stdin.take());
        assert_eq!(self.child.wait().unwrap().code(), Some(0));
        let mut said = String::new();
        self.errors.read_to_string(&mut said).unwrap();
        said
    }
}

/// The text format of Prometheus, read strictly.
#[derive(Debug)]
struct Metrics {
    /// Types by name.
    families: BTreeMap<String, String>,
    samples: BTreeMap<String, f64>,
}

impl Metrics {
    fn parse(text: &str) -> Self {
        let (mut families, mut samples, mut current) = (BTreeMap::new(), BTreeMap::new(), String::new());
        for line in text.lines() {
            if let Some(help) = line.strip_prefix("# HELP ") {
                help.split_once(' ').expect("a help text").0.clone_into(&mut current);
            } else if let Some(kind) = line.strip_prefix("# TYPE ") {
                let (name, kind) = kind.split_once(' ').expect("a type");
                assert_eq!(name, current, "the type follows the help");
                assert_eq!(families.insert(name.to_owned(), kind.to_owned()), None, "{name} twice");
            } else {
                let (name, value) = line.rsplit_once(' ').expect("a sample");
                let bare = name.split('{').next().unwrap();
                let suffixes: &[&str] = if families[&current] == "histogram" { &["_bucket", "_sum", "_count"] } else { &[""] };
                assert!(suffixes.iter().any(|suffix| bare == format!("{current}{suffix}")), "{line} below {current}");
                let value = value.parse().unwrap_or_else(|_| panic!("{line}"));
                assert_eq!(samples.insert(name.to_owned(), value), None, "{name} twice");
            }
        }
        Self { families, samples }
    }

    fn sum(&self, prefix: &str) -> f64 {
        self.samples.iter().filter(|(name, _)| name.starts_with(prefix)).map(|(_, value)| value).sum()
    }
}

impl std::ops::Index<&str> for Metrics {
    type Output = f64;

    fn index(&self, name: &str) -> &f64 {
        self.samples.get(name).unwrap_or_else(|| panic!("no {name} in {:#?}", self.samples))
    }
}

fn listed(folder: &Path) -> BTreeMap<String, serde_json::Value> {
    let lines = ok(folder, &["metrics", "--json"]);
    let metrics = lines.lines().map(|line| serde_json::from_str::<serde_json::Value>(line).unwrap());
    metrics.map(|metric| (metric["name"].as_str().unwrap().to_owned(), metric)).collect()
}

/// 30 ledgers, 2 to 31.
fn chain(folder: &Path) -> Vec<u8> {
    ok(folder, &["synth", "--ledgers", "30", "--tx-per-ledger", "20", "--output", "chain.xdr"]);
    std::fs::read(folder.join("chain.xdr")).unwrap()
}

#[test]
fn a_run_tells_what_it_does_and_its_numbers_are_those_of_the_database() {
    let folder = folder();
    let folder = folder.path();
    let chain = chain(folder);
    let mut run = Run::start(folder, &["--json"]);
    assert_eq!((run.get("/livez").status, run.get("/livez").body.as_str()), (200, "alive\n"));
    let waiting = run.get("/readyz");
    assert_eq!((waiting.status, waiting.body.as_str()), (503, "starting: opening the sources\n"));
    assert_eq!((run.statusz()["phase"].as_str(), run.statusz()["last_ledger"].is_null()), (Some("starting"), true));
    assert!(!run.metrics().samples.contains_key("starmill_lag_seconds"), "nothing is known of the lag before a commit");

    run.feed(&chain);
    let metrics = run.wait_for("starmill_committed_ledgers_total", 30.0);
    assert_eq!(run.get("/readyz"), Answer { status: 200, body: "ready\n".to_owned(), head: run.get("/readyz").head });
    assert!(run.get("/metrics").head.contains("Content-Type: text/plain; version=0.0.4"), "{:?}", run.get("/metrics").head);

    for (name, value) in [
        (r#"starmill_phase{phase="running"}"#, 1.0),
        (r#"starmill_phase{phase="starting"}"#, 0.0),
        (r#"starmill_stage_errors_total{stage="process"}"#, 0.0),
        ("starmill_committed_transactions_total", 600.0),
        ("starmill_last_committed_ledger", 31.0),
        ("starmill_last_read_ledger", 31.0),
        ("starmill_lag_ledgers", 0.0),
        ("starmill_coverage_ledgers", 30.0),
        ("starmill_coverage_lowest_ledger", 2.0),
        ("starmill_coverage_highest_ledger", 31.0),
        ("starmill_coverage_gaps", 0.0),
        ("starmill_memory_budget_bytes", 268_435_456.0),
        (r#"starmill_queue_bytes{queue="rows"}"#, 0.0),
        ("starmill_database_retries_total", 0.0),
        ("starmill_close_to_commit_seconds_count", 30.0),
        (r#"starmill_close_to_commit_seconds_bucket{le="+Inf"}"#, 30.0),
        ("starmill_source_read_bytes_total", f64::from(u32::try_from(chain.len()).unwrap())),
    ] {
        assert!((metrics[name] - value).abs() < f64::EPSILON, "{name} is {}, not {value}", metrics[name]);
    }
    for stage in ["source", "skim", "hash", "process", "fold", "batch", "persist"] {
        for kind in ["received", "emitted"] {
            let name = format!("starmill_stage_{kind}_ledgers_total{{stage=\"{stage}\"}}");
            assert!((metrics[&name] - 30.0).abs() < f64::EPSILON, "{name} is {}", metrics[&name]);
        }
        assert!(metrics[&format!("starmill_stage_busy_seconds_total{{stage=\"{stage}\"}}")] > 0.0, "{stage}");
    }

    // Every row of history was written once; of current state a row may have been written again.
    let status: serde_json::Value = serde_json::from_str(&ok(folder, &["status", "--json"])).unwrap();
    for table in status["tables"].as_array().unwrap() {
        let (name, stored) = (table["name"].as_str().unwrap(), table["rows"].as_f64().unwrap());
        let Some(written) = metrics.samples.get(&format!("starmill_table_written_rows_total{{table=\"{name}\"}}")) else { continue };
        let history = ["transactions", "transactions_accounts", "operations", "operations_accounts", "state_changes"].contains(&name);
        assert!(
            if history { (written - stored).abs() < f64::EPSILON } else { *written >= stored },
            "{name}: {written} written, {stored} there"
        );
        assert!(stored == 0.0 || metrics[&format!("starmill_table_written_bytes_total{{table=\"{name}\"}}")] > *written, "{name}");
    }
    assert!(metrics.sum("starmill_table_written_rows_total") > 4_000.0);
    let statusz = run.statusz();
    assert_eq!(statusz["database"]["coverage"], serde_json::json!({ "ledgers": 30, "lowest": 2, "highest": 31, "gaps": 0 }));
    assert_eq!((statusz["not_ready"].is_null(), statusz["rows"].as_f64().unwrap()), (true, metrics["starmill_committed_rows_total"]));
    run.end();
}

#[test]
fn what_is_exposed_is_what_is_listed() {
    let folder = folder();
    let folder = folder.path();
    let chain = chain(folder);
    let mut run = Run::start(folder, &[]);
    run.feed(&chain);
    let metrics = run.wait_for("starmill_committed_ledgers_total", 30.0);
    let listed = listed(folder);
    for (name, kind) in &metrics.families {
        assert_eq!(listed.get(name).map(|metric| metric["type"].as_str().unwrap()), Some(kind.as_str()), "{name}");
    }
    let names: BTreeSet<_> = metrics.families.keys().collect();
    let absent: Vec<_> = listed.keys().filter(|name| !names.contains(name)).collect();
    // The size of a stream is not known.
    assert_eq!(absent, ["starmill_source_size_bytes"]);
    for name in metrics.samples.keys() {
        let (bare, labels) = name.split_once('{').map_or((name.as_str(), ""), |(bare, labels)| (bare, labels.trim_end_matches('}')));
        let Some(metric) = listed.get(bare) else { continue };
        let found: Vec<_> = labels.split(',').filter(|label| !label.is_empty()).map(|label| label.split('=').next().unwrap()).collect();
        assert_eq!(serde_json::json!(found), metric["labels"], "{name}");
    }
    run.end();
}

#[test]
fn a_run_without_a_database_has_no_metrics_of_one() {
    let folder = folder();
    let folder = folder.path();
    let chain = chain(folder);
    let mut run = Run::start(folder, &["--sink", "null:"]);
    run.feed(&chain);
    let metrics = run.wait_for("starmill_committed_ledgers_total", 30.0);
    let database: Vec<_> =
        metrics.families.keys().filter(|name| ["_database_", "_coverage_", "_table_"].iter().any(|part| name.contains(part))).collect();
    assert!(database.is_empty(), "{database:?}");
    assert!(run.statusz()["database"].is_null() && run.get("/readyz").status == 200);
    run.end();
}

#[test]
fn an_address_that_is_taken_ends_the_run_before_any_work() {
    let folder = folder();
    let folder = folder.path();
    chain(folder);
    let taken = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = taken.local_addr().unwrap().to_string();
    let line = fails(folder, &["run", "chain.xdr", "--admin-addr", &address], "admin-address");
    assert!(line.contains(&address) && line.contains("--admin-addr"), "{line}");
    assert!(!folder.join("starmill-data").exists(), "work was begun");
}

#[test]
fn who_is_slow_or_talks_nonsense_keeps_nobody_waiting() {
    let folder = folder();
    let folder = folder.path();
    let run = Run::start(folder, &["--sink", "null:"]);
    let mut slow: Vec<_> = (0..40).map(|_| TcpStream::connect(&run.address).unwrap()).collect();
    for stream in &mut slow {
        stream.write_all(b"GET /metrics HTTP/1.1\r\nHost: ").unwrap();
    }
    let mut nonsense = TcpStream::connect(&run.address).unwrap();
    nonsense.write_all(&[0xff; 4096]).unwrap();
    let begin = Instant::now();
    assert_eq!(run.get("/livez").status, 200);
    assert!(begin.elapsed() < Duration::from_secs(2), "{:?}", begin.elapsed());
    assert_eq!(run.get("/nowhere").status, 404);
    let stopped = Command::new("kill").arg(run.child.id().to_string()).status().unwrap();
    assert!(stopped.success());
    let mut child = run.child;
    // Waiting would close the pipe, and the run end by itself.
    let input = child.stdin.take();
    assert_eq!(child.wait().unwrap().code(), Some(130), "open connections must not keep a run from ending");
    drop((input, slow));
}
