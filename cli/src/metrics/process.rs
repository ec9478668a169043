//! What the system says about this process: proc(5). Nothing where there is no such file system.

use std::fs;

/// Ticks a second in /proc, on every Linux that Rust runs on.
const TICKS: f64 = 100.0;

/// Seconds of processor time, of user and system together.
pub(crate) fn cpu_seconds() -> Option<f64> {
    let fields = stat()?;
    let ticks: u64 = fields.get(11)?.parse::<u64>().ok()? + fields.get(12)?.parse::<u64>().ok()?;
    #[allow(clippy::cast_precision_loss)] // Hundredths of seconds, far below 2^53.
    Some(ticks as f64 / TICKS)
}

/// When it started, in Unix seconds.
pub(crate) fn start_seconds() -> Option<f64> {
    let ticks: f64 = stat()?.get(19)?.parse().ok()?;
    let boot: f64 = fs::read_to_string("/proc/stat").ok()?.lines().find_map(|line| line.strip_prefix("btime "))?.trim().parse().ok()?;
    Some(boot + ticks / TICKS)
}

/// Bytes resident in memory.
pub(crate) fn resident_bytes() -> Option<u64> {
    let status = fs::read_to_string("/proc/self/status").ok()?;
    let kilobytes = status.lines().find_map(|line| line.strip_prefix("VmRSS:"))?.trim().strip_suffix("kB")?;
    kilobytes.trim().parse::<u64>().ok()?.checked_mul(1024)
}

/// Open files.
pub(crate) fn open_files() -> Option<u64> {
    // One of them is the listing itself.
    Some((fs::read_dir("/proc/self/fd").ok()?.count() as u64).saturating_sub(1))
}

/// The fields of /proc/self/stat from the third on: the second is a name that may hold anything.
fn stat() -> Option<Vec<String>> {
    let text = fs::read_to_string("/proc/self/stat").ok()?;
    Some(text.rsplit_once(')')?.1.split_whitespace().map(str::to_owned).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn this_process_has_a_life() {
        let Some(start) = start_seconds() else {
            println!("skipped this_process_has_a_life: no /proc");
            return;
        };
        let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap().as_secs_f64();
        assert!((now - start).abs() < 3600.0, "started at {start}, now {now}");
        assert!(resident_bytes().unwrap() > 1 << 20 && open_files().unwrap() >= 3 && cpu_seconds().unwrap() >= 0.0);
    }
}
