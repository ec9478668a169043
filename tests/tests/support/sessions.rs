//! Another session beside starmill's: psql, told line by line, for locks that are held while something else happens.

use std::io::{BufRead as _, BufReader, Write as _};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::time::{Duration, Instant};

use super::Database;

/// Longest that anything may take that is waited for.
const PATIENCE: Duration = Duration::from_secs(60);
const MARK: &str = "-- done --";

/// An open session; ends, with whatever it holds, when dropped.
pub struct Session {
    child: Child,
    input: ChildStdin,
    output: BufReader<ChildStdout>,
}

impl Session {
    pub fn open(database: &Database) -> Self {
        let mut child = Command::new(&database.psql)
            .args(["-qAtX", "-d", &database.url])
            .env("PGAPPNAME", "test")
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .expect("psql starts");
        let (input, output) = (child.stdin.take().unwrap(), BufReader::new(child.stdout.take().unwrap()));
        Self { child, input, output }
    }

    /// Says something and does not wait.
    pub fn send(&mut self, sql: &str) {
        writeln!(self.input, "{sql};\n\\echo {MARK}").unwrap();
    }

    /// Waits until all that was said before is done.
    pub fn wait(&mut self) {
        let mut line = String::new();
        while line.trim() != MARK {
            line.clear();
            assert!(self.output.read_line(&mut line).unwrap() > 0, "psql has ended");
        }
    }

    pub fn run(&mut self, sql: &str) {
        self.send(sql);
        self.wait();
    }
}

impl Drop for Session {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Waits until something is so.
#[track_caller]
pub fn wait_until(what: &str, mut is: impl FnMut() -> bool) {
    let until = Instant::now() + PATIENCE;
    while !is() {
        assert!(Instant::now() < until, "not in time: {what}");
        std::thread::sleep(Duration::from_millis(15));
    }
}
