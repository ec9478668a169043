//! What the end-to-end tests share: where the workspace is, and where real ledgers are.

pub mod binary;
pub mod http;

use std::path::{Path, PathBuf};

/// The workspace folder.
pub fn workspace() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().map_or_else(PathBuf::new, Path::to_path_buf)
}

/// A folder of shared test material, `fixtures` for instance: below `STARMILL_SHARED`, or beside the workspace. `None`, and a line that
/// names the test, where it is absent.
pub fn shared(test: &str, folder: &str) -> Option<PathBuf> {
    let root = std::env::var_os("STARMILL_SHARED").map_or_else(|| workspace().join("..").join("shared"), PathBuf::from);
    let path = root.join(folder);
    if path.is_dir() {
        return Some(path);
    }
    println!("skipped {test}: no {folder} folder below STARMILL_SHARED");
    None
}
