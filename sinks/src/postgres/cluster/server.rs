//! The server process: is it there, start it and wait until it answers, stop it.
//!
//! A postmaster.pid tells nothing by itself: the server may be alive, about to be, about to go, or killed. Only an answer on the socket counts;
//! otherwise Postgres' own check decides, after a process that has merely inherited the number has been ruled out.

use std::fs::{File, OpenOptions};
use std::io::{Read as _, Seek as _, SeekFrom};
use std::path::Path;
use std::process::{Child, Stdio};
use std::time::{Duration, Instant};

use tokio_postgres::{Config, NoTls};

use super::binaries::Binaries;
use super::error::Doing as _;
use super::folder::Folder;
use super::init::last_lines;
use super::owner::Owner;
use super::{ClusterError, DATABASE, ROLE};
use crate::postgres::connect;

/// Recovery after a crash can take minutes: WAL of several GB is read again.
const START_TIMEOUT: Duration = Duration::from_mins(5);
/// For a server on this machine to greet.
const ANSWER_TIMEOUT: Duration = Duration::from_secs(5);
const POLL: Duration = Duration::from_millis(20);
/// The log is begun anew at a start when it has grown past this.
const LOG_BYTES_MAX: u64 = 16 << 20;

/// Whether a server answers on the cluster's socket.
pub(super) fn answers(folder: &Folder) -> Result<bool, ClusterError> {
    let socket = folder.socket_folder();
    // A server that takes a connection and says nothing (one that is stopped) does not answer either.
    let connect =
        async |config: Config| tokio::time::timeout(ANSWER_TIMEOUT, config.connect(NoTls)).await.is_ok_and(|answer| answer.is_ok());
    ask(&socket, |config| Box::pin(async move { connect(config).await }))
}

/// Starts the server unless it runs already, and waits until it answers. Only under the change lock.
///
/// Returns the child if it was started here.
pub(super) fn start(folder: &Folder, binaries: &Binaries, owner: &Owner) -> Result<Option<Child>, ClusterError> {
    let until = Instant::now() + START_TIMEOUT;
    loop {
        if answers(folder)? {
            return Ok(None);
        }
        // Somebody else's server comes up or goes down: wait for either.
        if postmaster_lives(folder) && Instant::now() < until {
            std::thread::sleep(POLL);
            continue;
        }
        if pid_file_is_foreign(folder) {
            // Postgres would see a live process and refuse; but only this file would tell it of the killed server's children.
            if has_children(folder) && Instant::now() < until {
                std::thread::sleep(POLL);
                continue;
            }
            let path = folder.pid_file();
            std::fs::remove_file(&path).doing("removing", &path)?;
        }
        remove_stale_socket_lock(folder)?;
        let log_from = log_len(folder);
        let mut child = spawn(folder, binaries, owner)?;
        let reason = loop {
            if let Some(status) = child.try_wait().doing("waiting for", &binaries.program("postgres"))? {
                break format!("it ended with {status}");
            }
            if answers(folder)? {
                return Ok(Some(child));
            }
            if Instant::now() >= until {
                break format!("it does not answer after {} s", START_TIMEOUT.as_secs());
            }
            std::thread::sleep(POLL);
        };
        let tail = log_tail(folder, log_from);
        // Children of a killed server take a moment to notice; their shared memory bars the way until then.
        if !says_leftovers(&tail) || Instant::now() >= until {
            return Err(ClusterError::StartFailed { reason, log: folder.log(), tail });
        }
        std::thread::sleep(POLL * 10);
    }
}

/// Makes our database if it is missing.
pub(super) fn make_database(folder: &Folder) -> Result<(), ClusterError> {
    let made = ask(&folder.socket_folder(), |config| {
        Box::pin(async move {
            let client = connect::connect(&config).await.map_err(|error| error.to_string())?;
            let there = client.query_opt("SELECT 1 FROM pg_database WHERE datname = $1", &[&DATABASE]).await;
            if there.map_err(|error| error.to_string())?.is_some() {
                return Ok(());
            }
            let made = client.batch_execute(&format!("CREATE DATABASE {DATABASE}")).await;
            // A session of a starmill that was killed may just have finished making it.
            match made.err().filter(|error| !error.code().is_some_and(|state| matches!(state.code(), "42P04" | "23505"))) {
                None => Ok(()),
                Some(error) => Err(std::error::Error::source(&error).map_or_else(|| error.to_string(), ToString::to_string)),
            }
        })
    })?;
    made.map_err(|reason: String| ClusterError::StartFailed { reason, log: folder.log(), tail: log_tail(folder, 0) })
}

