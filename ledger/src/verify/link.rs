//! The check between ledgers: each names the one before it.

use crate::error::{Fault, LedgerError};
use crate::head::LedgerHead;
use crate::skim::Skim;

use super::fault::ChainFault;
use super::level::Verify;
use super::seal::{Sealed, seal};

/// A run of ledgers as it is read, in ascending order. Remembers the last one alone.
#[derive(Clone, Debug, Default)]
pub struct ChainCheck {
    last: Option<Sealed>,
}

impl ChainCheck {
    /// Checks the next ledger: [`seal`], then [`Self::link`].
    pub fn check(&mut self, frame: &[u8], head: &LedgerHead, skim: &Skim, level: Verify) -> Result<(), LedgerError> {
        self.link(&seal(frame, head, skim, level)?)
    }

    /// Checks that the ledger follows the last one. Where the last one is not its neighbour, at a gap or the start, there is nothing to
    /// check, and a ledger sealed at [`Verify::None`] neither is checked nor serves to check the next.
    ///
    /// # Errors
    /// `chain-broken`; the ledger is then not remembered, so that the true one may be given after it.
    pub fn link(&mut self, ledger: &Sealed) -> Result<(), LedgerError> {
        if ledger.level == Verify::None {
            self.last = None;
            return Ok(());
        }
        if let Some(last) = &self.last
            && last.sequence.checked_add(1) == Some(ledger.sequence)
            && last.hash != ledger.previous
        {
            let fault = ChainFault::Link { before: last.sequence, named: ledger.previous, found: last.hash };
            return Err(Fault::from(fault).in_ledger(ledger.sequence));
        }
        self.last = Some(*ledger);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ledger(sequence: u32, hash: u8, previous: u8) -> Sealed {
        Sealed { sequence, hash: [hash; 32], previous: [previous; 32], level: Verify::Chain }
    }

    #[test]
    fn a_broken_link_names_both_hashes_and_both_ledgers() {
        let mut chain = ChainCheck::default();
        chain.link(&ledger(7, 0xaa, 0)).unwrap();
        let error = chain.link(&ledger(8, 0xbb, 0xcc)).unwrap_err();
        assert_eq!(error.code(), "chain-broken");
        let text = error.to_string();
        assert_eq!(
            text,
            format!(
                "ledger 8: header names {} as the hash of ledger 7, but ledger 7 came with hash {}; read both from one source of one network",
                "cc".repeat(32),
                "aa".repeat(32)
            )
        );
        // The true ledger 8 may still come.
        chain.link(&ledger(8, 0xbb, 0xaa)).unwrap();
        chain.link(&ledger(9, 0xdd, 0xbb)).unwrap();
    }

    #[test]
    fn ledgers_that_are_no_neighbours_are_not_compared() {
        let mut chain = ChainCheck::default();
        for ledger in [ledger(7, 1, 0), ledger(9, 3, 2), ledger(9, 3, 2), ledger(5, 4, 9), ledger(u32::MAX, 5, 9), ledger(0, 6, 9)] {
            chain.link(&ledger).unwrap();
        }
    }

    #[test]
    fn an_unchecked_ledger_is_no_neighbour() {
        let mut chain = ChainCheck::default();
        chain.link(&ledger(7, 1, 0)).unwrap();
        chain.link(&Sealed { level: Verify::None, ..ledger(8, 2, 9) }).unwrap();
        chain.link(&ledger(9, 3, 9)).unwrap();
    }
}
