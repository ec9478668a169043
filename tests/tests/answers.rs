//! starmill's rows against the answers that other implementations give for the same real ledgers.
//!
//! Every case at hand is compared, and every fact of which both sides speak. Who disagrees with whom, and who is right, is written down in
//! docs/agreement.md; a disagreement that is not listed fails here, and so does one that is listed and does not occur any more.

#[path = "answers/effects.rs"]
mod effects;
#[path = "answers/etl.rs"]
mod etl;
#[path = "answers/facts.rs"]
mod facts;
#[path = "answers/horizon.rs"]
mod horizon;
#[path = "answers/ours.rs"]
mod ours;
#[path = "answers/parser.rs"]
mod parser;
#[path = "answers/parser_known.rs"]
mod parser_known;
#[path = "answers/values.rs"]
mod values;

use starmill_tests::shared;

#[test]
fn horizon_says_the_same_of_whole_small_chains() {
    let Some(fixtures) = shared("horizon_says_the_same_of_whole_small_chains", "fixtures") else { return };
    horizon::compare(&fixtures).judge("Horizon", &horizon::KNOWN, 18, 2_300);
}

#[test]
fn stellar_etl_says_the_same_of_ledgers_of_the_public_network() {
    let Some(fixtures) = shared("stellar_etl_says_the_same_of_ledgers_of_the_public_network", "fixtures") else { return };
    etl::compare(&fixtures).judge("stellar-etl", &etl::KNOWN, 12, 12_000);
}

#[test]
fn the_effects_parser_says_the_same_of_single_transactions() {
    let Some(fixtures) = shared("the_effects_parser_says_the_same_of_single_transactions", "fixtures") else { return };
    parser::compare(&fixtures).judge("tx-meta-effects-parser", &parser_known::KNOWN, 43, 200);
}
