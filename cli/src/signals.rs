//! The signals that end a run: Ctrl-C, a polite kill, a terminal that goes away.

use signal_hook::consts::{SIGHUP, TERM_SIGNALS};

/// Signals after which a run finishes its batch. One of a closed terminal counts unless it was to be ignored from the start, as `nohup` asks for.
pub(crate) fn that_end_a_run() -> Vec<i32> {
    let mut signals = TERM_SIGNALS.to_vec();
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    if !ignores(&status, SIGHUP) {
        signals.push(SIGHUP);
    }
    signals
}

/// Whether a process of which /proc says this ignores a signal; false where it says nothing.
fn ignores(status: &str, signal: i32) -> bool {
    let mask = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    let mask = mask.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok()).unwrap_or(0);
    mask >> (signal - 1) & 1 == 1
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_what_is_ignored() {
        assert!(ignores("Name:\tx\nSigIgn:\t0000000000001001\n", SIGHUP));
        assert!(!ignores("Name:\tx\nSigIgn:\t0000000000001000\n", SIGHUP));
        assert!(!ignores("", SIGHUP));
    }
}
