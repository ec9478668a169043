//! Every code of every operation against the rule for its name (docs/rows.md, result codes).

use super::*;

/// Codes whose name is not `op_` and the protocol's name without the operation's.
const IRREGULAR: [(&str, &str); 22] = [
    ("CREATE_ACCOUNT_ALREADY_EXIST", "op_already_exists"),
    ("PATH_PAYMENT_STRICT_RECEIVE_OFFER_CROSS_SELF", "op_cross_self"),
    ("PATH_PAYMENT_STRICT_RECEIVE_OVER_SENDMAX", "op_over_source_max"),
    ("MANAGE_SELL_OFFER_NOT_FOUND", "op_offer_not_found"),
    ("ALLOW_TRUST_NO_TRUST_LINE", "op_no_trust"),
    ("ALLOW_TRUST_TRUST_NOT_REQUIRED", "op_not_required"),
    ("ACCOUNT_MERGE_SEQNUM_TOO_FAR", "op_seq_num_too_far"),
    ("MANAGE_DATA_NAME_NOT_FOUND", "op_data_name_not_found"),
    ("MANAGE_DATA_INVALID_NAME", "op_data_invalid_name"),
    ("MANAGE_BUY_OFFER_NOT_FOUND", "op_offer_not_found"),
    ("PATH_PAYMENT_STRICT_SEND_OFFER_CROSS_SELF", "op_cross_self"),
    ("PATH_PAYMENT_STRICT_SEND_UNDER_DESTMIN", "op_under_dest_min"),
    ("CLAWBACK_CLAIMABLE_BALANCE_NOT_ISSUER", "op_no_issuer"),
    ("SET_TRUST_LINE_FLAGS_NO_TRUST_LINE", "op_no_trust"),
    ("INVOKE_HOST_FUNCTION_TRAPPED", "function_trapped"),
    ("INVOKE_HOST_FUNCTION_RESOURCE_LIMIT_EXCEEDED", "resource_limit_exceeded"),
    ("INVOKE_HOST_FUNCTION_ENTRY_ARCHIVED", "entry_archived"),
    ("INVOKE_HOST_FUNCTION_INSUFFICIENT_REFUNDABLE_FEE", "insufficient_refundable_fee"),
    ("EXTEND_FOOTPRINT_TTL_RESOURCE_LIMIT_EXCEEDED", "resource_limit_exceeded"),
    ("EXTEND_FOOTPRINT_TTL_INSUFFICIENT_REFUNDABLE_FEE", "insufficient_refundable_fee"),
    ("RESTORE_FOOTPRINT_RESOURCE_LIMIT_EXCEEDED", "resource_limit_exceeded"),
    ("RESTORE_FOOTPRINT_INSUFFICIENT_REFUNDABLE_FEE", "insufficient_refundable_fee"),
];

/// The rule: success has one name, the names above are as they are, any other is the protocol's without the operation's name.
fn expected(code: &str, operation: &str) -> String {
    let short = code.strip_prefix(operation).expect("codes begin with the operation's name");
    let irregular = IRREGULAR.iter().find(|(name, _)| *name == code).map(|(_, stored)| (*stored).to_owned());
    irregular.unwrap_or_else(|| format!("op_{}", short.to_lowercase()))
}

macro_rules! follows_the_rule {
    ($($test:ident: $code:ident, $name:ident, $prefix:literal;)*) => {$(
        #[test]
        fn $test() {
            for code in $code::ALL {
                if code as i32 == 0 {
                    assert_eq!($name(code), SUCCESS);
                    continue;
                }
                assert_eq!($name(code), expected(code.name(), $prefix), "{}", code.name());
            }
        }
    )*};
}

