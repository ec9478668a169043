//! As whom the server runs: as ourselves, or, since Postgres refuses to run as root, as the user `postgres`.

use std::os::unix::fs::{MetadataExt as _, chown};
use std::os::unix::process::CommandExt as _;
use std::path::Path;
use std::process::Command;

use super::ClusterError;
use super::error::Doing as _;

/// Variables that would lead the server's programs elsewhere.
const VARIABLES: [&str; 9] =
    ["PGDATA", "PGHOST", "PGPORT", "PGUSER", "PGDATABASE", "PGOPTIONS", "PGSERVICE", "PG_COLOR", "PGCLIENTENCODING"];

/// The user of the server's processes and files.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Owner {
    name: String,
    uid: u32,
    gid: u32,
    /// Whether it is another than ourselves.
    other: bool,
}

impl Owner {
    /// Finds out whom to run the server as. Who we are says /proc, or, where there is none, who owns the data folder.
    pub(super) fn find(data_dir: &Path) -> Result<Self, ClusterError> {
        let meta = Path::new("/proc/self").metadata().or_else(|_| data_dir.metadata()).doing("looking at", data_dir)?;
        if meta.uid() != 0 {
            return Ok(Self { name: format!("with uid {}", meta.uid()), uid: meta.uid(), gid: meta.gid(), other: false });
        }
        let passwd = Path::new("/etc/passwd");
        let text = std::fs::read_to_string(passwd).doing("reading", passwd)?;
        let (uid, gid) = user_ids(&text, "postgres").ok_or(ClusterError::NoPostgresUser)?;
        Ok(Self { name: "postgres".to_owned(), uid, gid, other: true })
    }

    pub(super) fn uid(&self) -> u32 {
        self.uid
    }

    /// A command that runs as this user, from a folder that everybody can enter, without our environment's Postgres settings. It has a process group
    /// of its own: Ctrl-C at the terminal is for starmill, which ends its programs when it is their turn.
    pub(super) fn command(&self, program: &Path) -> Command {
        let mut command = Command::new(program);
        command.current_dir("/").env("LC_ALL", "C").process_group(0);
        for variable in VARIABLES {
            command.env_remove(variable);
        }
        if self.other {
            command.uid(self.uid).gid(self.gid);
        }
        command
    }

    /// Gives a file or folder to this user.
    pub(super) fn give(&self, path: &Path) -> Result<(), ClusterError> {
        if self.other { chown(path, Some(self.uid), Some(self.gid)).doing("giving away", path) } else { Ok(()) }
    }

    /// Makes sure that this user can pass through every folder on the way to `path`, itself included.
    pub(super) fn can_reach(&self, path: &Path) -> Result<(), ClusterError> {
        if !self.other {
            return Ok(());
        }
        for folder in path.ancestors() {
            let meta = folder.metadata().doing("looking at", folder)?;
            let execute = match (meta.uid() == self.uid, meta.gid() == self.gid) {
                (true, _) => 0o100,
                (_, true) => 0o010,
                _ => 0o001,
            };
            if meta.mode() & execute == 0 {
                return Err(ClusterError::DataDirUnreachable { user: self.name.clone(), folder: folder.to_owned() });
            }
        }
        Ok(())
    }
}

/// User and group id of a name in the text of /etc/passwd.
fn user_ids(passwd: &str, name: &str) -> Option<(u32, u32)> {
    let mut fields = passwd.lines().find(|line| line.split(':').next() == Some(name))?.split(':').skip(2);
    Some((fields.next()?.parse().ok()?, fields.next()?.parse().ok()?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_passwd() {
        let text = "root:x:0:0:root:/root:/bin/bash\npostgresql:x:7:8::/:\npostgres:x:101:104:PostgreSQL:/var/lib/postgresql:/bin/bash\n";
        assert_eq!(user_ids(text, "postgres"), Some((101, 104)));
        assert_eq!(user_ids(text, "nobody"), None);
        assert_eq!(user_ids("postgres:x:a:b", "postgres"), None);
    }
}
