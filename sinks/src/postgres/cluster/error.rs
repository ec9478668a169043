//! What can go wrong with the private cluster, each with a stable code and what to do.

use std::path::PathBuf;

use thiserror::Error;

/// Why the private cluster cannot be used.
#[derive(Debug, Error)]
pub enum ClusterError {
    /// No server programs found.
    #[error("no PostgreSQL server found ({looked}); `apt-get install postgresql` puts one there, or give --database-url")]
    PostgresMissing {
        /// Where was looked.
        looked: String,
    },
    /// The data was made by a major version that is not installed.
    #[error("{folder} was made by PostgreSQL {data}, installed is {installed}; `apt-get install postgresql-{data}`, or choose another folder", folder = folder.display())]
    PostgresVersion {
        /// The cluster's folder.
        folder: PathBuf,
        /// Major version of the data.
        data: u32,
        /// Major versions found.
        installed: String,
    },
    /// Another starmill writes to this folder.
    #[error("the folder {folder} is in use by starmill process {pid}; stop it first, or choose another folder", folder = folder.display())]
    DataDirBusy {
        /// The data folder.
        folder: PathBuf,
        /// The other process, as it wrote itself down.
        pid: String,
    },
    /// Others still use the server.
    #[error("the Postgres of {folder} is in use by another starmill process{pid}; stop that first", folder = folder.display())]
    ClusterInUse {
        /// The data folder.
        folder: PathBuf,
        /// ` (pid N)` where a writer has written itself down, otherwise empty.
        pid: String,
    },
    /// The server's user cannot get to the folder.
    #[error("the user {user}, as whom Postgres runs, cannot enter {folder}; `chmod o+x {folder}`, or choose a folder elsewhere", folder = folder.display())]
    DataDirUnreachable {
        /// The user.
        user: String,
        /// The folder that bars the way.
        folder: PathBuf,
    },
    /// The folder is somebody else's.
    #[error("{what} {path}: {source}; run starmill as the user whose it is, or choose another folder", path = path.display())]
    DataDirForbidden {
        /// What was being done.
        what: &'static str,
        /// With which file.
        path: PathBuf,
        /// What the system says.
        source: std::io::Error,
    },
    /// A path that Postgres cannot be told.
    #[error("the data folder {folder:?} has a control character in its name, which Postgres cannot take; choose another folder")]
    DataDirName {
        /// The data folder.
        folder: PathBuf,
    },
    /// Started by root, and there is no user to run the server as.
    #[error(
        "starmill runs as root, Postgres refuses to, and there is no user `postgres`; run starmill as another user, or `useradd --system postgres`"
    )]
    NoPostgresUser,
    /// Something else stands where the cluster should be.
    #[error("{folder} is not a Postgres cluster (it has no PG_VERSION); move it away, or choose another folder", folder = folder.display())]
    NotACluster {
        /// The folder.
        folder: PathBuf,
    },
    /// `initdb` failed.
    #[error("initdb failed: {output}")]
    InitFailed {
        /// Its last lines, joined.
        output: String,
    },
    /// The server did not come up.
    #[error("Postgres did not start ({reason}){}; the end of {log}: {tail}", advice(tail), log = log.display())]
    StartFailed {
        /// What happened.
        reason: String,
        /// The server's log.
        log: PathBuf,
        /// Its last lines, joined.
        tail: String,
    },
    /// The server did not go down.
    #[error("Postgres did not stop: {output}; see {log}", log = log.display())]
    StopFailed {
        /// What `pg_ctl` says.
        output: String,
        /// The server's log.
        log: PathBuf,
    },
    /// Reading or writing files.
    #[error("{what} {path}: {source}", path = path.display())]
    Io {
        /// What was being done.
        what: &'static str,
        /// With which file.
        path: PathBuf,
        /// What the system says.
        source: std::io::Error,
    },
}

impl ClusterError {
    /// Stable name of the fault, for programs.
    pub fn code(&self) -> &'static str {
        match self {
            Self::PostgresMissing { .. } => "postgres-missing",
            Self::PostgresVersion { .. } => "postgres-version",
            Self::DataDirBusy { .. } => "data-dir-busy",
            Self::ClusterInUse { .. } => "cluster-in-use",
            Self::DataDirUnreachable { .. } => "data-dir-unreachable",
            Self::DataDirForbidden { .. } => "data-dir-forbidden",
            Self::DataDirName { .. } => "data-dir-name",
            Self::NoPostgresUser => "no-postgres-user",
            Self::NotACluster { .. } => "not-a-cluster",
            Self::InitFailed { .. } => "initdb-failed",
            Self::StartFailed { tail, .. } if super::server::says_disk_full(tail) => "disk-full",
            Self::StartFailed { .. } => "postgres-start",
            Self::StopFailed { .. } => "postgres-stop",
            Self::Io { .. } => "io",
        }
    }
}

/// What to do about a server that did not start, where its log says why.
fn advice(tail: &str) -> &'static str {
    if super::server::says_disk_full(tail) { " for want of room: make some on the disk of the data folder, then start again" } else { "" }
}

/// Says what was being done with which file.
pub(super) trait Doing<T> {
    fn doing(self, what: &'static str, path: &std::path::Path) -> Result<T, ClusterError>;
}

impl<T> Doing<T> for std::io::Result<T> {
    fn doing(self, what: &'static str, path: &std::path::Path) -> Result<T, ClusterError> {
        let path = path.to_owned();
        self.map_err(|source| match source.kind() {
            std::io::ErrorKind::PermissionDenied => ClusterError::DataDirForbidden { what, path, source },
            _ => ClusterError::Io { what, path, source },
        })
    }
}
