//! What stands at the front of a `LedgerCloseMeta` frame: enough to order frames and to name a ledger in an error.

/// Header facts of one ledger.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LedgerHead {
    /// Arm of the close meta: 0, 1 or 2.
    pub close_meta_version: u8,
    /// Ledger sequence.
    pub sequence: u32,
    /// Protocol version.
    pub protocol: u32,
    /// Close time, Unix seconds.
    pub closed_at: i64,
    /// Base reserve, stroops.
    pub base_reserve: u32,
    /// Base fee, stroops.
    pub base_fee: u32,
    /// Hash of this ledger's header, as the frame states it.
    pub hash: [u8; 32],
    /// Hash of the previous ledger's header.
    pub previous_hash: [u8; 32],
}
