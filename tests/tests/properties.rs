//! Properties that the rows of every ledger have (docs/rows.md), on ledgers made at random by the fixtures' world, and on real ones.

mod properties {
    mod bytes;
    mod check;
    mod coverage;
    mod current;
    mod facts;
    mod generated;
    mod ids;
    mod money;
    mod read;
    mod real;
    mod seen;
    mod steps;
}
