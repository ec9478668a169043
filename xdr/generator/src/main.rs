//! Writes `xdr/src/generated`.
use serde as _;
use serde_json as _;
fn main() {}
