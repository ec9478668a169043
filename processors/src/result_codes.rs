//! Names of result codes, as the tables store them.
//!
//! Transaction codes carry the identifiers that readers of these tables know (`TransactionResultCodeTxSuccess`); operation codes are short
//! snake case (`op_success`, `op_underfunded`). Every match is over an XDR enum, so a code that the protocol knows cannot be missing here
//! (docs/rows.md, result codes).

use starmill_xdr::{
    AccountMergeResultCode, AllowTrustResultCode, BeginSponsoringFutureReservesResultCode, BumpSequenceResultCode, ChangeTrustResultCode,
    ClaimClaimableBalanceResultCode, ClawbackClaimableBalanceResultCode, ClawbackResultCode, CreateAccountResultCode,
    CreateClaimableBalanceResultCode, EndSponsoringFutureReservesResultCode, ExtendFootprintTtlResultCode, InflationResultCode,
    InvokeHostFunctionResultCode, LiquidityPoolDepositResultCode, LiquidityPoolWithdrawResultCode, ManageBuyOfferResultCode,
    ManageDataResultCode, ManageSellOfferResultCode, OperationResult, OperationResultTr, PathPaymentStrictReceiveResultCode,
    PathPaymentStrictSendResultCode, PaymentResultCode, RestoreFootprintResultCode, RevokeSponsorshipResultCode, SetOptionsResultCode,
    SetTrustLineFlagsResultCode, TransactionResultCode,
};

/// Name of a transaction's result code.
pub fn transaction(code: TransactionResultCode) -> &'static str {
    use TransactionResultCode as C;
    match code {
        C::TxFeeBumpInnerSuccess => "TransactionResultCodeTxFeeBumpInnerSuccess",
        C::TxSuccess => "TransactionResultCodeTxSuccess",
        C::TxFailed => "TransactionResultCodeTxFailed",
        C::TxTooEarly => "TransactionResultCodeTxTooEarly",
        C::TxTooLate => "TransactionResultCodeTxTooLate",
        C::TxMissingOperation => "TransactionResultCodeTxMissingOperation",
        C::TxBadSeq => "TransactionResultCodeTxBadSeq",
        C::TxBadAuth => "TransactionResultCodeTxBadAuth",
        C::TxInsufficientBalance => "TransactionResultCodeTxInsufficientBalance",
        C::TxNoAccount => "TransactionResultCodeTxNoAccount",
        C::TxInsufficientFee => "TransactionResultCodeTxInsufficientFee",
        C::TxBadAuthExtra => "TransactionResultCodeTxBadAuthExtra",
        C::TxInternalError => "TransactionResultCodeTxInternalError",
        C::TxNotSupported => "TransactionResultCodeTxNotSupported",
        C::TxFeeBumpInnerFailed => "TransactionResultCodeTxFeeBumpInnerFailed",
        C::TxBadSponsorship => "TransactionResultCodeTxBadSponsorship",
        C::TxBadMinSeqAgeOrGap => "TransactionResultCodeTxBadMinSeqAgeOrGap",
        C::TxMalformed => "TransactionResultCodeTxMalformed",
        C::TxSorobanInvalid => "TransactionResultCodeTxSorobanInvalid",
        C::TxFrozenKeyAccessed => "TransactionResultCodeTxFrozenKeyAccessed",
    }
}

/// Name of the code of an operation that has no result.
pub const UNKNOWN: &str = "op_unknown";
/// Name of success.
pub const SUCCESS: &str = "op_success";

