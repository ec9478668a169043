//! `state_changes`: what one operation, or the fee, did to one account, contract or token holder (docs/rows.md, state changes).

use starmill_xdr::SignerKey;

use crate::AddressBytes;

/// What kind of thing changed. Stored by name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs)]
pub enum Category {
    Balance,
    Account,
    Signer,
    SignatureThreshold,
    DataEntry,
    HomeDomain,
    Allowance,
    Flags,
    Trustline,
    BalanceAuthorization,
}

impl Category {
    /// As stored.
    pub fn name(self) -> &'static str {
        match self {
            Self::Balance => "BALANCE",
            Self::Account => "ACCOUNT",
            Self::Signer => "SIGNER",
            Self::SignatureThreshold => "SIGNATURE_THRESHOLD",
            Self::DataEntry => "DATA_ENTRY",
            Self::HomeDomain => "HOME_DOMAIN",
            Self::Allowance => "ALLOWANCE",
            Self::Flags => "FLAGS",
            Self::Trustline => "TRUSTLINE",
            Self::BalanceAuthorization => "BALANCE_AUTHORIZATION",
        }
    }
}

/// What happened to it. Stored by name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs)]
pub enum Reason {
    Create,
    Merge,
    Debit,
    Credit,
    Mint,
    Burn,
    Add,
    Remove,
    Update,
    Set,
    Clear,
}

impl Reason {
    /// As stored.
    pub fn name(self) -> &'static str {
        match self {
            Self::Create => "CREATE",
            Self::Merge => "MERGE",
            Self::Debit => "DEBIT",
            Self::Credit => "CREDIT",
            Self::Mint => "MINT",
            Self::Burn => "BURN",
            Self::Add => "ADD",
            Self::Remove => "REMOVE",
            Self::Update => "UPDATE",
            Self::Set => "SET",
            Self::Clear => "CLEAR",
        }
    }
}

/// Which threshold of an account.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs)]
pub enum Threshold {
    Low,
    Medium,
    High,
}

impl Threshold {
    /// As stored.
    pub fn name(self) -> &'static str {
        match self {
            Self::Low => "LOW",
            Self::Medium => "MEDIUM",
            Self::High => "HIGH",
        }
    }
}

/// The JSON object of a row, where its kind has one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum KeyValue<'a> {
    /// `{"old": …, "new": …}` of texts (home domains); an absent side is left out.
    Texts {
        /// Before.
        old: Option<&'a [u8]>,
        /// After.
        new: Option<&'a [u8]>,
    },
    /// The same of bytes in padded base64 (data entries).
    Base64 {
        /// Before.
        old: Option<&'a [u8]>,
        /// After.
        new: Option<&'a [u8]>,
    },
    /// `{"live_until_ledger": n}` of an allowance.
    LiveUntilLedger(u32),
    /// `{"signer": "P…"}`, the whole text of a signed-payload signer, whose column holds its key alone.
    Signer(SignerKey<'a>),
}

/// Where a state change belongs: the columns that all rows of an operation share.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Place {
    /// TOID of the transaction.
    pub to_id: i64,
    /// TOID of the operation; 0 for the fee.
    pub operation_id: i64,
    /// Ledger sequence.
    pub ledger: u32,
    /// Close time, Unix seconds.
    pub closed_at: i64,
}

/// One line of `state_changes`. `None` is NULL.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StateChangeRow<'a> {
    /// Transaction, operation, ledger.
    pub place: Place,
    /// Number within transaction and operation, see [`StateChangeIds`].
    pub state_change_id: i64,
    /// What kind of thing changed.
    pub category: Category,
    /// What happened to it.
    pub reason: Reason,
    /// Whose.
    pub account_id: AddressBytes,
    /// Contract of the token.
    pub token_id: Option<AddressBytes>,
    /// Stroops, or units of a contract token. Stored as text.
    pub amount: Option<i128>,
    /// The signer; stored as its 33 bytes.
    pub signer: Option<SignerKey<'a>>,
    /// Who may spend.
    pub spender_account_id: Option<AddressBytes>,
    /// Who created the account or contract.
    pub creator_account_id: Option<AddressBytes>,
    /// Into which account it was merged.
    pub destination_account_id: Option<AddressBytes>,
    /// Pool of a pool share trustline. Stored as hex text.
    pub liquidity_pool_id: Option<&'a [u8; 32]>,
    /// Weight before.
    pub signer_weight_old: Option<i16>,
    /// Weight after.
    pub signer_weight_new: Option<i16>,
    /// Which threshold.
    pub threshold: Option<Threshold>,
    /// Threshold before.
    pub threshold_old: Option<i16>,
    /// Threshold after.
    pub threshold_new: Option<i16>,
    /// Limit before, stroops. Stored as integer text.
    pub trustline_limit_old: Option<i64>,
    /// Limit after, stroops. Stored as text with seven decimals.
    pub trustline_limit_new: Option<i64>,
    /// Bits of [`flags`].
    pub flags: Option<i16>,
    /// Name of a data entry.
    pub data_entry_name: Option<&'a [u8]>,
    /// More, as JSON.
    pub key_value: Option<KeyValue<'a>>,
    /// Multiplexing id of the receiver (CAP-67). Stored as text.
    pub to_muxed_id: Option<u64>,
}

