//! Whatever dies, at whatever moment, the tables end up exactly as if nothing had (docs/persistence.md).
//!
//! `kill/points.rs`: the process aborts at each step by name. `kill/random.rs`: starmill, a backend, the whole server are killed at random moments.

#[path = "kill/points.rs"]
mod points;
#[path = "kill/random.rs"]
mod random;
mod support;

/// The binary with fail points, `STARMILL_FAILPOINTS_BIN`; says which test is passed over without it.
fn with_fail_points(test: &str) -> Option<std::path::PathBuf> {
    let given = std::env::var_os("STARMILL_FAILPOINTS_BIN").map(std::path::PathBuf::from);
    if given.is_none() {
        println!("skipped {test}: no STARMILL_FAILPOINTS_BIN (scripts/test builds one: cargo build -p starmill --features failpoints)");
    }
    given.filter(|_| support::postgres_installed(test))
}
