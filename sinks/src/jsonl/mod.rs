//! Rows as JSON lines, the format of the goldens: for people, for comparing, and for programs without a database.
//!
//! One object per line, `"t"` (the table) first, other keys sorted, an absent value means an absent key, integers are numbers, times Unix seconds,
//! addresses whole strkeys, hashes lower-case hex. The same rows give the same bytes on every run.

mod files;
mod more;
mod sink;

use std::io::Write as _;

use sha2::{Digest as _, Sha256};
use starmill_ledger::rows::{
    ContractEventsRow, CreditAsset, EntryOp, LedgerRow, LiquidityPoolBalanceRow, LiquidityPoolRow, NativeBalanceRow, OperationAccountRow,
    OperationRow, ProtocolContractRow, ProtocolWasmRow, Rows, SacBalanceRow, SacTokenRow, Sep41AllowanceRow, Sep41BalanceDelta,
    StateChangeRow, TransactionAccountRow, TransactionRow, TrustlineBalanceRow,
};
use starmill_ledger::{AddressBytes, derived_id};

use more::{Object, op};

pub use sink::{JsonlError, JsonlSink};

/// Lines in the order in which rows came: each ledger's line, then its rows.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct JsonRows {
    lines: Vec<u8>,
    rows: u64,
}

impl JsonRows {
    /// The lines, each ended by a newline.
    pub fn lines(&self) -> &[u8] {
        &self.lines
    }

    /// Says that a ledger could not be processed: its line carries `error`, and no rows follow.
    pub fn failed_ledger(&mut self, row: &LedgerRow, error: &str) {
        // Serializing a string cannot fail.
        let text = serde_json::Value::from(error).to_string();
        self.ledger_line(row, &format!("\"error\":{text},"));
    }

    fn ledger_line(&mut self, row: &LedgerRow, error: &str) {
        self.line(format_args!(
            "{{\"t\":\"ledger\",\"base_reserve\":{},\"close_time\":{},{error}\"lcm\":{},\"ledger\":{},\"protocol\":{},\"transactions\":{}}}",
            row.base_reserve, row.closed_at, row.close_meta_version, row.sequence, row.protocol, row.transactions
        ));
    }

    fn row(&mut self, line: &str) {
        self.rows += 1;
        self.line(format_args!("{line}"));
    }

    fn line(&mut self, text: std::fmt::Arguments<'_>) {
        // Writing to a Vec cannot fail.
        let _ = self.lines.write_fmt(text);
        self.lines.push(b'\n');
    }
}

impl Rows for JsonRows {
    fn ledger(&mut self, row: &LedgerRow) {
        self.ledger_line(row, "");
    }

    fn transaction(&mut self, row: &TransactionRow<'_>) {
        self.rows += 1;
        self.line(format_args!(
            "{{\"t\":\"transactions\",\"fee_charged\":{},\"hash\":\"{}\",\"inner_hash\":\"{}\",\"is_fee_bump\":{},\"ledger_created_at\":{},\
             \"ledger_number\":{},\"result_code\":\"{}\",\"to_id\":{}}}",
            row.fee_charged,
            hex::encode(row.hash),
            hex::encode(row.inner_hash),
            row.is_fee_bump,
            row.closed_at,
            row.ledger,
            row.result_code,
            row.to_id
        ));
    }

    fn operation(&mut self, row: &OperationRow<'_>) {
        self.rows += 1;
        let digest = Sha256::digest(row.operation_xdr);
        self.line(format_args!(
            "{{\"t\":\"operations\",\"id\":{},\"operation_type\":\"{}\",\"operation_xdr_len\":{},\"operation_xdr_sha256_8\":\"{}\",\
             \"result_code\":\"{}\",\"successful\":{}}}",
            row.id,
            row.operation_type,
            row.operation_xdr.len(),
            hex::encode(&digest[..8]),
            row.result_code,
            row.successful
        ));
    }

    fn transaction_account(&mut self, row: &TransactionAccountRow) {
        self.rows += 1;
        self.line(format_args!(
            "{{\"t\":\"transactions_accounts\",\"account_id\":\"{}\",\"tx_to_id\":{}}}",
            row.account_id.to_strkey(),
            row.tx_to_id
        ));
    }

    fn operation_account(&mut self, row: &OperationAccountRow) {
        self.rows += 1;
        self.line(format_args!(
            "{{\"t\":\"operations_accounts\",\"account_id\":\"{}\",\"operation_id\":{}}}",
            row.account_id.to_strkey(),
            row.operation_id
        ));
    }

