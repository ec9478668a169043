//! Numbers, sizes and times as people read them, and what a process has used.

use std::time::Duration;

/// 1234567 as `1,234,567`.
pub(crate) fn thousands(n: u64) -> String {
    let digits = n.to_string();
    let mut out = String::new();
    for (i, digit) in digits.chars().enumerate() {
        if i > 0 && (digits.len() - i).is_multiple_of(3) {
            out.push(',');
        }
        out.push(digit);
    }
    out
}

/// A rate per second, rounded; 0 for no time.
#[allow(clippy::cast_precision_loss, clippy::cast_possible_truncation)]
pub(crate) fn per_second(n: u64, time: Duration) -> u64 {
    if time.is_zero() { 0 } else { (n as f64 / time.as_secs_f64()).round() as u64 }
}

/// Bytes as `12.3 MB`.
#[allow(clippy::cast_precision_loss)]
pub(crate) fn bytes(n: u64) -> String {
    match n {
        0..1_000 => format!("{n} B"),
        1_000..1_000_000 => format!("{:.1} kB", n as f64 / 1e3),
        1_000_000..1_000_000_000 => format!("{:.1} MB", n as f64 / 1e6),
        _ => format!("{:.2} GB", n as f64 / 1e9),
    }
}

/// Unix seconds as `2026-06-19 00:21:26 UTC`; the bare number where no calendar reaches.
pub(crate) fn utc(seconds: i64) -> String {
    jiff::Timestamp::from_second(seconds).map_or_else(|_| seconds.to_string(), |t| t.strftime("%Y-%m-%d %H:%M:%S UTC").to_string())
}

/// Most memory that this process has had resident, in bytes; `None` where the system does not say.
pub(crate) fn peak_resident_bytes() -> Option<u64> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find(|line| line.starts_with("VmHWM:"))?;
    let kilobytes: u64 = line.split_whitespace().nth(1)?.parse().ok()?;
    Some(kilobytes * 1024)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_for_people() {
        assert_eq!(thousands(0), "0");
        assert_eq!(thousands(999), "999");
        assert_eq!(thousands(1_234_567), "1,234,567");
        assert_eq!(bytes(999), "999 B");
        assert_eq!(bytes(1_340_000), "1.3 MB");
        assert_eq!(per_second(30, Duration::from_secs(2)), 15);
        assert_eq!(per_second(30, Duration::ZERO), 0);
    }

    #[test]
    fn times_by_the_calendar() {
        assert_eq!(utc(0), "1970-01-01 00:00:00 UTC");
        assert_eq!(utc(1_781_828_486), "2026-06-19 00:21:26 UTC");
        assert_eq!(utc(i64::MAX), i64::MAX.to_string());
    }
}
