//! Facts as text, so that answers in different forms can be compared, and the disagreements that are known.
//!
//! A fact is its kind, then what it is about, then what is said: `net <operation> <holder> <token> <amount>`. Both sides are translated into
//! the same kinds; what only one side says is a disagreement, and every one must be explained by exactly the rules listed, as often as listed.

use std::collections::BTreeMap;
use std::fmt::Write;

/// Facts, each with how often it was said.
#[derive(Clone, Debug, Default)]
pub struct Facts(BTreeMap<String, usize>);

impl Facts {
    /// Says a fact.
    pub fn say(&mut self, fact: String) {
        *self.0.entry(fact).or_default() += 1;
    }

    /// Says a fact that is true or not, however often it is said.
    pub fn say_once(&mut self, fact: String) {
        self.0.insert(fact, 1);
    }

    /// How many facts.
    pub fn len(&self) -> usize {
        self.0.values().sum()
    }

    /// Leaves out the facts that do not pass.
    pub fn retain(&mut self, mut passes: impl FnMut(&str) -> bool) {
        self.0.retain(|fact, _| passes(fact));
    }

    /// Whether the fact is said.
    pub fn has(&self, fact: &str) -> bool {
        self.0.contains_key(fact)
    }

    /// Whether anything is said whose words begin with these.
    pub fn has_about(&self, words: &str) -> bool {
        let start = format!("{words} ");
        self.0.range(start.clone()..).next().is_some_and(|(fact, _)| fact.starts_with(&start))
    }

    /// Facts that are here more often than there.
    fn without(&self, other: &Self) -> Vec<String> {
        let mut rest = Vec::new();
        for (fact, times) in &self.0 {
            let more = times.saturating_sub(other.0.get(fact).copied().unwrap_or(0));
            rest.extend(std::iter::repeat_n(fact.clone(), more));
        }
        rest
    }
}

/// The first word of a fact.
pub fn kind(fact: &str) -> &str {
    fact.split(' ').next().unwrap_or_default()
}

/// A fact up to the word after its first `words` words.
pub fn about(fact: &str, words: usize) -> String {
    fact.split(' ').take(words).collect::<Vec<_>>().join(" ")
}

/// What moved: for each operation, holder and token the sum of what it gained and lost.
#[derive(Debug, Default)]
pub struct Balances(BTreeMap<(i64, String, String), i128>);

impl Balances {
    /// Adds to what a holder gained.
    pub fn add(&mut self, operation: i64, holder: &str, token: &str, amount: i128) {
        *self.0.entry((operation, holder.to_owned(), token.to_owned())).or_default() += amount;
    }

    /// Says every sum that is not zero.
    pub fn say(self, facts: &mut Facts) {
        for ((operation, holder, token), amount) in self.0 {
            if amount != 0 {
                facts.say(format!("net {operation} {holder} {token} {amount}"));
            }
        }
    }
}

/// Who says something that the other side does not.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Side {
    /// The other implementation.
    Theirs,
    /// starmill.
    Ours,
}

/// Disagreements that are known.
#[derive(Debug)]
pub struct Known {
    /// Part of the case's name, or nothing for every case.
    pub case: &'static str,
    /// Who says it.
    pub side: Side,
    /// Its kind.
    pub kind: &'static str,
    /// A word of the fact, or nothing for all of the kind.
    pub word: &'static str,
    /// How many there are in all cases together.
    pub times: usize,
    /// Why; docs/agreement.md says more.
    pub why: &'static str,
}

/// What came of comparing one kind of answers.
#[derive(Debug, Default)]
pub struct Comparison {
    cases: usize,
    theirs: usize,
    ours: usize,
    agreed: usize,
    apart: Vec<(String, Side, String)>,
}

impl Comparison {
    /// Compares one case.
    pub fn case(&mut self, name: &str, theirs: &Facts, ours: &Facts) {
        let (only_theirs, only_ours) = (theirs.without(ours), ours.without(theirs));
        self.cases += 1;
        self.theirs += theirs.len();
        self.ours += ours.len();
        self.agreed += theirs.len() - only_theirs.len();
        let name = || name.to_owned();
        self.apart.extend(only_theirs.into_iter().map(|fact| (name(), Side::Theirs, fact)));
        self.apart.extend(only_ours.into_iter().map(|fact| (name(), Side::Ours, fact)));
    }

    /// Every disagreement is one of these, and each of these is as frequent as it says. At least so many cases and agreeing facts were seen.
    pub fn judge(&self, suite: &str, known: &[Known], cases: usize, agreed: usize) {
        let mut seen = vec![0; known.len()];
        let mut faults = String::new();
        for (case, side, fact) in &self.apart {
            let is = |k: &Known| {
                k.side == *side
                    && kind(fact) == k.kind
                    && case.contains(k.case)
                    && (k.word.is_empty() || fact.split(' ').any(|w| w == k.word))
            };
            match known.iter().position(is) {
                Some(at) => seen[at] += 1,
                None => writeln!(faults, "{case}: only {side:?}: {fact}").unwrap(),
            }
        }
        println!(
            "{suite}: {} cases; {} facts of theirs, {} of ours, {} agree, {} apart",
            self.cases,
            self.theirs,
            self.ours,
            self.agreed,
            self.apart.len()
        );
        for (k, seen) in known.iter().zip(&seen) {
            println!("  {seen} only {:?}: {} {} {}: {}", k.side, k.kind, k.word, k.case, k.why);
            if *seen != k.times {
                writeln!(faults, "{seen} instead of {} times only {:?}: {} {} {}: {}", k.times, k.side, k.kind, k.word, k.case, k.why)
                    .unwrap();
            }
        }
        assert!(faults.is_empty(), "{suite} disagrees:\n{faults}");
        assert!(self.cases >= cases && self.agreed >= agreed, "{suite}: only {} cases and {} facts", self.cases, self.agreed);
    }
}

fn comparison() -> Comparison {
    let (mut theirs, mut ours, mut comparison) = (Facts::default(), Facts::default(), Comparison::default());
    for (facts, words) in [(&mut theirs, ["op 1 PAYMENT", "fee 1 A 100"]), (&mut ours, ["op 1 PAYMENT", "fee 1 A 101"])] {
        words.into_iter().for_each(|fact| facts.say(fact.to_owned()));
    }
    comparison.case("a case", &theirs, &ours);
    comparison
}

/// A rule for the fee of one side.
const fn fee(side: Side, times: usize) -> Known {
    Known { case: "", side, kind: "fee", word: "", times, why: "for the test" }
}

#[test]
fn what_is_listed_passes() {
    comparison().judge("test", &[fee(Side::Theirs, 1), fee(Side::Ours, 1)], 1, 1);
}

#[test]
#[should_panic(expected = "a case: only Ours: fee 1 A 101")]
fn what_is_not_listed_fails() {
    comparison().judge("test", &[fee(Side::Theirs, 1)], 1, 1);
}

#[test]
#[should_panic(expected = "1 instead of 2 times only Theirs: fee")]
fn what_is_listed_and_does_not_occur_fails() {
    comparison().judge("test", &[fee(Side::Theirs, 2), fee(Side::Ours, 1)], 1, 1);
}

#[test]
#[should_panic(expected = "test: only 1 cases and 1 facts")]
fn too_few_cases_fail() {
    comparison().judge("test", &[fee(Side::Theirs, 1), fee(Side::Ours, 1)], 2, 1);
}