    fn state_change(&mut self, row: &StateChangeRow<'_>) {
        self.row(&more::state_change("state_changes", row));
    }

    fn sep41_state_change(&mut self, _: AddressBytes, row: &StateChangeRow<'_>) {
        self.row(&more::state_change("sep41_all.state_changes", row));
    }

    fn contract_events(&mut self, row: &ContractEventsRow<'_>) {
        self.row(&more::contract_events(row));
    }

    fn native_balance(&mut self, row: &NativeBalanceRow) {
        let object = Object::new()
            .set("op", op(row.op, true))
            .set("account_id", row.account_id.to_strkey())
            .set("balance", row.balance)
            .set("minimum_balance", row.minimum_balance)
            .set("buying_liabilities", row.buying_liabilities)
            .set("selling_liabilities", row.selling_liabilities)
            .set("num_subentries", row.num_subentries);
        self.row(&object.line("native_balances"));
    }

    fn trustline_asset(&mut self, asset: &CreditAsset) {
        let object = Object::new()
            .set("id", derived_id::trustline_asset(asset).to_string())
            .set("code", String::from_utf8_lossy(asset.code_text()).into_owned())
            .set("issuer", AddressBytes::account(&asset.issuer).to_strkey());
        self.row(&object.line("trustline_assets"));
    }

    fn trustline_balance(&mut self, row: &TrustlineBalanceRow) {
        let object = Object::new()
            .set("op", op(row.op, false))
            .set("account_id", row.account_id.to_strkey())
            .set("asset", row.asset.to_text())
            .set("operation_id", row.operation_id)
            .set("balance", row.balance)
            .set("trust_limit", row.trust_limit)
            .set("buying_liabilities", row.buying_liabilities)
            .set("selling_liabilities", row.selling_liabilities)
            .set("flags", row.flags);
        self.row(&object.line("trustline_balances"));
    }

    fn sac_balance(&mut self, row: &SacBalanceRow) {
        let balance = if row.op == EntryOp::Remove { "0".to_owned() } else { more::seven_decimals(row.balance) };
        let object = Object::new()
            .set("op", op(row.op, false))
            .set("account_id", row.account_id.to_strkey())
            .set("contract_id", row.contract_id.to_strkey())
            .set("contract_uuid", derived_id::contract_token(&row.contract_id).to_string())
            .set("operation_id", row.operation_id)
            .set("balance", balance)
            .set("is_authorized", row.is_authorized)
            .set("is_clawback_enabled", row.is_clawback_enabled);
        self.row(&object.line("sac_balances"));
    }

    fn liquidity_pool(&mut self, row: &LiquidityPoolRow) {
        let object = Object::new()
            .set("op", op(row.op, false))
            .set("pool_id", hex::encode(row.pool_id))
            .set("operation_id", row.operation_id)
            .set("asset_a", row.asset_a.to_text())
            .set("reserve_a", row.reserve_a)
            .set("asset_b", row.asset_b.to_text())
            .set("reserve_b", row.reserve_b);
        self.row(&object.line("liquidity_pools"));
    }

    fn liquidity_pool_balance(&mut self, row: &LiquidityPoolBalanceRow) {
        let object = Object::new()
            .set("op", op(row.op, false))
            .set("account_id", row.account_id.to_strkey())
            .set("pool_id", hex::encode(row.pool_id))
            .set("operation_id", row.operation_id)
            .set("shares", row.shares);
        self.row(&object.line("liquidity_pool_balances"));
    }

    fn sac_token(&mut self, row: &SacTokenRow) {
        let code = String::from_utf8_lossy(row.asset.code_text()).into_owned();
        let object = Object::new()
            .set("id", derived_id::contract_token(&row.contract_id).to_string())
            .set("contract_id", row.contract_id.to_strkey())
            .set("type", "SAC")
            .set("code", code.clone())
            .set("issuer", AddressBytes::account(&row.asset.issuer).to_strkey())
            .set("name", row.asset.to_text())
            .set("symbol", code)
            .set("decimals", 7);
        self.row(&object.line("contract_tokens"));
    }

    fn protocol_wasm(&mut self, row: &ProtocolWasmRow) {
        let object = Object::new().set("wasm_hash", hex::encode(row.wasm_hash)).set("bytecode_len", row.bytecode_len);
        self.row(&object.line("protocol_wasms"));
    }

    fn protocol_contract(&mut self, row: &ProtocolContractRow) {
        let object = Object::new().set("contract_id", hex::encode(row.contract_id)).set("wasm_hash", hex::encode(row.wasm_hash));
        self.row(&object.line("protocol_contracts"));
    }

