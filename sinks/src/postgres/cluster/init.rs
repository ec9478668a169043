//! Makes a new cluster, and writes the settings of an old one anew at each start.
//!
//! Promises: an interrupted `initdb` leaves nothing that looks like a cluster: it works in a folder of another name, which is renamed at the end.

use std::fs::DirBuilder;
use std::os::unix::fs::DirBuilderExt as _;
use std::path::Path;

use super::binaries::Binaries;
use super::error::Doing as _;
use super::folder::Folder;
use super::owner::Owner;
use super::{ClusterError, ROLE};

/// Prefix of the folders in which `initdb` works.
const UNFINISHED: &str = "postgres.unfinished";
/// Our settings, read at the end of postgresql.conf; what `ALTER SYSTEM` sets still wins.
const SETTINGS: &str = "starmill.conf";
const MEBIBYTE: u64 = 1 << 20;

/// Major version of the cluster's data; `None` where there is no cluster yet.
pub(super) fn data_major(cluster: &Path) -> Result<Option<u32>, ClusterError> {
    let path = cluster.join("PG_VERSION");
    match std::fs::read_to_string(&path) {
        Ok(text) => text.trim().parse().map(Some).map_err(|_| ClusterError::NotACluster { folder: cluster.to_owned() }),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
            let empty = std::fs::read_dir(cluster).map_or(true, |mut entries| entries.next().is_none());
            if empty { Ok(None) } else { Err(ClusterError::NotACluster { folder: cluster.to_owned() }) }
        }
        Err(error) => Err(error).doing("reading", &path),
    }
}

/// Makes the cluster. Only under the change lock.
pub(super) fn init(folder: &Folder, binaries: &Binaries, owner: &Owner) -> Result<(), ClusterError> {
    remove_unfinished(&folder.root);
    // A name of its own: the `initdb` of a starmill that was killed may still be at work in another.
    let new = folder.root.join(format!("{UNFINISHED}-{}", std::process::id()));
    DirBuilder::new().mode(0o700).create(&new).doing("making", &new)?;
    owner.give(&new)?;
    let output = owner
        .command(&binaries.program("initdb"))
        .args(["--encoding=UTF8", "--no-locale", "--auth-local=trust", "--auth-host=reject", "--no-instructions"])
        .arg(format!("--username={ROLE}"))
        .arg("-D")
        .arg(&new)
        .output()
        .doing("running", &binaries.program("initdb"))?;
    if !output.status.success() {
        // What it says is what counts; the remains are removed at the next attempt too.
        let _ = std::fs::remove_dir_all(&new);
        return Err(ClusterError::InitFailed { output: last_lines(&output.stderr) });
    }
    let conf = new.join("postgresql.conf");
    let mut text = std::fs::read_to_string(&conf).doing("reading", &conf)?;
    text.push_str("\ninclude_if_exists = 'starmill.conf'\n");
    std::fs::write(&conf, text).doing("writing", &conf)?;
    // An empty folder may stand in the way; rename replaces it.
    std::fs::rename(&new, folder.cluster()).doing("renaming", &new)
}

/// Removes what interrupted attempts have left. One that is still being written may stay; it is in nobody's way and goes the next time.
fn remove_unfinished(root: &Path) {
    let Ok(entries) = std::fs::read_dir(root) else { return };
    for entry in entries.flatten() {
        if entry.file_name().to_string_lossy().starts_with(UNFINISHED) {
            let _ = std::fs::remove_dir_all(entry.path());
        }
    }
}

/// Writes our settings.
pub(super) fn write_settings(folder: &Folder, socket_folder: &Path, owner: &Owner) -> Result<(), ClusterError> {
    let path = folder.cluster().join(SETTINGS);
    std::fs::write(&path, settings(socket_folder, memory_bytes())).doing("writing", &path)?;
    owner.give(&path)
}

fn settings(socket_folder: &Path, memory_bytes: u64) -> String {
    // An eighth of memory: the pages that indexes touch, while the system caches the rest and starmill has room.
    let shared_mib = (memory_bytes / 8 / MEBIBYTE).clamp(64, 2048);
    let maintenance_mib = (memory_bytes / 32 / MEBIBYTE).clamp(32, 512);
    // A list of folders in double quotes, in a setting in single quotes, in which a backslash begins an escape.
    let socket = socket_folder.display().to_string().replace('"', "\"\"").replace('\\', "\\\\").replace('\'', "''");
    format!(
        "# Written by starmill at each start; use ALTER SYSTEM for settings of your own.\n\
         listen_addresses = ''\n\
         unix_socket_directories = '\"{socket}\"'\n\
         unix_socket_permissions = 0700\n\
         port = 5432\n\
         max_connections = 40\n\
         shared_buffers = {shared_mib}MB\n\
         maintenance_work_mem = {maintenance_mib}MB\n\
         # Durable commits; nobody replicates from here, so a table made in the transaction that fills it needs no WAL.\n\
         fsync = on\n\
         synchronous_commit = on\n\
         full_page_writes = on\n\
         wal_level = minimal\n\
         max_wal_senders = 0\n\
         archive_mode = off\n\
         # Few, long checkpoints: each first change of a page after one writes the page whole.\n\
         wal_compression = on\n\
         wal_buffers = 16MB\n\
         min_wal_size = 512MB\n\
         max_wal_size = 4GB\n\
         checkpoint_timeout = 15min\n\
         checkpoint_completion_target = 0.9\n\
         autovacuum = on\n\
         jit = off\n\
         timezone = 'UTC'\n\
         log_timezone = 'UTC'\n\
         logging_collector = off\n\
         log_destination = 'stderr'\n\
         log_checkpoints = off\n\
         log_line_prefix = '%m [%p] %a '\n"
    )
}

/// Memory of this machine; where it does not say, a cautious guess.
fn memory_bytes() -> u64 {
    let kibibytes = std::fs::read_to_string("/proc/meminfo").ok().and_then(|text| {
        let line = text.lines().find_map(|line| line.strip_prefix("MemTotal:"))?;
        line.trim().strip_suffix(" kB")?.trim().parse::<u64>().ok()
    });
    kibibytes.map_or(1024 * MEBIBYTE, |kibibytes| kibibytes.saturating_mul(1024))
}

/// The last lines of an output or log in one line, for a message.
pub(super) fn last_lines(bytes: &[u8]) -> String {
    let text = String::from_utf8_lossy(&bytes[bytes.len().saturating_sub(4096)..]);
    let lines: Vec<&str> = text.lines().map(str::trim).filter(|line| !line.is_empty()).collect();
    lines[lines.len().saturating_sub(6)..].join(" | ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn settings_follow_memory_and_quote_the_socket() {
        let text = settings(Path::new("/it's \"here\"\\"), 8 << 30);
        assert!(text.contains("shared_buffers = 1024MB\n"), "{text}");
        assert!(text.contains("unix_socket_directories = '\"/it''s \"\"here\"\"\\\\\"'\n"), "{text}");
        assert!(settings(Path::new("/s"), 0).contains("shared_buffers = 64MB\n"));
    }

    #[test]
    fn keeps_the_last_lines() {
        assert_eq!(last_lines(b"1\n2\n3\n\n4\n5\n6\n7\n"), "2 | 3 | 4 | 5 | 6 | 7");
        assert_eq!(last_lines(b""), "");
    }
}