follows_the_rule! {
    create_account_codes: CreateAccountResultCode, create_account, "CREATE_ACCOUNT_";
    payment_codes: PaymentResultCode, payment, "PAYMENT_";
    path_payment_strict_receive_codes: PathPaymentStrictReceiveResultCode, path_payment_strict_receive, "PATH_PAYMENT_STRICT_RECEIVE_";
    manage_sell_offer_codes: ManageSellOfferResultCode, manage_sell_offer, "MANAGE_SELL_OFFER_";
    set_options_codes: SetOptionsResultCode, set_options, "SET_OPTIONS_";
    change_trust_codes: ChangeTrustResultCode, change_trust, "CHANGE_TRUST_";
    allow_trust_codes: AllowTrustResultCode, allow_trust, "ALLOW_TRUST_";
    account_merge_codes: AccountMergeResultCode, account_merge, "ACCOUNT_MERGE_";
    inflation_codes: InflationResultCode, inflation, "INFLATION_";
    manage_data_codes: ManageDataResultCode, manage_data, "MANAGE_DATA_";
    bump_sequence_codes: BumpSequenceResultCode, bump_sequence, "BUMP_SEQUENCE_";
    manage_buy_offer_codes: ManageBuyOfferResultCode, manage_buy_offer, "MANAGE_BUY_OFFER_";
    path_payment_strict_send_codes: PathPaymentStrictSendResultCode, path_payment_strict_send, "PATH_PAYMENT_STRICT_SEND_";
    create_claimable_balance_codes: CreateClaimableBalanceResultCode, create_claimable_balance, "CREATE_CLAIMABLE_BALANCE_";
    claim_claimable_balance_codes: ClaimClaimableBalanceResultCode, claim_claimable_balance, "CLAIM_CLAIMABLE_BALANCE_";
    begin_sponsoring_future_reserves_codes: BeginSponsoringFutureReservesResultCode, begin_sponsoring_future_reserves, "BEGIN_SPONSORING_FUTURE_RESERVES_";
    end_sponsoring_future_reserves_codes: EndSponsoringFutureReservesResultCode, end_sponsoring_future_reserves, "END_SPONSORING_FUTURE_RESERVES_";
    revoke_sponsorship_codes: RevokeSponsorshipResultCode, revoke_sponsorship, "REVOKE_SPONSORSHIP_";
    clawback_codes: ClawbackResultCode, clawback, "CLAWBACK_";
    clawback_claimable_balance_codes: ClawbackClaimableBalanceResultCode, clawback_claimable_balance, "CLAWBACK_CLAIMABLE_BALANCE_";
    set_trust_line_flags_codes: SetTrustLineFlagsResultCode, set_trust_line_flags, "SET_TRUST_LINE_FLAGS_";
    liquidity_pool_deposit_codes: LiquidityPoolDepositResultCode, liquidity_pool_deposit, "LIQUIDITY_POOL_DEPOSIT_";
    liquidity_pool_withdraw_codes: LiquidityPoolWithdrawResultCode, liquidity_pool_withdraw, "LIQUIDITY_POOL_WITHDRAW_";
    invoke_host_function_codes: InvokeHostFunctionResultCode, invoke_host_function, "INVOKE_HOST_FUNCTION_";
    extend_footprint_ttl_codes: ExtendFootprintTtlResultCode, extend_footprint_ttl, "EXTEND_FOOTPRINT_TTL_";
    restore_footprint_codes: RestoreFootprintResultCode, restore_footprint, "RESTORE_FOOTPRINT_";
}

#[test]
fn transaction_codes_carry_the_identifiers_of_readers() {
    for code in TransactionResultCode::ALL {
        let upper: String = code.name().trim_start_matches("tx").split('_').map(capitalised).collect();
        assert_eq!(transaction(code), format!("TransactionResultCodeTx{upper}"));
    }
}

fn capitalised(word: &str) -> String {
    word[..1].to_owned() + &word[1..].to_lowercase()
}

#[test]
fn outer_codes_say_why_an_operation_was_not_tried() {
    let named: Vec<_> = [
        OperationResult::OpBadAuth,
        OperationResult::OpNoAccount,
        OperationResult::OpNotSupported,
        OperationResult::OpTooManySubentries,
        OperationResult::OpExceededWorkLimit,
        OperationResult::OpTooManySponsoring,
    ]
    .iter()
    .map(operation)
    .collect();
    let expected = [
        "op_bad_auth",
        "op_no_source_account",
        "op_not_supported",
        "op_too_many_subentries",
        "op_exceeded_work_limit",
        "op_too_many_sponsoring",
    ];
    assert_eq!(named, expected);
}
