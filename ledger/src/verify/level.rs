//! How much of a ledger is checked, and the names people give it by.

use std::fmt;
use std::str::FromStr;

use thiserror::Error;

/// How much is checked. Each level does what those before it do.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum Verify {
    /// Nothing: for ledgers whose hashes are not true, such as those of load generators.
    None,
    /// The header's hash, and that it names the ledger before it.
    #[default]
    Chain,
    /// Also the transaction set and the results.
    Full,
}

/// A text that names no level.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("{0:?} is no level of checking; use one of none, chain, full")]
pub struct UnknownLevel(String);

impl UnknownLevel {
    /// A stable name for programs.
    pub fn code(&self) -> &'static str {
        "unknown-verify-level"
    }
}

impl Verify {
    /// Every level, the least first.
    pub const ALL: [Self; 3] = [Self::None, Self::Chain, Self::Full];

    /// Its name.
    pub fn name(self) -> &'static str {
        match self {
            Self::None => "none",
            Self::Chain => "chain",
            Self::Full => "full",
        }
    }
}

impl fmt::Display for Verify {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

impl FromStr for Verify {
    type Err = UnknownLevel;

    fn from_str(text: &str) -> Result<Self, UnknownLevel> {
        Self::ALL.into_iter().find(|level| level.name() == text).ok_or_else(|| UnknownLevel(text.to_owned()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_level_is_read_from_its_name() {
        for level in Verify::ALL {
            assert_eq!(level.to_string().parse(), Ok(level));
        }
        let error = "Full".parse::<Verify>().unwrap_err();
        assert_eq!(error.to_string(), "\"Full\" is no level of checking; use one of none, chain, full");
        assert_eq!(error.code(), "unknown-verify-level");
    }

    #[test]
    fn levels_are_ordered_by_what_they_check() {
        assert!(Verify::ALL.is_sorted());
    }
}