/// Stops the server: sessions are ended, everything is flushed. Nothing to do if it is gone already. Only under the change lock.
pub(super) fn stop(folder: &Folder, binaries: &Binaries, owner: &Owner, mut child: Option<Child>) -> Result<(), ClusterError> {
    if let Some(child) = &mut child
        && child.try_wait().doing("waiting for", &binaries.program("postgres"))?.is_some()
    {
        return Ok(());
    }
    // Asked only of a live server: pg_ctl would wait for one that was killed until its patience ends.
    if postmaster_lives(folder) || answers(folder)? {
        let pg_ctl = binaries.program("pg_ctl");
        let mut stopping = owner
            .command(&pg_ctl)
            .args(["stop", "--mode=fast", "--wait", "--timeout=300", "--silent", "-D"])
            .arg(folder.cluster())
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::piped())
            .spawn()
            .doing("running", &pg_ctl)?;
        // A server that is killed now leaves its pid file; pg_ctl waits as long as that process is there, and it is until we ask how it ended.
        while stopping.try_wait().doing("waiting for", &pg_ctl)?.is_none() {
            if let Some(child) = &mut child {
                child.try_wait().doing("waiting for", &binaries.program("postgres"))?;
            }
            std::thread::sleep(POLL);
        }
        let output = stopping.wait_with_output().doing("waiting for", &pg_ctl)?;
        if !output.status.success() && (postmaster_lives(folder) || answers(folder)?) {
            return Err(ClusterError::StopFailed { output: last_lines(&output.stderr), log: folder.log() });
        }
    }
    if let Some(mut child) = child {
        child.wait().doing("waiting for", &binaries.program("postgres"))?;
    }
    Ok(())
}

/// Runs a question to the server's own database on a runtime of its own.
fn ask<T>(socket: &Path, question: impl FnOnce(Config) -> std::pin::Pin<Box<dyn Future<Output = T>>>) -> Result<T, ClusterError> {
    let mut config = Config::new();
    config.host_path(socket).user(ROLE).dbname("postgres").connect_timeout(ANSWER_TIMEOUT);
    Ok(connect::runtime().doing("setting up I/O for", socket)?.block_on(question(config)))
}

fn spawn(folder: &Folder, binaries: &Binaries, owner: &Owner) -> Result<Child, ClusterError> {
    let log = open_log(folder)?;
    let err = log.try_clone().doing("opening", &folder.log())?;
    let program = binaries.program("postgres");
    owner.command(&program).arg("-D").arg(folder.cluster()).stdin(Stdio::null()).stdout(log).stderr(err).spawn().doing("running", &program)
}

fn open_log(folder: &Folder) -> Result<File, ClusterError> {
    let path = folder.log();
    let file = OpenOptions::new().append(true).create(true).open(&path).doing("opening", &path)?;
    if log_len(folder) > LOG_BYTES_MAX {
        file.set_len(0).doing("emptying", &path)?;
    }
    Ok(file)
}

fn log_len(folder: &Folder) -> u64 {
    folder.log().metadata().map_or(0, |meta| meta.len())
}

/// What the log has gained since, its last lines; empty where it cannot be read.
pub(super) fn log_tail(folder: &Folder, from: u64) -> String {
    let mut bytes = Vec::new();
    if let Ok(mut file) = File::open(folder.log()) {
        let from = from.max(log_len(folder).saturating_sub(16 << 10));
        if file.seek(SeekFrom::Start(from)).is_ok() {
            let _ = file.take(16 << 10).read_to_end(&mut bytes);
        }
    }
    last_lines(&bytes)
}

