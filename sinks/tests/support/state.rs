//! Made-up rows of current state, and what the tables hold of them.

#![allow(dead_code, unreachable_pub, reason = "a module of several test programs, each of which uses a part")]

use starmill_ledger::rows::{
    AssetId, Category, CreditAsset, EntryOp, LiquidityPoolBalanceRow, LiquidityPoolRow, NativeBalanceRow, Place, ProtocolContractRow,
    ProtocolWasmRow, Reason, Rows as _, SacBalanceRow, SacTokenRow, Sep41AllowanceRow, Sep41BalanceDelta, StateChangeRow,
    TrustlineBalanceRow,
};
use starmill_ledger::sink::Batch;
use starmill_ledger::{AddressBytes, Network, contract_id};
use starmill_sinks::CopyRows;
use starmill_xdr::{AlphaNum4, Asset, PublicKey};

use crate::support::{DAY, NETWORK, Sql, account, ledger};

pub fn holder(n: u8) -> AddressBytes {
    AddressBytes::account(&[n; 32])
}

pub fn contract(n: u8) -> AddressBytes {
    AddressBytes::contract(&[n; 32])
}

/// An asset `A<n>` of issuer n.
pub fn asset(n: u8) -> CreditAsset {
    let mut code = [0; 12];
    (code[0], code[1]) = (b'A', b'0' + n % 10);
    CreditAsset { code, code_size: 4, issuer: [n; 32] }
}

/// The asset contract of [`asset`].
pub fn asset_contract(n: u8) -> AddressBytes {
    let asset = asset(n);
    let code = asset.code.first_chunk().unwrap();
    let issuer = PublicKey::PublicKeyTypeEd25519(&asset.issuer);
    let network = Network::new(NETWORK);
    AddressBytes::contract(&contract_id::of_asset(&network, &Asset::CreditAlphanum4(&AlphaNum4 { asset_code: code, issuer })))
}

/// A batch that is filled ledger by ledger.
pub struct Filler {
    pub batch: Batch<CopyRows>,
    ledger: u32,
    closed_at: i64,
}

impl Filler {
    pub fn new() -> Self {
        Self { batch: Batch::new(), ledger: 0, closed_at: DAY }
    }

    /// Goes on with a ledger that a batch holds already.
    pub fn inside(batch: Batch<CopyRows>, ledger: u32) -> Self {
        let closed_at = batch.ledgers.iter().find(|row| row.sequence == ledger).map_or(DAY, |row| row.closed_at);
        Self { batch, ledger, closed_at }
    }

    /// The state changes of a payment: a fee, a debit, a credit.
    pub fn payment(mut self, n: u32) -> Self {
        let to_id = i64::from(self.ledger) << 32 | i64::from(n + 1) << 12;
        for (id, operation, reason) in [(1_u32, 0, Reason::Debit), (1, 1, Reason::Debit), (2, 1, Reason::Credit)] {
            let place = Place { to_id, operation_id: operation * (to_id + 1), ledger: self.ledger, closed_at: self.closed_at };
            let mut row = StateChangeRow::new(place, id.into(), Category::Balance, reason, account((n % 1000 + id).into()));
            row.token_id = Some(contract(1));
            row.amount = Some(i128::from(n) * 12_345);
            self.batch.rows.state_change(&row);
        }
        self
    }

    /// A native balance and a trustline of one of many accounts.
    pub fn wide_balance(mut self, n: u32) -> Self {
        self.native_of(EntryOp::Update, account(n.into()), n.into());
        self.trustline_of(EntryOp::Update, account(n.into()), (n % 50) as u8, n.into());
        self
    }

    pub fn ledger(mut self, sequence: u32) -> Self {
        let row = ledger(sequence, DAY);
        self.ledger = sequence;
        self.batch.ledgers.push(row);
        self.batch.rows.ledger(&row);
        self
    }

    pub fn native(mut self, op: EntryOp, account: u8, balance: i64) -> Self {
        self.native_of(op, holder(account), balance);
        self
    }

    fn native_of(&mut self, op: EntryOp, account_id: AddressBytes, balance: i64) {
        self.batch.rows.native_balance(&NativeBalanceRow {
            op,
            account_id,
            balance,
            minimum_balance: balance + 1,
            buying_liabilities: balance + 2,
            selling_liabilities: balance + 3,
            num_subentries: 4,
            ledger: self.ledger,
        });
    }

    pub fn trustline(mut self, op: EntryOp, account: u8, of: u8, balance: i64) -> Self {
        self.trustline_of(op, holder(account), of, balance);
        self
    }