/// Name of an operation's result code.
pub fn operation(result: &OperationResult<'_>) -> &'static str {
    match result {
        OperationResult::OpInner(inner) => of_type(inner),
        OperationResult::OpBadAuth => "op_bad_auth",
        OperationResult::OpNoAccount => "op_no_source_account",
        OperationResult::OpNotSupported => "op_not_supported",
        OperationResult::OpTooManySubentries => "op_too_many_subentries",
        OperationResult::OpExceededWorkLimit => "op_exceeded_work_limit",
        OperationResult::OpTooManySponsoring => "op_too_many_sponsoring",
    }
}

/// Name of the code of a result by operation type.
fn of_type(result: &OperationResultTr<'_>) -> &'static str {
    use OperationResultTr as R;
    match result {
        R::CreateAccount(r) => create_account(r.discriminant()),
        R::Payment(r) => payment(r.discriminant()),
        R::PathPaymentStrictReceive(r) => path_payment_strict_receive(r.discriminant()),
        R::ManageSellOffer(r) | R::CreatePassiveSellOffer(r) => manage_sell_offer(r.discriminant()),
        R::SetOptions(r) => set_options(r.discriminant()),
        R::ChangeTrust(r) => change_trust(r.discriminant()),
        R::AllowTrust(r) => allow_trust(r.discriminant()),
        R::AccountMerge(r) => account_merge(r.discriminant()),
        R::Inflation(r) => inflation(r.discriminant()),
        R::ManageData(r) => manage_data(r.discriminant()),
        R::BumpSequence(r) => bump_sequence(r.discriminant()),
        R::ManageBuyOffer(r) => manage_buy_offer(r.discriminant()),
        R::PathPaymentStrictSend(r) => path_payment_strict_send(r.discriminant()),
        R::CreateClaimableBalance(r) => create_claimable_balance(r.discriminant()),
        R::ClaimClaimableBalance(r) => claim_claimable_balance(r.discriminant()),
        R::BeginSponsoringFutureReserves(r) => begin_sponsoring_future_reserves(r.discriminant()),
        R::EndSponsoringFutureReserves(r) => end_sponsoring_future_reserves(r.discriminant()),
        R::RevokeSponsorship(r) => revoke_sponsorship(r.discriminant()),
        R::Clawback(r) => clawback(r.discriminant()),
        R::ClawbackClaimableBalance(r) => clawback_claimable_balance(r.discriminant()),
        R::SetTrustLineFlags(r) => set_trust_line_flags(r.discriminant()),
        R::LiquidityPoolDeposit(r) => liquidity_pool_deposit(r.discriminant()),
        R::LiquidityPoolWithdraw(r) => liquidity_pool_withdraw(r.discriminant()),
        R::InvokeHostFunction(r) => invoke_host_function(r.discriminant()),
        R::ExtendFootprintTtl(r) => extend_footprint_ttl(r.discriminant()),
        R::RestoreFootprint(r) => restore_footprint(r.discriminant()),
    }
}

fn create_account(code: CreateAccountResultCode) -> &'static str {
    use CreateAccountResultCode as C;
    match code {
        C::Success => SUCCESS,
        C::Malformed => "op_malformed",
        C::Underfunded => "op_underfunded",
        C::LowReserve => "op_low_reserve",
        C::AlreadyExist => "op_already_exists",
    }
}

fn payment(code: PaymentResultCode) -> &'static str {
    use PaymentResultCode as C;
    match code {
        C::Success => SUCCESS,
        C::Malformed => "op_malformed",
        C::Underfunded => "op_underfunded",
        C::SrcNoTrust => "op_src_no_trust",
        C::SrcNotAuthorized => "op_src_not_authorized",
        C::NoDestination => "op_no_destination",
        C::NoTrust => "op_no_trust",
        C::NotAuthorized => "op_not_authorized",
        C::LineFull => "op_line_full",
        C::NoIssuer => "op_no_issuer",
    }
}

fn path_payment_strict_receive(code: PathPaymentStrictReceiveResultCode) -> &'static str {
    use PathPaymentStrictReceiveResultCode as C;
    match code {
        C::Success => SUCCESS,
        C::Malformed => "op_malformed",
        C::Underfunded => "op_underfunded",
        C::SrcNoTrust => "op_src_no_trust",
        C::SrcNotAuthorized => "op_src_not_authorized",
        C::NoDestination => "op_no_destination",
        C::NoTrust => "op_no_trust",
        C::NotAuthorized => "op_not_authorized",
        C::LineFull => "op_line_full",
        C::NoIssuer => "op_no_issuer",
        C::TooFewOffers => "op_too_few_offers",
        C::OfferCrossSelf => "op_cross_self",
        C::OverSendmax => "op_over_source_max",
    }
}