/// Whether the log says that there is no room.
pub(super) fn says_disk_full(tail: &str) -> bool {
    tail.contains("No space left on device")
}

/// Whether the log says that processes of a killed server are still there.
fn says_leftovers(tail: &str) -> bool {
    let tail = tail.to_ascii_lowercase();
    tail.contains("shared memory block") || tail.contains("is another postmaster")
}

/// Process id in a lock file of Postgres: its first line.
fn pid_in(path: &Path) -> Option<u32> {
    std::fs::read_to_string(path).ok()?.lines().next()?.trim().parse().ok()
}

/// Process id in postmaster.pid.
fn postmaster_pid(folder: &Folder) -> Option<u32> {
    pid_in(&folder.pid_file())
}

/// Whether the process of postmaster.pid is alive and a Postgres of this cluster. Where the system has no /proc, Postgres' own check decides.
fn postmaster_lives(folder: &Folder) -> bool {
    postmaster_pid(folder).is_some_and(|pid| is_our_server(folder, pid))
}

/// Removes the lock beside the socket when its process is dead, not yet reaped, or another program that has inherited the number. Postgres would
/// take any such process for a server. The socket's folder is ours alone and nobody else starts a server now.
fn remove_stale_socket_lock(folder: &Folder) -> Result<(), ClusterError> {
    let path = folder.socket_folder().join(".s.PGSQL.5432.lock");
    if pid_in(&path).is_some_and(|pid| Path::new("/proc").join(pid.to_string()).exists() && !is_our_server(folder, pid)) {
        std::fs::remove_file(&path).doing("removing", &path)?;
    }
    Ok(())
}

/// Whether a process is alive and a Postgres of this cluster.
fn is_our_server(folder: &Folder, pid: u32) -> bool {
    let process = Path::new("/proc").join(pid.to_string());
    let zombie =
        std::fs::read_to_string(process.join("stat")).is_ok_and(|stat| stat.rsplit(") ").next().is_some_and(|rest| rest.starts_with('Z')));
    let command = std::fs::read(process.join("cmdline")).unwrap_or_default();
    !zombie && names_cluster(&command, &folder.cluster())
}

/// Whether a command line, arguments ended by NUL, is that of a server with this data folder.
fn names_cluster(command: &[u8], cluster: &Path) -> bool {
    use std::os::unix::ffi::OsStrExt as _;
    command.split(|byte| *byte == 0).any(|argument| argument == cluster.as_os_str().as_bytes())
}

/// Whether the number in postmaster.pid now belongs to another program (or to a dead process whose parent has not asked for it).
fn pid_file_is_foreign(folder: &Folder) -> bool {
    postmaster_pid(folder).is_some_and(|pid| Path::new("/proc").join(pid.to_string()).exists()) && !postmaster_lives(folder)
}

/// Whether processes of the cluster are alive: all of them have its folder as their working directory.
fn has_children(folder: &Folder) -> bool {
    let cluster = folder.cluster();
    let mut processes = std::fs::read_dir("/proc").into_iter().flatten().flatten();
    processes.any(|process| std::fs::read_link(process.path().join("cwd")).is_ok_and(|cwd| cwd == cluster))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn knows_what_a_killed_server_leaves() {
        // As Postgres says it.
        assert!(says_leftovers(
            "FATAL:  lock file \"postmaster.pid\" already exists | HINT:  Is another postmaster (PID 7) running in data directory \"/d\"?"
        ));
        assert!(says_leftovers("FATAL:  pre-existing shared memory block (key 5, ID 6) is still in use"));
        assert!(!says_leftovers("FATAL:  data directory \"/d\" has wrong ownership"));
    }

    #[test]
    fn tells_a_server_from_a_process_with_its_number() {
        let cluster = Path::new("/data/postgres");
        assert!(names_cluster(b"/usr/lib/postgresql/15/bin/postgres\0-D\0/data/postgres\0", cluster));
        assert!(!names_cluster(b"/usr/lib/postgresql/15/bin/postgres\0-D\0/data/postgres2\0", cluster));
        assert!(!names_cluster(b"", cluster));
    }
}