impl StateChangeRow<'_> {
    /// A row with only the columns that every row has.
    pub fn new(place: Place, state_change_id: i64, category: Category, reason: Reason, account_id: AddressBytes) -> Self {
        Self {
            place,
            state_change_id,
            category,
            reason,
            account_id,
            token_id: None,
            amount: None,
            signer: None,
            spender_account_id: None,
            creator_account_id: None,
            destination_account_id: None,
            liquidity_pool_id: None,
            signer_weight_old: None,
            signer_weight_new: None,
            threshold: None,
            threshold_old: None,
            threshold_new: None,
            trustline_limit_old: None,
            trustline_limit_new: None,
            flags: None,
            data_entry_name: None,
            key_value: None,
            to_muxed_id: None,
        }
    }
}

/// Bits of the `flags` column.
#[allow(missing_docs)]
pub mod flags {
    pub const AUTHORIZED: i16 = 1;
    pub const AUTH_REQUIRED: i16 = 2;
    pub const AUTH_REVOCABLE: i16 = 4;
    pub const AUTH_IMMUTABLE: i16 = 8;
    pub const AUTH_CLAWBACK_ENABLED: i16 = 16;
    pub const CLAWBACK_ENABLED: i16 = 32;
    pub const AUTHORIZED_TO_MAINTAIN_LIABILITIES: i16 = 64;
}

/// Width of an emitter's id space.
const EMITTER_WIDTH: i64 = 1 << 40;
/// Width of a stream's id space in an emitter's.
const STREAM_WIDTH: i64 = 1 << 28;

/// The streams of state changes; each has an id space of its own, so that one may grow without moving the others' ids.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stream {
    /// Token transfers and fees.
    TokenTransfers,
    /// Effects: signers, thresholds, flags, domains, trustlines, authorization, data.
    Effects,
    /// Contract deployments.
    ContractDeploys,
    /// Authorization by asset contracts.
    SacAuthorizations,
    /// SEP-41 tokens.
    Sep41,
}

impl Stream {
    /// Every stream.
    pub const ALL: [Self; 5] = [Self::TokenTransfers, Self::Effects, Self::ContractDeploys, Self::SacAuthorizations, Self::Sep41];

    /// What the ids of the stream begin after.
    pub const fn base(self) -> i64 {
        match self {
            Self::TokenTransfers => 0,
            Self::Effects => STREAM_WIDTH,
            Self::ContractDeploys => 2 * STREAM_WIDTH,
            Self::SacAuthorizations => 3 * STREAM_WIDTH,
            Self::Sep41 => EMITTER_WIDTH,
        }
    }
}

/// No two streams share an id space; seen at compile time.
const _: () = {
    let mut i = 1;
    while i < Stream::ALL.len() {
        assert!(Stream::ALL[i].base() >= Stream::ALL[i - 1].base() + STREAM_WIDTH);
        assert!(Stream::ALL[i].base() % STREAM_WIDTH == 0);
        i += 1;
    }
    assert!(Stream::SacAuthorizations.base() + STREAM_WIDTH <= EMITTER_WIDTH);
};

/// Ids of one stream within one transaction and operation: 1, 2, 3 … above the stream's base, without gaps over the rows that are written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StateChangeIds(i64);

impl StateChangeIds {
    /// Starts a group.
    pub const fn new(stream: Stream) -> Self {
        Self(stream.base())
    }

    /// The next id.
    #[allow(clippy::should_implement_trait)] // Never ends, and is no iterator over anything.
    pub fn next(&mut self) -> i64 {
        self.0 += 1;
        self.0
    }
}
