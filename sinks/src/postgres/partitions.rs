//! Partitions by close time: which a batch needs, what they are called, how they are made.
//!
//! A partition covers whole days in UTC, aligned to 1970-01-01, and is named by its first: `transactions_p20260618`. It is made in the same
//! transaction as its first rows, and attached rather than created in place, which does not block readers of the table.

use std::collections::BTreeSet;
use std::fmt::Write as _;

use starmill_ledger::rows::LedgerRow;

use super::{HISTORY_TABLES, PostgresError};

const DAY_SECONDS: i64 = 86_400;
/// 0001-01-01, the first time that can be stored: a year before it has no plain name.
const FIRST_SECOND: i64 = -62_135_596_800;
/// The last second of 9999.
const LAST_SECOND: i64 = 253_402_300_799;

/// The partitions that exist; `None` days means hypertables, which make their own.
#[derive(Clone, Debug)]
pub(crate) struct Partitions {
    /// Days per partition, at least 1.
    days: i64,
    /// Names in the database.
    existing: BTreeSet<String>,
    /// Whether the tables are partitioned by us.
    declarative: bool,
}

/// One partition: the same span of days of every table of history.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Partition {
    /// In days since 1970-01-01.
    pub(crate) first_day: i64,
    days: i64,
}

impl Partition {
    /// Name of a table's part.
    pub(crate) fn name(self, table: &str) -> String {
        format!("{table}_p{}", date(self.first_day, ""))
    }

    /// First moment, and the first moment after it, as Postgres reads them.
    pub(crate) fn bounds(self) -> (String, String) {
        let midnight = |day| format!("{} 00:00:00+00", date(day, "-"));
        (midnight(self.first_day), midnight(self.first_day + self.days))
    }
}

/// What to run before the rows of a batch, and what exists after it was committed.
#[derive(Debug, Default)]
pub(crate) struct NewPartitions {
    pub(crate) sql: String,
    pub(crate) names: Vec<String>,
}

impl Partitions {
    pub(crate) fn new(days: i32, declarative: bool, existing: BTreeSet<String>) -> Self {
        Self { days: i64::from(days.max(1)), existing, declarative }
    }

    /// Statements for the partitions that these ledgers need and that are missing.
    pub(crate) fn missing(&self, ledgers: &[LedgerRow]) -> NewPartitions {
        let mut new = NewPartitions::default();
        if !self.declarative {
            return new;
        }
        let partitions: BTreeSet<Partition> = ledgers.iter().map(|ledger| self.of(ledger.closed_at)).collect();
        for partition in partitions {
            for table in HISTORY_TABLES {
                let name = partition.name(table);
                if !self.existing.contains(&name) {
                    let (from, to) = partition.bounds();
                    // Writing to a String cannot fail.
                    let _ = write!(
                        new.sql,
                        "CREATE TABLE {name} (LIKE {table} INCLUDING ALL); \
                         ALTER TABLE {table} ATTACH PARTITION {name} FOR VALUES FROM ('{from}') TO ('{to}'); "
                    );
                    new.names.push(name);
                }
            }
        }
        new
    }

    /// The partition of a close time (Unix seconds).
    pub(crate) fn of(&self, closed_at: i64) -> Partition {
        Partition { first_day: self.start_day(closed_at), days: self.days }
    }

    /// Whether any table has that part.
    pub(crate) fn exists(&self, partition: Partition) -> bool {
        HISTORY_TABLES.iter().any(|table| self.existing.contains(&partition.name(table)))
    }

    /// Remembers what a commit has made.
    pub(crate) fn made(&mut self, names: Vec<String>) {
        self.existing.extend(names);
    }

    /// Whether the tables are partitioned by us.
    pub(crate) fn declarative(&self) -> bool {
        self.declarative
    }

    /// The begin of the partition that a time falls into (both Unix seconds): what closed before it is in partitions that are wholly older.
    pub(crate) fn cutoff(&self, before: i64) -> i64 {
        self.start_day(before.clamp(FIRST_SECOND, LAST_SECOND)) * DAY_SECONDS
    }

    /// The partitions that begin before a cutoff.
    pub(crate) fn older(&self, cutoff: i64) -> Vec<String> {
        // Names of one table sort as their days do.
        let first_kept = date(cutoff.div_euclid(DAY_SECONDS), "");
        let day =
            |name: &&String| name.rsplit_once("_p").is_some_and(|(_, day)| day.len() == first_kept.len() && day < first_kept.as_str());
        self.existing.iter().filter(day).cloned().collect()
    }

    /// Forgets what has been dropped.
    pub(crate) fn dropped(&mut self, names: &[String]) {
        self.existing.retain(|name| !names.contains(name));
    }

    /// First day of the partition that a time falls into, in days since 1970.
    fn start_day(&self, closed_at: i64) -> i64 {
        closed_at.div_euclid(DAY_SECONDS).div_euclid(self.days) * self.days
    }
}