    fn trustline_of(&mut self, op: EntryOp, account_id: AddressBytes, of: u8, balance: i64) {
        self.batch.rows.trustline_asset(&asset(of));
        self.batch.rows.trustline_balance(&TrustlineBalanceRow {
            op,
            account_id,
            asset: asset(of),
            operation_id: 0,
            balance,
            trust_limit: balance + 1,
            buying_liabilities: balance + 2,
            selling_liabilities: balance + 3,
            flags: 5,
            ledger: self.ledger,
        });
    }

    pub fn sac(mut self, op: EntryOp, holder: u8, contract_id: AddressBytes, balance: i128) -> Self {
        self.batch.rows.sac_balance(&SacBalanceRow {
            op,
            account_id: contract(holder),
            contract_id,
            operation_id: 0,
            balance,
            is_authorized: true,
            is_clawback_enabled: false,
            ledger: self.ledger,
        });
        self
    }

    pub fn sac_token(mut self, of: u8) -> Self {
        self.batch.rows.sac_token(&SacTokenRow { contract_id: asset_contract(of), asset: asset(of) });
        self
    }

    pub fn pool(mut self, op: EntryOp, pool: u8, reserve_a: i64) -> Self {
        self.batch.rows.liquidity_pool(&LiquidityPoolRow {
            op,
            pool_id: [pool; 32],
            operation_id: 0,
            asset_a: AssetId::Native,
            reserve_a,
            asset_b: AssetId::Credit(asset(1)),
            reserve_b: reserve_a + 1,
            ledger: self.ledger,
        });
        self
    }

    pub fn shares(mut self, op: EntryOp, account: u8, pool: u8, shares: i64) -> Self {
        self.batch.rows.liquidity_pool_balance(&LiquidityPoolBalanceRow {
            op,
            account_id: holder(account),
            pool_id: [pool; 32],
            operation_id: 0,
            shares,
            ledger: self.ledger,
        });
        self
    }

    pub fn wasm(mut self, n: u8, is_sep41: bool) -> Self {
        self.batch.rows.protocol_wasm(&ProtocolWasmRow { wasm_hash: [n; 32], bytecode_len: 9, is_sep41 });
        self
    }

    pub fn deploy(mut self, contract: u8, wasm: u8) -> Self {
        self.batch.rows.protocol_contract(&ProtocolContractRow { contract_id: [contract; 32], wasm_hash: [wasm; 32] });
        self
    }

    /// A SEP-41 state change of operation `op` of the ledger, with an id that is to be replaced.
    pub fn sep41(mut self, token: u8, op: i64) -> Self {
        let to_id = i64::from(self.ledger) << 32 | 1 << 12;
        let place = Place { to_id, operation_id: to_id + op, ledger: self.ledger, closed_at: self.closed_at };
        let mut row = StateChangeRow::new(place, 99, Category::Balance, Reason::Debit, holder(1));
        row.token_id = Some(contract(token));
        self.batch.rows.sep41_state_change(contract(token), &row);
        self
    }

    pub fn delta(mut self, token: u8, account: u8, delta: i128) -> Self {
        self.batch.rows.sep41_balance_delta(&Sep41BalanceDelta {
            account_id: holder(account),
            contract_id: contract(token),
            delta,
            ledger: self.ledger,
        });
        self
    }

    pub fn allow(mut self, token: u8, spender: u8, amount: i128, expiration_ledger: u32) -> Self {
        self.batch.rows.sep41_allowance(&Sep41AllowanceRow {
            owner_id: holder(1),
            spender_id: holder(spender),
            contract_id: contract(token),
            amount,
            expiration_ledger,
            ledger: self.ledger,
        });
        self
    }
}

/// The tables of current state and of SEP-41 history, each row as text, times of writing left out.
pub fn tables(sql: &Sql) -> Vec<String> {
    let queries = [
        "SELECT id, code, issuer FROM trustline_assets",
        "SELECT id, contract_id, type, code, issuer, name, symbol, decimals FROM contract_tokens",
        "SELECT wasm_hash, protocol_id, 0 FROM protocol_wasms",
        "SELECT contract_id, wasm_hash, name FROM protocol_contracts",
        "SELECT * FROM trustline_balances",
        "SELECT * FROM native_balances",
        "SELECT * FROM sac_balances",
        "SELECT * FROM liquidity_pools",
        "SELECT * FROM liquidity_pool_balances",
        "SELECT * FROM sep41_balances",
        "SELECT * FROM sep41_allowances",
        "SELECT to_id, operation_id, state_change_id, token_id FROM state_changes",
    ];
    queries
        .iter()
        .flat_map(|query| sql.rows(&format!("{query} ORDER BY 1, 2, 3")).into_iter().map(move |row| format!("{query}: {row}")))
        .collect()
}
