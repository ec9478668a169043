//! The committed XDR types are what the generator makes of the definitions that Cargo.lock names.

use std::collections::BTreeSet;

use starmill_tests::workspace;
use starmill_xdr_generator::{definitions_path, generate};

#[test]
fn committed_types_are_what_the_generator_makes() {
    let definitions = std::fs::read_to_string(definitions_path(&workspace()).unwrap()).unwrap();
    let folder = workspace().join("xdr/src/generated");
    let mut made = BTreeSet::new();
    for (name, text) in generate(&definitions).unwrap() {
        let committed = std::fs::read_to_string(folder.join(&name)).unwrap_or_default();
        assert!(committed == text, "xdr/src/generated/{name} is not what scripts/generate-xdr writes; run it");
        made.insert(name);
    }
    for (prefix, folder) in [("", folder.clone()), ("owned/", folder.join("owned"))] {
        for entry in std::fs::read_dir(folder).unwrap() {
            let entry = entry.unwrap();
            if entry.file_type().unwrap().is_file() {
                let name = format!("{prefix}{}", entry.file_name().to_string_lossy());
                assert!(made.contains(&name), "xdr/src/generated/{name} is left over; delete it");
            }
        }
    }
}
