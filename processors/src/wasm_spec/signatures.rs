//! The functions of a SEP-41 token.

use starmill_xdr::{ScSpecFunctionV0, ScSpecType, ScSpecTypeDef};
use {ScSpecType::Address, ScSpecType::I128, ScSpecType::MuxedAddress, ScSpecType::String, ScSpecType::U32};

/// Names and types of parameters, in order.
type Inputs = &'static [(&'static str, ScSpecType)];

/// A function that a token needs.
pub(super) struct Function {
    pub(super) name: &'static str,
    /// The parameters that it may have: one of these lists, exactly.
    inputs: &'static [Inputs],
    /// An output of type void, written out, is not the same as none.
    output: Option<ScSpecType>,
}

impl Function {
    /// Whether a function of this name has the right signature.
    pub(super) fn matches(&self, function: &ScSpecFunctionV0<'_>) -> bool {
        let inputs = function.inputs.iter().map(|input| (input.name, input.type_.discriminant()));
        function.outputs.iter().map(ScSpecTypeDef::discriminant).eq(self.output)
            && self.inputs.iter().any(|list| inputs.clone().eq(list.iter().map(|(name, of)| (name.as_bytes(), *of))))
    }
}

/// All of them. `transfer` may take a muxed receiver (CAP-67).
pub(super) static FUNCTIONS: [Function; 10] = [
    Function { name: "balance", inputs: &[&[("id", Address)]], output: Some(I128) },
    Function { name: "allowance", inputs: &[&[("from", Address), ("spender", Address)]], output: Some(I128) },
    Function { name: "decimals", inputs: &[&[]], output: Some(U32) },
    Function { name: "name", inputs: &[&[]], output: Some(String) },
    Function { name: "symbol", inputs: &[&[]], output: Some(String) },
    Function {
        name: "approve",
        inputs: &[&[("from", Address), ("spender", Address), ("amount", I128), ("expiration_ledger", U32)]],
        output: None,
    },
    Function {
        name: "transfer",
        inputs: &[
            &[("from", Address), ("to", Address), ("amount", I128)],
            &[("from", Address), ("to_muxed", MuxedAddress), ("amount", I128)],
        ],
        output: None,
    },
    Function {
        name: "transfer_from",
        inputs: &[&[("spender", Address), ("from", Address), ("to", Address), ("amount", I128)]],
        output: None,
    },
    Function { name: "burn", inputs: &[&[("from", Address), ("amount", I128)]], output: None },
    Function { name: "burn_from", inputs: &[&[("spender", Address), ("from", Address), ("amount", I128)]], output: None },
];
