//! Metrics of a run in the text format of Prometheus, and `starmill metrics`, which lists them.
//!
//! [`LIST`] is the one list of names: what is exposed is read through it, the table in docs/operations.md is what `starmill metrics` prints, and the
//! dashboards and alerts in deploy/ are tested against it. Names follow Prometheus' conventions: base units, `_total` for counters.

mod list;
mod process;

use std::fmt;

use prometheus_client::collector::Collector;
use prometheus_client::encoding::{DescriptorEncoder, MetricEncoder, NoLabelSet, prometheus_text};
use prometheus_client::metrics::MetricType;
use prometheus_client::metrics::exemplar::Exemplar;
use prometheus_client::registry::Registry;
use serde_json::json;

pub(crate) use list::LIST;

use crate::admin::State;
use crate::args::MetricsArgs;
use crate::output::say;

/// The content type of [`text`].
pub(crate) const CONTENT_TYPE: &str = prometheus_text::CONTENT_TYPE;

/// What kind of number a metric is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    /// Only grows; begins at 0 with the process.
    Counter,
    /// What is now.
    Gauge,
    /// How many were at most each bound.
    Histogram,
}

impl Kind {
    fn name(self) -> &'static str {
        match self {
            Self::Counter => "counter",
            Self::Gauge => "gauge",
            Self::Histogram => "histogram",
        }
    }
}

/// One metric.
#[derive(Debug)]
pub(crate) struct Metric {
    /// Its whole name.
    pub(crate) name: &'static str,
    pub(crate) kind: Kind,
    /// What is counted: seconds, bytes, ledgers, rows, …; `-` for a mark that is 0 or 1.
    pub(crate) unit: &'static str,
    /// Names of its labels.
    pub(crate) labels: &'static [&'static str],
    /// What it means.
    pub(crate) help: &'static str,
    /// Reads it. Nothing, while it is not known.
    pub(crate) read: fn(&State) -> Vec<Sample>,
}

/// One value of a metric.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Sample {
    /// In the order of the metric's labels.
    labels: Vec<String>,
    value: Value,
}

/// A value.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Value {
    Whole(u64),
    Real(f64),
    Histogram {
        sum: f64,
        count: u64,
        /// Upper bounds and how many are at most that, the last one without bound.
        buckets: Vec<(f64, u64)>,
    },
}

/// A run's metrics as text.
pub(crate) fn text(state: &State) -> Result<String, fmt::Error> {
    let mut text = String::with_capacity(16 << 10);
    let mut registry = Registry::default();
    registry.register_collector(Box::new(Read(LIST.iter().map(|metric| (metric, (metric.read)(state))).collect())));
    prometheus_text::encode(&mut text, &registry)?;
    Ok(text)
}

/// `starmill metrics`: the list.
pub(crate) fn metrics(args: &MetricsArgs) -> anyhow::Result<()> {
    if args.json {
        for metric in LIST {
            let line = json!({
                "name": metric.name, "type": metric.kind.name(), "unit": metric.unit, "labels": metric.labels, "help": metric.help,
            });
            say!("{line}")?;
        }
        return Ok(());
    }
    say!("| metric | type | unit | labels | meaning |")?;
    say!("|---|---|---|---|---|")?;
    for metric in LIST {
        let labels = metric.labels.iter().map(|label| format!("`{label}`")).collect::<Vec<_>>().join(", ");
        say!("| `{}` | {} | {} | {labels} | {} |", metric.name, metric.kind.name(), metric.unit, metric.help)?;
    }
    Ok(())
}

/// All metrics, read.
#[derive(Debug)]
struct Read(Vec<(&'static Metric, Vec<Sample>)>);

impl Collector for Read {
    fn encode(&self, mut encoder: DescriptorEncoder<'_>) -> Result<(), fmt::Error> {
        for (metric, samples) in self.0.iter().filter(|(_, samples)| !samples.is_empty()) {
            // The library adds the suffix of counters itself.
            let (name, kind) = match metric.kind {
                Kind::Counter => (metric.name.trim_end_matches("_total"), MetricType::Counter),
                Kind::Gauge => (metric.name, MetricType::Gauge),
                Kind::Histogram => (metric.name, MetricType::Histogram),
            };
            let mut encoder = encoder.encode_descriptor(name, metric.help, None, kind)?;
            for sample in samples {
                let labels: Vec<(&str, &str)> = metric.labels.iter().copied().zip(sample.labels.iter().map(String::as_str)).collect();
                if labels.is_empty() {
                    write(&mut encoder, metric.kind, &sample.value)?;
                } else {
                    write(&mut encoder.encode_family(&labels.as_slice())?, metric.kind, &sample.value)?;
                }
            }
        }
        Ok(())
    }
}

fn write(encoder: &mut MetricEncoder<'_>, kind: Kind, value: &Value) -> Result<(), fmt::Error> {
    const NONE: Option<&Exemplar<NoLabelSet, f64>> = None;
    match (kind, value) {
        (_, Value::Histogram { sum, count, buckets }) => encoder.encode_histogram::<NoLabelSet>(*sum, *count, buckets, None),
        (Kind::Counter, Value::Whole(value)) => encoder.encode_counter(value, NONE),
        (Kind::Counter, Value::Real(value)) => encoder.encode_counter(value, NONE),
        (_, Value::Whole(value)) => encoder.encode_gauge(value),
        (_, Value::Real(value)) => encoder.encode_gauge(value),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_follow_the_conventions() {
        for metric in LIST {
            let Metric { name, kind, unit, .. } = metric;
            assert!(name.chars().all(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '_'), "{name}");
            assert!(name.starts_with("starmill_") || name.starts_with("process_"), "{name}");
            assert_eq!(name.ends_with("_total"), *kind == Kind::Counter, "{name}");
            let base = name.trim_end_matches("_total");
            for suffix in ["seconds", "bytes"] {
                assert_eq!(base.ends_with(&format!("_{suffix}")), *unit == suffix, "{name} in {unit}");
            }
            assert!(!metric.help.ends_with('.') && !metric.help.contains('|') && !metric.help.is_empty(), "{name}");
        }
    }

    #[test]
    fn names_are_ascending_and_differ() {
        let names: Vec<_> = LIST.iter().map(|metric| metric.name).collect();
        assert!(names.is_sorted_by(|a, b| a < b), "{names:#?}");
    }
}