/// Refuses ledgers that the tables cannot hold, before anything is sent.
pub(crate) fn check_ledgers(ledgers: &[LedgerRow]) -> Result<(), PostgresError> {
    match ledgers.iter().find(|l| i32::try_from(l.sequence).is_err() || !(FIRST_SECOND..=LAST_SECOND).contains(&l.closed_at)) {
        Some(ledger) => Err(PostgresError::LedgerOutOfRange { sequence: ledger.sequence, closed_at: ledger.closed_at }),
        None => Ok(()),
    }
}

/// Year, month and day of a day counted from 1970-01-01 in the Gregorian calendar: counts in eras of 400 years that begin in March, so that
/// the leap day is the last of its year.
fn date(day: i64, between: &str) -> String {
    const ERA: i64 = 146_097;
    let from_march_of_year_0 = day + 719_468;
    let era = from_march_of_year_0.div_euclid(ERA);
    let of_era = from_march_of_year_0.rem_euclid(ERA);
    let year_of_era = (of_era - of_era / 1_460 + of_era / 36_524 - of_era / 146_096) / 365;
    let of_year = of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let month_from_march = (5 * of_year + 2) / 153;
    let day_of_month = of_year - (153 * month_from_march + 2) / 5 + 1;
    let (month, next_year) = if month_from_march < 10 { (month_from_march + 3, 0) } else { (month_from_march - 9, 1) };
    format!("{:04}{between}{month:02}{between}{day_of_month:02}", era * 400 + year_of_era + next_year)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ledger(closed_at: i64) -> LedgerRow {
        LedgerRow { sequence: 1, protocol: 1, closed_at, close_meta_version: 0, base_reserve: 1, transactions: 0 }
    }

    #[test]
    fn names_days() {
        for (seconds, name) in [
            (0, "1970-01-01"),
            (-1, "1969-12-31"),
            (951_782_400, "2000-02-29"),
            (951_868_800, "2000-03-01"),
            (1_781_827_199, "2026-06-18"),
            (FIRST_SECOND, "0001-01-01"),
            (LAST_SECOND, "9999-12-31"),
        ] {
            assert_eq!(date(i64::div_euclid(seconds, DAY_SECONDS), "-"), name);
        }
        // Every day has the name that follows its predecessor's, through all leap rules.
        let mut last = String::new();
        for day in -200_000..200_000 {
            let name = date(day, "");
            assert!(name > last, "{name} after {last}");
            last = name;
        }
    }

    #[test]
    fn makes_what_is_missing_once() {
        let mut partitions = Partitions::new(7, true, BTreeSet::new());
        let new = partitions.missing(&[ledger(0), ledger(6 * DAY_SECONDS), ledger(7 * DAY_SECONDS), ledger(-1)]);
        assert_eq!(new.names.len(), 3 * HISTORY_TABLES.len());
        assert!(
            new.sql.contains("operations_p19691225 FOR VALUES FROM ('1969-12-25 00:00:00+00') TO ('1970-01-01 00:00:00+00')"),
            "{}",
            new.sql
        );
        partitions.made(new.names);
        assert!(partitions.missing(&[ledger(3)]).names.is_empty());
        assert!(Partitions::new(1, false, BTreeSet::new()).missing(&[ledger(0)]).sql.is_empty());
    }

    #[test]
    fn tells_what_is_wholly_older() {
        let mut partitions = Partitions::new(7, true, BTreeSet::new());
        partitions.made(partitions.missing(&[ledger(-1), ledger(0), ledger(7 * DAY_SECONDS)]).names);
        let older = |before: i64| partitions.older(partitions.cutoff(before)).len() / HISTORY_TABLES.len();
        assert_eq!([i64::MIN, -1, 0, 7 * DAY_SECONDS - 1, 7 * DAY_SECONDS, i64::MAX].map(older), [0, 0, 1, 1, 2, 3]);
        let old = partitions.older(0);
        partitions.dropped(&old);
        assert!(partitions.older(0).is_empty());
        let mut again = partitions.missing(&[ledger(-1)]).names;
        again.sort_unstable();
        assert_eq!(again, old);
    }

    #[test]
    fn refuses_what_does_not_fit() {
        assert!(check_ledgers(&[ledger(FIRST_SECOND), ledger(LAST_SECOND)]).is_ok());
        for closed_at in [i64::MIN, FIRST_SECOND - 1, LAST_SECOND + 1, i64::MAX] {
            assert_eq!(check_ledgers(&[ledger(0), ledger(closed_at)]).unwrap_err().code(), "ledger-out-of-range");
        }
        let far = LedgerRow { sequence: u32::MAX, ..ledger(0) };
        assert!(check_ledgers(&[far]).is_err());
    }
}