    fn sep41_balance_delta(&mut self, row: &Sep41BalanceDelta) {
        let object = Object::new()
            .set("account_id", row.account_id.to_strkey())
            .set("contract_id", row.contract_id.to_strkey())
            .set("delta", row.delta.to_string());
        self.row(&object.line("sep41_all.balance_deltas"));
    }

    fn sep41_allowance(&mut self, row: &Sep41AllowanceRow) {
        let object = Object::new()
            .set("owner_id", row.owner_id.to_strkey())
            .set("spender_id", row.spender_id.to_strkey())
            .set("contract_id", row.contract_id.to_strkey())
            .set("amount", row.amount.to_string())
            .set("expiration_ledger", row.expiration_ledger.to_string());
        self.row(&object.line("sep41_all.allowances"));
    }

    fn append(&mut self, later: &mut Self) {
        self.lines.append(&mut later.lines);
        self.rows += std::mem::take(&mut later.rows);
    }

    fn rows(&self) -> u64 {
        self.rows
    }

    fn bytes(&self) -> usize {
        self.lines.len()
    }

    fn clear(&mut self) {
        self.lines.clear();
        self.rows = 0;
    }
}

#[cfg(test)]
mod tests {
    use starmill_ledger::AddressBytes;

    use super::*;

    const LEDGER: LedgerRow = LedgerRow {
        sequence: 26_154_623,
        protocol: 11,
        closed_at: 1_570_264_172,
        close_meta_version: 0,
        base_reserve: 5_000_000,
        transactions: 19,
    };

    #[test]
    fn lines_are_those_of_the_goldens() {
        let mut rows = JsonRows::default();
        rows.ledger(&LEDGER);
        rows.transaction(&TransactionRow {
            to_id: 4096,
            hash: &[0x4d; 32],
            inner_hash: &[0x0e; 32],
            fee_charged: -100,
            result_code: "TransactionResultCodeTxFailed",
            is_fee_bump: true,
            ledger: 26_154_623,
            closed_at: 1_570_264_172,
        });
        rows.operation(&OperationRow {
            id: 4097,
            operation_type: "PAYMENT",
            operation_xdr: b"abc",
            result_code: "op_underfunded",
            successful: false,
            ledger: 26_154_623,
            closed_at: 1_570_264_172,
        });
        let account_id = AddressBytes::account(&[0; 32]);
        rows.transaction_account(&TransactionAccountRow { tx_to_id: 4096, account_id, closed_at: 0 });
        rows.operation_account(&OperationAccountRow { operation_id: 4097, account_id, closed_at: 0 });
        let hash = "4d".repeat(32);
        let inner = "0e".repeat(32);
        let expected = [
            r#"{"t":"ledger","base_reserve":5000000,"close_time":1570264172,"lcm":0,"ledger":26154623,"protocol":11,"transactions":19}"#.to_owned(),
            format!(
                r#"{{"t":"transactions","fee_charged":-100,"hash":"{hash}","inner_hash":"{inner}","is_fee_bump":true,"ledger_created_at":1570264172,"ledger_number":26154623,"result_code":"TransactionResultCodeTxFailed","to_id":4096}}"#
            ),
            // SHA-256 of "abc" begins with ba7816bf8f01cfea (FIPS 180-2, B.1).
            r#"{"t":"operations","id":4097,"operation_type":"PAYMENT","operation_xdr_len":3,"operation_xdr_sha256_8":"ba7816bf8f01cfea","result_code":"op_underfunded","successful":false}"#.to_owned(),
            r#"{"t":"transactions_accounts","account_id":"GAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAWHF","tx_to_id":4096}"#.to_owned(),
            r#"{"t":"operations_accounts","account_id":"GAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAWHF","operation_id":4097}"#.to_owned(),
        ];
        assert_eq!(String::from_utf8_lossy(rows.lines()).lines().collect::<Vec<_>>(), expected);
        assert_eq!(rows.rows(), 4);
    }

    #[test]
    fn a_failed_ledger_says_why() {
        let mut rows = JsonRows::default();
        rows.failed_ledger(&LEDGER, "ledger 1: \"x\"\nbad");
        let line: serde_json::Value = serde_json::from_slice(rows.lines()).unwrap();
        assert_eq!(line["error"], "ledger 1: \"x\"\nbad");
        assert_eq!(rows.lines().split_inclusive(|byte| *byte == b'\n').count(), 1);
    }
}
