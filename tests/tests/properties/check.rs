//! All properties of one ledger.

use starmill_ledger::Network;
use stellar_xdr::{Asset, LedgerCloseMeta, Limits, ReadXdr};

use super::{bytes, current, ids, money, read::Ledger, seen::Seen};

/// Checks every property on a ledger of the network with this passphrase; returns its rows.
pub(super) fn check(passphrase: &str, frame: &[u8]) -> Seen {
    bytes::same_at_any_threads_and_chunks(&Network::new(passphrase), frame);
    check_rows(passphrase, frame)
}

/// The properties of the rows themselves.
pub(super) fn check_rows(passphrase: &str, frame: &[u8]) -> Seen {
    let network = Network::new(passphrase);
    let meta = LedgerCloseMeta::from_xdr(frame, Limits { depth: starmill_xdr::DEPTH_MAX, len: frame.len() }).unwrap();
    let ledger = Ledger::of(passphrase, &meta);
    let seen = Seen::of(&network, frame).unwrap_or_else(|error| panic!("{error}"));
    ids::every_id_belongs_to_the_ledger(&ledger, &seen);
    ids::state_change_ids_have_no_gaps(&seen);
    ids::whoever_is_named_takes_part(&ledger, &seen);
    ids::sponsors_take_part(&ledger, &seen);
    money::rows_say_what_entries_say(passphrase, &ledger, &seen);
    money::lumens_are_lost_to_fees_alone(passphrase, &ledger, &seen);
    let native = money::Tokens::of(passphrase).token(&Asset::Native);
    current::rows_are_the_last_states(native, &ledger, &seen);
    seen
}