fn manage_sell_offer(code: ManageSellOfferResultCode) -> &'static str {
    use ManageSellOfferResultCode as C;
    match code {
        C::Success => SUCCESS,
        C::Malformed => "op_malformed",
        C::SellNoTrust => "op_sell_no_trust",
        C::BuyNoTrust => "op_buy_no_trust",
        C::SellNotAuthorized => "op_sell_not_authorized",
        C::BuyNotAuthorized => "op_buy_not_authorized",
        C::LineFull => "op_line_full",
        C::Underfunded => "op_underfunded",
        C::CrossSelf => "op_cross_self",
        C::SellNoIssuer => "op_sell_no_issuer",
        C::BuyNoIssuer => "op_buy_no_issuer",
        C::NotFound => "op_offer_not_found",
        C::LowReserve => "op_low_reserve",
    }
}

fn set_options(code: SetOptionsResultCode) -> &'static str {
    use SetOptionsResultCode as C;
    match code {
        C::Success => SUCCESS,
        C::LowReserve => "op_low_reserve",
        C::TooManySigners => "op_too_many_signers",
        C::BadFlags => "op_bad_flags",
        C::InvalidInflation => "op_invalid_inflation",
        C::CantChange => "op_cant_change",
        C::UnknownFlag => "op_unknown_flag",
        C::ThresholdOutOfRange => "op_threshold_out_of_range",
        C::BadSigner => "op_bad_signer",
        C::InvalidHomeDomain => "op_invalid_home_domain",
        C::AuthRevocableRequired => "op_auth_revocable_required",
    }
}

fn change_trust(code: ChangeTrustResultCode) -> &'static str {
    use ChangeTrustResultCode as C;
    match code {
        C::Success => SUCCESS,
        C::Malformed => "op_malformed",
        C::NoIssuer => "op_no_issuer",
        C::InvalidLimit => "op_invalid_limit",
        C::LowReserve => "op_low_reserve",
        C::SelfNotAllowed => "op_self_not_allowed",
        C::TrustLineMissing => "op_trust_line_missing",
        C::CannotDelete => "op_cannot_delete",
        C::NotAuthMaintainLiabilities => "op_not_auth_maintain_liabilities",
    }
}

fn allow_trust(code: AllowTrustResultCode) -> &'static str {
    use AllowTrustResultCode as C;
    match code {
        C::Success => SUCCESS,
        C::Malformed => "op_malformed",
        C::NoTrustLine => "op_no_trust",
        C::TrustNotRequired => "op_not_required",
        C::CantRevoke => "op_cant_revoke",
        C::SelfNotAllowed => "op_self_not_allowed",
        C::LowReserve => "op_low_reserve",
    }
}

fn account_merge(code: AccountMergeResultCode) -> &'static str {
    use AccountMergeResultCode as C;
    match code {
        C::Success => SUCCESS,
        C::Malformed => "op_malformed",
        C::NoAccount => "op_no_account",
        C::ImmutableSet => "op_immutable_set",
        C::HasSubEntries => "op_has_sub_entries",
        C::SeqnumTooFar => "op_seq_num_too_far",
        C::DestFull => "op_dest_full",
        C::IsSponsor => "op_is_sponsor",
    }
}

fn inflation(code: InflationResultCode) -> &'static str {
    use InflationResultCode as C;
    match code {
        C::Success => SUCCESS,
        C::NotTime => "op_not_time",
    }
}

