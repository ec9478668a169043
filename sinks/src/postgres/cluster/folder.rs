//! The folder that a private cluster lives in: what is where, who may use it, how to reach its socket.
//!
//! | name | what |
//! |---|---|
//! | `postgres/` | the cluster |
//! | `postgres.log` | the server's log |
//! | `socket/` | its socket, unless the path is too long for one |
//! | `starmill.lock` | held by the writer, says its process id |
//! | `postgres.change.lock` | held while the server is started or stopped |
//! | `postgres.users.lock` | held, shared, by everybody who uses the server: the last one stops it |

use std::fs::{DirBuilder, File, OpenOptions, TryLockError};
use std::io::{Read as _, Seek as _, Write as _};
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::{DirBuilderExt as _, MetadataExt as _};
use std::path::{Path, PathBuf};

use sha2::{Digest as _, Sha256};

use super::ClusterError;
use super::error::Doing as _;
use super::owner::Owner;

/// Longest path of a socket that every system takes, without the ending NUL.
const SOCKET_PATH_MAX: usize = 103;
/// File name of the socket of port 5432.
const SOCKET_NAME: &str = ".s.PGSQL.5432";

/// Paths of one data folder.
#[derive(Clone, Debug)]
pub(super) struct Folder {
    /// The data folder, absolute.
    pub(super) root: PathBuf,
}

impl Folder {
    /// Makes the folder if it is missing. Postgres keeps the path as one line of a file, so it must be one.
    pub(super) fn open(root: &Path) -> Result<Self, ClusterError> {
        let absolute = std::path::absolute(root).doing("finding", root)?;
        if absolute.as_os_str().as_bytes().iter().any(u8::is_ascii_control) {
            return Err(ClusterError::DataDirName { folder: absolute });
        }
        std::fs::create_dir_all(root).doing("making", root)?;
        Ok(Self { root: root.canonicalize().doing("finding", root)? })
    }

    pub(super) fn cluster(&self) -> PathBuf {
        self.root.join("postgres")
    }

    pub(super) fn log(&self) -> PathBuf {
        self.root.join("postgres.log")
    }

    pub(super) fn pid_file(&self) -> PathBuf {
        self.cluster().join("postmaster.pid")
    }

    /// The folder of the socket: here, or under the system's folder for temporary files under a name made from this one, if the path here is too
    /// long for a socket or cannot stand in a URL (which takes a comma as the end of a host).
    pub(super) fn socket_folder(&self) -> PathBuf {
        let here = self.root.join("socket");
        let speakable = here.to_str().is_some_and(|path| !path.contains(','));
        if speakable && here.as_os_str().len() + 1 + SOCKET_NAME.len() <= SOCKET_PATH_MAX {
            return here;
        }
        let hash = hex::encode(&Sha256::digest(self.root.as_os_str().as_bytes())[..8]);
        std::env::temp_dir().join(format!("starmill-{hash}"))
    }

    /// Makes the socket's folder, private to the server's user. One that somebody else has put there is refused.
    pub(super) fn make_socket_folder(&self, owner: &Owner) -> Result<PathBuf, ClusterError> {
        let path = self.socket_folder();
        match DirBuilder::new().mode(0o700).create(&path) {
            Ok(()) => owner.give(&path)?,
            Err(error) if error.kind() == std::io::ErrorKind::AlreadyExists => {
                let meta = path.symlink_metadata().doing("looking at", &path)?;
                if !meta.is_dir() || meta.uid() != owner.uid() || meta.mode() & 0o022 != 0 {
                    let source = std::io::Error::other("it exists and is not a private folder of the server's user; remove it");
                    return Err(ClusterError::Io { what: "using", path, source });
                }
            }
            Err(error) => return Err(error).doing("making", &path),
        }
        Ok(path)
    }

    /// Becomes the one writer of this folder, until the file is closed.
    pub(super) fn lock_writer(&self) -> Result<File, ClusterError> {
        let path = self.writer_lock();
        let mut file = open_lock(&path)?;
        // Twice: somebody may just be looking whether there is a writer.
        let locked = match file.try_lock() {
            Err(TryLockError::WouldBlock) => {
                std::thread::sleep(std::time::Duration::from_millis(20));
                file.try_lock()
            }
            locked => locked,
        };
        match locked {
            Ok(()) => {
                file.set_len(0).and_then(|()| writeln!(file, "{}", std::process::id())).doing("writing", &path)?;
                Ok(file)
            }
            Err(TryLockError::WouldBlock) => Err(ClusterError::DataDirBusy { folder: self.root.clone(), pid: read_pid(&mut file) }),
            Err(TryLockError::Error(error)) => Err(error).doing("locking", &path),
        }
    }

    /// ` (pid N)` of a writer at work, for messages.
    pub(super) fn writer(&self) -> String {
        let Ok(mut file) = open_lock(&self.writer_lock()) else { return String::new() };
        match file.try_lock_shared() {
            Err(TryLockError::WouldBlock) => format!(" (pid {})", read_pid(&mut file)),
            _ => String::new(),
        }
    }

    /// Waits for the right to start or stop the server; given back when the file is closed.
    pub(super) fn lock_change(&self) -> Result<File, ClusterError> {
        let path = self.root.join("postgres.change.lock");
        let file = open_lock(&path)?;
        file.lock().doing("locking", &path)?;
        Ok(file)
    }

    /// Counts among the users of the server, until the file is closed. Only under the change lock.
    pub(super) fn lock_user(&self) -> Result<File, ClusterError> {
        let path = self.users_lock();
        let file = open_lock(&path)?;
        file.lock_shared().doing("locking", &path)?;
        Ok(file)
    }

    /// Whether nobody uses the server. Only under the change lock, and not by a user.
    pub(super) fn unused(&self) -> Result<bool, ClusterError> {
        let path = self.users_lock();
        match open_lock(&path)?.try_lock() {
            Ok(()) => Ok(true),
            Err(TryLockError::WouldBlock) => Ok(false),
            Err(TryLockError::Error(error)) => Err(error).doing("locking", &path),
        }
    }

    /// Whether somebody wants the server to run on when nobody uses it.
    pub(super) fn kept(&self) -> bool {
        self.kept_mark().exists()
    }

    /// Says whether the server is to run on when nobody uses it. Only under the change lock.
    pub(super) fn set_kept(&self, kept: bool) -> Result<(), ClusterError> {
        let path = self.kept_mark();
        if kept {
            return File::create(&path).map(|_| ()).doing("making", &path);
        }
        match std::fs::remove_file(&path) {
            Err(error) if error.kind() != std::io::ErrorKind::NotFound => Err(error).doing("removing", &path),
            _ => Ok(()),
        }
    }

    fn kept_mark(&self) -> PathBuf {
        self.root.join("postgres.kept")
    }

    fn writer_lock(&self) -> PathBuf {
        self.root.join("starmill.lock")
    }

    fn users_lock(&self) -> PathBuf {
        self.root.join("postgres.users.lock")
    }
}

fn open_lock(path: &Path) -> Result<File, ClusterError> {
    OpenOptions::new().read(true).write(true).create(true).truncate(false).open(path).doing("opening", path)
}

/// The process id in a lock file; a text for a message, so an unreadable one is no error.
fn read_pid(file: &mut File) -> String {
    let mut text = String::new();
    let read = file.rewind().and_then(|()| file.take(20).read_to_string(&mut text));
    match read {
        Ok(_) if !text.trim().is_empty() => text.trim().to_owned(),
        _ => "unknown".to_owned(),
    }
}
