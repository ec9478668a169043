//! Finds the server's programs: on PATH, where `pg_config` says, where Debian puts them. Nothing is downloaded.

use std::ffi::OsStr;
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::Command;

use super::ClusterError;

/// The oldest major version that starmill writes to.
const OLDEST_MAJOR: u32 = 13;
/// Where Debian and its kin keep one folder per major version.
const VERSION_FOLDERS: &str = "/usr/lib/postgresql";

/// A folder with `postgres`, `initdb` and `pg_ctl` of one version.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Binaries {
    pub(super) folder: PathBuf,
    pub(super) major: u32,
}

impl Binaries {
    /// The programs for a cluster: those of its own major version, or, for a new one, the first found.
    pub(super) fn find(cluster: &Path, data_major: Option<u32>) -> Result<Self, ClusterError> {
        let found: Vec<Self> = candidates().into_iter().filter_map(|folder| Self::at(&folder)).collect();
        let fits = |binaries: &&Self| data_major.map_or(binaries.major >= OLDEST_MAJOR, |major| binaries.major == major);
        if let Some(binaries) = found.iter().find(fits) {
            return Ok(binaries.clone());
        }
        let mut majors: Vec<u32> = found.iter().map(|binaries| binaries.major).collect();
        majors.sort_unstable();
        majors.dedup();
        let installed = majors.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ");
        match data_major {
            Some(data) if !found.is_empty() => Err(ClusterError::PostgresVersion { folder: cluster.to_owned(), data, installed }),
            _ => {
                let old = if installed.is_empty() { String::new() } else { format!("; {installed} is too old") };
                Err(ClusterError::PostgresMissing { looked: format!("on PATH, through pg_config, in {VERSION_FOLDERS}/*/bin{old}") })
            }
        }
    }

    /// The path of one program.
    pub(super) fn program(&self, name: &str) -> PathBuf {
        self.folder.join(name)
    }

    /// A folder that has all programs and whose server says its version.
    fn at(folder: &Path) -> Option<Self> {
        if ["postgres", "initdb", "pg_ctl"].iter().any(|name| !folder.join(name).is_file()) {
            return None;
        }
        let output = Command::new(folder.join("postgres")).arg("--version").process_group(0).output().ok()?;
        let major = major_version(&String::from_utf8_lossy(&output.stdout))?;
        Some(Self { folder: folder.to_owned(), major })
    }
}

/// Folders to look in, best first, each once.
fn candidates() -> Vec<PathBuf> {
    let mut folders = Vec::new();
    let mut add = |folder: PathBuf| {
        if !folders.contains(&folder) {
            folders.push(folder);
        }
    };
    for folder in std::env::split_paths(&std::env::var_os("PATH").unwrap_or_default()) {
        // A link leads to the folder in which its siblings and libraries are.
        if let Some(real) = folder.join("postgres").canonicalize().ok().as_deref().and_then(Path::parent) {
            add(real.to_owned());
        }
    }
    if let Ok(output) = Command::new("pg_config").arg("--bindir").process_group(0).output() {
        add(PathBuf::from(String::from_utf8_lossy(&output.stdout).trim()));
    }
    let mut versions: Vec<(u32, PathBuf)> = std::fs::read_dir(VERSION_FOLDERS)
        .into_iter()
        .flatten()
        .flatten()
        .filter_map(|entry| Some((entry.file_name().to_str()?.parse().ok()?, entry.path().join("bin"))))
        .collect();
    versions.sort_by_key(|version| std::cmp::Reverse(version.0));
    for (_, folder) in versions {
        add(folder);
    }
    folders
}

/// `postgres (PostgreSQL) 15.14 (Debian 15.14-0+deb12u1)` → 15; `18beta1` → 18.
fn major_version(text: &str) -> Option<u32> {
    let version = text.split_once("(PostgreSQL) ")?.1;
    let digits = version.find(|c: char| !c.is_ascii_digit()).unwrap_or(version.len());
    version[..digits].parse().ok()
}

/// Finds `psql` beside the server or on PATH.
pub(super) fn psql(binaries: Option<&Binaries>) -> PathBuf {
    let beside = binaries.map(|binaries| binaries.program("psql")).filter(|path| path.is_file());
    beside.unwrap_or_else(|| PathBuf::from(OsStr::new("psql")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_versions() {
        assert_eq!(major_version("postgres (PostgreSQL) 15.14 (Debian 15.14-0+deb12u1)\n"), Some(15));
        assert_eq!(major_version("postgres (PostgreSQL) 18beta1\n"), Some(18));
        assert_eq!(major_version("postgres (PostgreSQL) 13\n"), Some(13));
        assert_eq!(major_version("something else 9"), None);
    }

    #[test]
    fn says_what_is_installed_when_the_version_is_not() {
        if let Ok(found) = Binaries::find(Path::new("x"), None) {
            assert!(found.major >= OLDEST_MAJOR);
            let error = Binaries::find(Path::new("/data/postgres"), Some(9)).unwrap_err();
            assert_eq!(error.code(), "postgres-version");
            assert!(error.to_string().contains("made by PostgreSQL 9"), "{error}");
        } else {
            eprintln!("says_what_is_installed_when_the_version_is_not: no server installed, skipped");
        }
    }
}