fn manage_data(code: ManageDataResultCode) -> &'static str {
    use ManageDataResultCode as C;
    match code {
        C::Success => SUCCESS,
        C::NotSupportedYet => "op_not_supported_yet",
        C::NameNotFound => "op_data_name_not_found",
        C::LowReserve => "op_low_reserve",
        C::InvalidName => "op_data_invalid_name",
    }
}

fn bump_sequence(code: BumpSequenceResultCode) -> &'static str {
    use BumpSequenceResultCode as C;
    match code {
        C::Success => SUCCESS,
        C::BadSeq => "op_bad_seq",
    }
}

fn manage_buy_offer(code: ManageBuyOfferResultCode) -> &'static str {
    use ManageBuyOfferResultCode as C;
    match code {
        C::Success => SUCCESS,
        C::Malformed => "op_malformed",
        C::SellNoTrust => "op_sell_no_trust",
        C::BuyNoTrust => "op_buy_no_trust",
        C::SellNotAuthorized => "op_sell_not_authorized",
        C::BuyNotAuthorized => "op_buy_not_authorized",
        C::LineFull => "op_line_full",
        C::Underfunded => "op_underfunded",
        C::CrossSelf => "op_cross_self",
        C::SellNoIssuer => "op_sell_no_issuer",
        C::BuyNoIssuer => "op_buy_no_issuer",
        C::NotFound => "op_offer_not_found",
        C::LowReserve => "op_low_reserve",
    }
}

fn path_payment_strict_send(code: PathPaymentStrictSendResultCode) -> &'static str {
    use PathPaymentStrictSendResultCode as C;
    match code {
        C::Success => SUCCESS,
        C::Malformed => "op_malformed",
        C::Underfunded => "op_underfunded",
        C::SrcNoTrust => "op_src_no_trust",
        C::SrcNotAuthorized => "op_src_not_authorized",
        C::NoDestination => "op_no_destination",
        C::NoTrust => "op_no_trust",
        C::NotAuthorized => "op_not_authorized",
        C::LineFull => "op_line_full",
        C::NoIssuer => "op_no_issuer",
        C::TooFewOffers => "op_too_few_offers",
        C::OfferCrossSelf => "op_cross_self",
        C::UnderDestmin => "op_under_dest_min",
    }
}

fn create_claimable_balance(code: CreateClaimableBalanceResultCode) -> &'static str {
    use CreateClaimableBalanceResultCode as C;
    match code {
        C::Success => SUCCESS,
        C::Malformed => "op_malformed",
        C::LowReserve => "op_low_reserve",
        C::NoTrust => "op_no_trust",
        C::NotAuthorized => "op_not_authorized",
        C::Underfunded => "op_underfunded",
    }
}

fn claim_claimable_balance(code: ClaimClaimableBalanceResultCode) -> &'static str {
    use ClaimClaimableBalanceResultCode as C;
    match code {
        C::Success => SUCCESS,
        C::DoesNotExist => "op_does_not_exist",
        C::CannotClaim => "op_cannot_claim",
        C::LineFull => "op_line_full",
        C::NoTrust => "op_no_trust",
        C::NotAuthorized => "op_not_authorized",
        C::TrustlineFrozen => "op_trustline_frozen",
    }
}

fn begin_sponsoring_future_reserves(code: BeginSponsoringFutureReservesResultCode) -> &'static str {
    use BeginSponsoringFutureReservesResultCode as C;
    match code {
        C::Success => SUCCESS,
        C::Malformed => "op_malformed",
        C::AlreadySponsored => "op_already_sponsored",
        C::Recursive => "op_recursive",
    }
}

fn end_sponsoring_future_reserves(code: EndSponsoringFutureReservesResultCode) -> &'static str {
    use EndSponsoringFutureReservesResultCode as C;
    match code {
        C::Success => SUCCESS,
        C::NotSponsored => "op_not_sponsored",
    }
}

