//! The private cluster: a Postgres that starmill starts by itself, in its data folder, reachable through a unix socket only.
//!
//! Promises: made once, whole or not at all; started when needed, stopped by the last process that uses it; one writer per folder; a server that
//! outlived its starmill, or a file left by a killed server, is taken over. It uses the programs that the system has.

mod binaries;
mod error;
mod folder;
mod init;
mod owner;
mod server;

use std::fmt::Write as _;
use std::fs::File;
use std::path::{Path, PathBuf};
use std::process::{Child, Command};

pub use error::ClusterError;

use binaries::Binaries;
use error::Doing as _;
use folder::Folder;
use owner::Owner;

/// Role and owner of everything in the cluster.
const ROLE: &str = "starmill";
/// The database in it.
const DATABASE: &str = "starmill";

/// A running private cluster and our right to use it. Whatever is connected to it should be closed before this is dropped.
#[derive(Debug)]
pub struct PrivateCluster {
    folder: Folder,
    binaries: Binaries,
    owner: Owner,
    /// The server, if this process has started it.
    child: Option<Child>,
    /// Held shared while we use the server.
    user: Option<File>,
    /// Held by the writer.
    _writer: Option<File>,
    stopped: bool,
}

impl PrivateCluster {
    /// Becomes the writer of the folder and starts its cluster, making it first if there is none.
    ///
    /// # Errors
    /// `data-dir-busy` while another starmill writes there; `postgres-missing`, `postgres-version`, `data-dir-unreachable`, `initdb-failed`,
    /// `postgres-start`.
    pub fn start(data_dir: &Path) -> Result<Self, ClusterError> {
        let folder = Folder::open(data_dir)?;
        let writer = folder.lock_writer()?;
        Self::enter(folder, Some(writer))
    }

    /// Uses the folder's cluster without becoming its writer, beside one if there is one, and starts it if it does not run. Ask
    /// [`PrivateCluster::exists`] first unless an empty one should be made.
    ///
    /// # Errors
    /// As [`PrivateCluster::start`], without `data-dir-busy`.
    pub fn attach(data_dir: &Path) -> Result<Self, ClusterError> {
        Self::enter(Folder::open(data_dir)?, None)
    }

    /// Major version of the server programs that a new cluster would use, and their folder.
    ///
    /// # Errors
    /// `postgres-missing`.
    pub fn installed() -> Result<(u32, PathBuf), ClusterError> {
        Binaries::find(Path::new(""), None).map(|binaries| (binaries.major, binaries.folder))
    }

    /// Whether the folder has a cluster at all.
    ///
    /// # Errors
    /// `data-dir-forbidden` where another user's folder does not let us see; `io`.
    pub fn exists(data_dir: &Path) -> Result<bool, ClusterError> {
        let version = data_dir.join("postgres").join("PG_VERSION");
        version.try_exists().doing("looking at", &version)
    }

    /// Stops a server that nobody uses, such as one whose starmill was killed. Returns whether one was running.
    ///
    /// # Errors
    /// `cluster-in-use` while another starmill uses it; `postgres-stop`.
    pub fn shut_down(data_dir: &Path) -> Result<bool, ClusterError> {
        if !Self::exists(data_dir)? {
            return Ok(false);
        }
        let folder = Folder::open(data_dir)?;
        let _change = folder.lock_change()?;
        if !folder.unused()? {
            return Err(ClusterError::ClusterInUse { pid: folder.writer(), folder: folder.root });
        }
        folder.set_kept(false)?;
        let running = server::answers(&folder)?;
        let binaries = Binaries::find(&folder.cluster(), init::data_major(&folder.cluster())?)?;
        server::stop(&folder, &binaries, &Owner::find(&folder.root)?, None)?;
        Ok(running)
    }

    /// Connection URL, for this program, psql and any libpq client.
    pub fn url(&self) -> String {
        self.database_url(DATABASE)
    }

    /// Connection URL of any database of the cluster.
    pub fn database_url(&self, database: &str) -> String {
        let socket = self.folder.socket_folder();
        format!("postgresql:///{}?host={}&port=5432&user={ROLE}", percent(database), percent(&socket.display().to_string()))
    }

    /// The command that opens psql on the database.
    pub fn psql_command(&self) -> Command {
        let mut command = Command::new(binaries::psql(Some(&self.binaries)));
        command.arg(self.url());
        command
    }

    /// The server's log.
    pub fn log(&self) -> PathBuf {
        self.folder.log()
    }

    /// Whether the last that the server has logged speaks of a full disk.
    pub fn log_says_disk_full(&self) -> bool {
        server::says_disk_full(&server::log_tail(&self.folder, 0))
    }

    /// Major version of the server.
    pub fn major_version(&self) -> u32 {
        self.binaries.major
    }

    /// Leaves the cluster and stops the server, unless another process uses it.
    ///
    /// # Errors
    /// `postgres-stop`.
    pub fn stop(mut self) -> Result<(), ClusterError> {
        self.leave()
    }

    /// Leaves the cluster and lets the server run on, whoever else comes and goes, until [`PrivateCluster::shut_down`].
    ///
    /// # Errors
    /// `io`.
    pub fn leave_running(mut self) -> Result<(), ClusterError> {
        let _change = self.folder.lock_change()?;
        self.folder.set_kept(true)?;
        self.stopped = true;
        self.user = None;
        Ok(())
    }

    fn enter(folder: Folder, writer: Option<File>) -> Result<Self, ClusterError> {
        let change = folder.lock_change()?;
        let cluster = folder.cluster();
        let data_major = init::data_major(&cluster)?;
        let binaries = Binaries::find(&cluster, data_major)?;
        let owner = Owner::find(&folder.root)?;
        owner.can_reach(&folder.root)?;
        if data_major.is_none() {
            init::init(&folder, &binaries, &owner)?;
        }
        let user = folder.lock_user()?;
        let socket = folder.make_socket_folder(&owner)?;
        let mut child = None;
        if !server::answers(&folder)? {
            init::write_settings(&folder, &socket, &owner)?;
            child = server::start(&folder, &binaries, &owner)?;
        }
        let cluster = Self { folder, binaries, owner, child, user: Some(user), _writer: writer, stopped: false };
        if let Err(error) = server::make_database(&cluster.folder) {
            // Dropping stops the server, which needs the lock that we hold.
            drop(change);
            return Err(error);
        }
        Ok(cluster)
    }

    fn leave(&mut self) -> Result<(), ClusterError> {
        if std::mem::replace(&mut self.stopped, true) {
            return Ok(());
        }
        let _change = self.folder.lock_change()?;
        self.user = None;
        if self.folder.kept() || !self.folder.unused()? {
            return Ok(());
        }
        server::stop(&self.folder, &self.binaries, &self.owner, self.child.take())
    }
}

impl Drop for PrivateCluster {
    /// Stops the server as [`PrivateCluster::stop`] does; an error has nowhere to go, and the next start finds the server running.
    fn drop(&mut self) {
        let _ = self.leave();
    }
}

/// Percent-encodes all but letters, digits and `-._~/`.
fn percent(text: &str) -> String {
    text.bytes().fold(String::with_capacity(text.len()), |mut out, byte| {
        if byte.is_ascii_alphanumeric() || b"-._~/".contains(&byte) {
            out.push(char::from(byte));
        } else {
            // Writing to a String cannot fail.
            let _ = write!(out, "%{byte:02X}");
        }
        out
    })
}
