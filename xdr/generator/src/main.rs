//! Writes the generated XDR types. Usage: `starmill-xdr-generator WORKSPACE_FOLDER`; see `scripts/generate-xdr`.

use std::path::PathBuf;

use heck as _;
use serde as _;
use serde_json as _;
use starmill_xdr_generator::{definitions_path, generate};

fn main() -> Result<(), String> {
    let workspace = PathBuf::from(std::env::args().nth(1).ok_or("usage: starmill-xdr-generator WORKSPACE_FOLDER")?);
    let definitions = std::fs::read_to_string(definitions_path(&workspace)?).map_err(|e| e.to_string())?;
    let target = workspace.join("xdr/src/generated");
    std::fs::create_dir_all(target.join("owned")).map_err(|e| e.to_string())?;
    for (name, text) in generate(&definitions)? {
        std::fs::write(target.join(&name), text).map_err(|e| format!("{name}: {e}"))?;
    }
    Ok(())
}
