//! Imports point one way (docs/ARCHITECTURE.md, crates). Read from `cargo metadata`, so that no crate can forget to ask.

use std::collections::BTreeMap;
use std::process::Command;

/// What each crate of the workspace may use of the workspace, in its own code.
const ALLOWED: [(&str, &[&str]); 11] = [
    ("starmill-xdr", &[]),
    ("starmill-xdr-generator", &[]),
    ("starmill-ledger", &["starmill-xdr"]),
    ("starmill-processors", &["starmill-ledger", "starmill-xdr"]),
    ("starmill-pipeline", &["starmill-ledger", "starmill-xdr"]),
    ("starmill-sources", &["starmill-ledger", "starmill-xdr"]),
    ("starmill-sinks", &["starmill-ledger"]),
    ("starmill-fixtures", &["starmill-ledger", "starmill-xdr"]),
    (
        "starmill",
        &[
            "starmill-fixtures",
            "starmill-ledger",
            "starmill-pipeline",
            "starmill-processors",
            "starmill-sinks",
            "starmill-sources",
            "starmill-xdr",
        ],
    ),
    ("starmill-tests", &[]),
    ("starmill-benches", &[]),
];

/// Crates that may use tokio.
const TOKIO: [&str; 2] = ["starmill-sinks", "starmill"];

#[test]
fn arrows_point_one_way() {
    let allowed: BTreeMap<_, _> = ALLOWED.into_iter().collect();
    for package in packages() {
        let name = package["name"].as_str().unwrap();
        let mine = allowed.get(name).unwrap_or_else(|| panic!("{name} is not in the list of crates"));
        for dependency in package["dependencies"].as_array().unwrap() {
            let other = dependency["name"].as_str().unwrap();
            if dependency["kind"] == "dev" {
                continue;
            }
            if other.starts_with("starmill") {
                assert!(mine.contains(&other), "{name} may not use {other}");
            }
            if other.starts_with("tokio") {
                assert!(TOKIO.contains(&name), "{name} may not use {other}");
            }
            if ["anyhow", "clap"].contains(&other) {
                assert_eq!(name, "starmill", "{name} may not use {other}");
            }
        }
    }
}

#[test]
fn unsafe_code_stands_in_the_arena_alone() {
    let mut found = Vec::new();
    for package in packages() {
        let manifest = std::path::PathBuf::from(package["manifest_path"].as_str().unwrap());
        walk(manifest.parent().unwrap(), &mut |path, text| {
            if text.lines().any(|l| {
                !l.trim_start().starts_with("//") && (l.contains("unsafe {") || l.contains("unsafe fn") || l.contains("unsafe impl"))
            }) {
                found.push(path.file_name().unwrap().to_string_lossy().into_owned());
            }
        });
    }
    found.retain(|f| f != "arrows.rs");
    found.sort();
    found.dedup();
    assert_eq!(found, ["arena.rs"]);
}

fn walk(folder: &std::path::Path, see: &mut impl FnMut(&std::path::Path, &str)) {
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            if path.file_name().is_some_and(|n| n != "target") {
                walk(&path, see);
            }
        } else if path.extension().is_some_and(|e| e == "rs") {
            see(&path, &std::fs::read_to_string(&path).unwrap());
        }
    }
}

fn packages() -> Vec<serde_json::Value> {
    let run = Command::new(env!("CARGO"))
        .args(["metadata", "--format-version", "1", "--no-deps", "--locked"])
        .current_dir(starmill_tests::workspace())
        .output()
        .unwrap();
    assert!(run.status.success(), "{}", String::from_utf8_lossy(&run.stderr));
    let metadata: serde_json::Value = serde_json::from_slice(&run.stdout).unwrap();
    metadata["packages"].as_array().unwrap().clone()
}