fn revoke_sponsorship(code: RevokeSponsorshipResultCode) -> &'static str {
    use RevokeSponsorshipResultCode as C;
    match code {
        C::Success => SUCCESS,
        C::DoesNotExist => "op_does_not_exist",
        C::NotSponsor => "op_not_sponsor",
        C::LowReserve => "op_low_reserve",
        C::OnlyTransferable => "op_only_transferable",
        C::Malformed => "op_malformed",
    }
}

fn clawback(code: ClawbackResultCode) -> &'static str {
    use ClawbackResultCode as C;
    match code {
        C::Success => SUCCESS,
        C::Malformed => "op_malformed",
        C::NotClawbackEnabled => "op_not_clawback_enabled",
        C::NoTrust => "op_no_trust",
        C::Underfunded => "op_underfunded",
    }
}

fn clawback_claimable_balance(code: ClawbackClaimableBalanceResultCode) -> &'static str {
    use ClawbackClaimableBalanceResultCode as C;
    match code {
        C::Success => SUCCESS,
        C::DoesNotExist => "op_does_not_exist",
        C::NotIssuer => "op_no_issuer",
        C::NotClawbackEnabled => "op_not_clawback_enabled",
    }
}

fn set_trust_line_flags(code: SetTrustLineFlagsResultCode) -> &'static str {
    use SetTrustLineFlagsResultCode as C;
    match code {
        C::Success => SUCCESS,
        C::Malformed => "op_malformed",
        C::NoTrustLine => "op_no_trust",
        C::CantRevoke => "op_cant_revoke",
        C::InvalidState => "op_invalid_state",
        C::LowReserve => "op_low_reserve",
    }
}

fn liquidity_pool_deposit(code: LiquidityPoolDepositResultCode) -> &'static str {
    use LiquidityPoolDepositResultCode as C;
    match code {
        C::Success => SUCCESS,
        C::Malformed => "op_malformed",
        C::NoTrust => "op_no_trust",
        C::NotAuthorized => "op_not_authorized",
        C::Underfunded => "op_underfunded",
        C::LineFull => "op_line_full",
        C::BadPrice => "op_bad_price",
        C::PoolFull => "op_pool_full",
        C::TrustlineFrozen => "op_trustline_frozen",
    }
}

fn liquidity_pool_withdraw(code: LiquidityPoolWithdrawResultCode) -> &'static str {
    use LiquidityPoolWithdrawResultCode as C;
    match code {
        C::Success => SUCCESS,
        C::Malformed => "op_malformed",
        C::NoTrust => "op_no_trust",
        C::Underfunded => "op_underfunded",
        C::LineFull => "op_line_full",
        C::UnderMinimum => "op_under_minimum",
        C::TrustlineFrozen => "op_trustline_frozen",
    }
}

fn invoke_host_function(code: InvokeHostFunctionResultCode) -> &'static str {
    use InvokeHostFunctionResultCode as C;
    match code {
        C::Success => SUCCESS,
        C::Malformed => "op_malformed",
        C::Trapped => "function_trapped",
        C::ResourceLimitExceeded => "resource_limit_exceeded",
        C::EntryArchived => "entry_archived",
        C::InsufficientRefundableFee => "insufficient_refundable_fee",
    }
}

fn extend_footprint_ttl(code: ExtendFootprintTtlResultCode) -> &'static str {
    use ExtendFootprintTtlResultCode as C;
    match code {
        C::Success => SUCCESS,
        C::Malformed => "op_malformed",
        C::ResourceLimitExceeded => "resource_limit_exceeded",
        C::InsufficientRefundableFee => "insufficient_refundable_fee",
    }
}

fn restore_footprint(code: RestoreFootprintResultCode) -> &'static str {
    use RestoreFootprintResultCode as C;
    match code {
        C::Success => SUCCESS,
        C::Malformed => "op_malformed",
        C::ResourceLimitExceeded => "resource_limit_exceeded",
        C::InsufficientRefundableFee => "insufficient_refundable_fee",
    }
}

#[cfg(test)]
mod tests;
