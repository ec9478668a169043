//! The command line: every command, flag and its help. Completions and manual pages are made from this.

use std::io::Write as _;
use std::path::{Path, PathBuf};

use anyhow::Context;
use clap::{Args, CommandFactory, Parser, Subcommand};
use starmill_ledger::Verify;

/// Stellar ledger indexer: ledgers in, rows out, exactly once.
#[derive(Debug, Parser)]
#[command(name = "starmill", version, about, propagate_version = true)]
pub(crate) struct Cli {
    #[command(subcommand)]
    pub(crate) command: Command,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    Run(RunArgs),
    Rows(RowsArgs),
    Inspect(InspectArgs),
    Status(StatusArgs),
    Metrics(MetricsArgs),
    Db(DbArgs),
    Bench(BenchArgs),
    Synth(SynthArgs),
    /// Print shell completions.
    #[command(after_help = "Example:\n  starmill completions bash > /etc/bash_completion.d/starmill")]
    Completions {
        /// The shell.
        shell: clap_complete::Shell,
    },
    /// Print the manual page, or write the pages of all commands into a folder.
    #[command(after_help = "Examples:\n  starmill man | man -l -\n  starmill man /usr/local/share/man/man1")]
    Man {
        /// Where to write one page a command.
        folder: Option<PathBuf>,
    },
}

/// Which ledgers to read, and from where.
#[derive(Clone, Debug, Args)]
pub(crate) struct SourceArgs {
    /// Files, folders, globs, or `-` for standard input. Packed (gzip, zstd, base64) or not, framed or bare or in batches: told by content.
    #[arg(required = true, value_name = "SOURCE")]
    pub(crate) sources: Vec<String>,
    /// First ledger wanted.
    #[arg(long, value_name = "LEDGER", value_parser = parse_ledger)]
    pub(crate) from: Option<u32>,
    /// Last ledger wanted.
    #[arg(long, value_name = "LEDGER", value_parser = parse_ledger)]
    pub(crate) to: Option<u32>,
    /// Let ledgers be missing between others.
    #[arg(long)]
    pub(crate) allow_gaps: bool,
    /// Do not end with the source, but wait for what comes: new files in folders, more in a file that grows, another writer of a named pipe. Goes on behind
    /// the highest ledger that the database has.
    #[arg(long, conflicts_with_all = ["newest_first", "backfill"])]
    pub(crate) follow: bool,
    /// Read files from the newest to the oldest, the ledgers of each in their order.
    #[arg(long)]
    pub(crate) newest_first: bool,
}

/// pubnet, testnet, futurenet, local, or a passphrase; found from the ledgers' own hashes when not given.
#[derive(Debug, Args)]
pub(crate) struct NetworkArgs {
    /// pubnet, testnet, futurenet, local, or a passphrase; found from the ledgers' own hashes when not given.
    #[arg(long, env = "STARMILL_NETWORK", value_name = "NAME|PASSPHRASE", value_parser = clap::builder::NonEmptyStringValueParser::new())]
    pub(crate) network: Option<String>,
}

/// Where the database is.
#[derive(Clone, Debug, Args)]
pub(crate) struct DatabaseArgs {
    /// A Postgres database, for example `postgres://user@host/name`. Without it starmill runs its own, in the data folder; --data-dir beats the variable.
    #[arg(long, env = "STARMILL_DATABASE_URL", value_name = "URL", hide_env_values = true, value_parser = clap::builder::NonEmptyStringValueParser::new())]
    pub(crate) database_url: Option<String>,
    /// Folder of starmill's own Postgres.
    #[arg(long, env = "STARMILL_DATA_DIR", value_name = "FOLDER", default_value = "starmill-data")]
    pub(crate) data_dir: PathBuf,
}

/// Which of the two writers of a database this is, and what it keeps. Each has one process at a time; the two work side by side.
#[derive(Clone, Copy, Debug, Default, Args)]
pub(crate) struct WriterArgs {
    /// Fill in history beside the process that follows the chain: never touches the current state of ledgers below those that are there.
    #[arg(long)]
    pub(crate) backfill: bool,
    /// While another process writes, stand by until it goes, instead of ending with `writer-busy`.
    #[arg(long)]
    pub(crate) standby: bool,
    /// Keep history for so long before the newest ledger: days, for example 90d. Older partitions are dropped, and their ledgers no longer count as
    /// covered; current state stays.
    #[arg(long, env = "STARMILL_RETENTION", value_name = "DAYS", value_parser = parse_days)]
    pub(crate) retention: Option<u32>,
}

/// Where a run can be watched.
#[derive(Clone, Debug, Default, Args)]
pub(crate) struct AdminArgs {
    /// Serve /metrics, /livez, /readyz and /statusz over HTTP there, for a network that is trusted; port 0 takes a free one and says which.
    #[arg(long, env = "STARMILL_ADMIN_ADDR", value_name = "HOST:PORT", value_parser = clap::builder::NonEmptyStringValueParser::new())]
    pub(crate) admin_addr: Option<String>,
}

/// List the metrics that `starmill run --admin-addr` serves at /metrics, as a table in Markdown.
#[derive(Debug, Args)]
#[command(after_help = "Example:\n  starmill metrics --json | jq -r .name")]
pub(crate) struct MetricsArgs {
    /// Print one JSON object a metric.
    #[arg(long)]
    pub(crate) json: bool,
}

/// Read ledgers and write their rows, each ledger exactly once.
///
/// Ledgers whose rows are there already are passed over, so the same command again goes on where the last one stopped. Ctrl-C finishes the batch that is
/// being written and says where it stands; a second Ctrl-C stops at once and loses only that batch, which the next run writes.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  starmill run ledgers/                                  into starmill's own Postgres, in ./starmill-data
  starmill run --from 63092982 --to 63092991 'lake/*.zst'
  stellar-core … | starmill run - --network testnet      what captive core writes
  starmill run --follow lake/                            and then each ledger as it appears there
  starmill run ledgers/ --database-url postgres://me@db/stellar
  starmill run --backfill --from 2 --to 1000000 'lake/*.zst' --database-url …   history, beside a run at the tip
  starmill run ledgers/ --sink jsonl:rows                JSON lines, a file a table and batch
  starmill run ledgers/ --sink null: --json              how fast without a database")]
pub(crate) struct RunArgs {
    #[command(flatten)]
    pub(crate) source: SourceArgs,
    #[command(flatten)]
    pub(crate) network: NetworkArgs,
    #[command(flatten)]
    pub(crate) database: DatabaseArgs,
    #[command(flatten)]
    pub(crate) writer: WriterArgs,
    /// Where rows go: postgres, jsonl:FOLDER, or null: (counts them).
    #[arg(long, default_value = "postgres", value_name = "SINK", value_parser = parse_sink)]
    pub(crate) sink: SinkChoice,
    /// Threads that make rows; the number of processors when not given.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=512))]
    pub(crate) threads: Option<u16>,
    /// What is checked of ledgers: none; chain: each header's hash, and that ledgers follow each other; full: also the hashes of
    /// transaction sets and results. Made ledgers may need none.
    #[arg(long, value_name = "LEVEL", default_value = "chain", value_parser = |text: &str| text.parse::<Verify>())]
    pub(crate) verify: Verify,
    /// Memory for ledgers and rows between the source and the commit, in MiB; one ledger alone may take more.
    #[arg(long, value_name = "MIB", default_value = "256")]
    pub(crate) memory_mib: std::num::NonZeroU16,
    #[command(flatten)]
    pub(crate) admin: AdminArgs,
    #[command(flatten)]
    pub(crate) bounds: crate::bounds::BoundsArgs,
    /// Print the summary as one JSON object.
    #[arg(long)]
    pub(crate) json: bool,
}

/// Where rows go.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum SinkChoice {
    Postgres,
    Jsonl(PathBuf),
    Null,
}

impl SinkChoice {
    /// Its name, without what follows it.
    pub(crate) fn name(&self) -> &'static str {
        match self {
            Self::Postgres => "postgres",
            Self::Jsonl(_) => "jsonl",
            Self::Null => "null",
        }
    }
}

fn parse_ledger(text: &str) -> Result<u32, String> {
    match text.parse() {
        Ok(0) => Err("the first ledger of a network is 1".into()),
        Ok(sequence) => Ok(sequence),
        Err(_) => Err(format!("not a number from 1 to {}", u32::MAX)),
    }
}

fn parse_days(text: &str) -> Result<u32, String> {
    match text.strip_suffix('d').unwrap_or(text).parse() {
        Ok(days @ 1..=36_500) => Ok(days),
        _ => Err("not a number of days from 1 to 36500, for example 90d".into()),
    }
}

fn parse_sink(text: &str) -> Result<SinkChoice, String> {
    match text.split_once(':') {
        None if text == "postgres" => Ok(SinkChoice::Postgres),
        None if text == "null" => Ok(SinkChoice::Null),
        Some(("null", "")) => Ok(SinkChoice::Null),
        Some(("jsonl", folder)) if !folder.is_empty() => Ok(SinkChoice::Jsonl(folder.into())),
        _ => Err("not one of postgres, jsonl:FOLDER, null:".into()),
    }
}

/// Print the rows of ledgers as JSON lines, in the order of the file.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  starmill rows ledger-63092988.xdr.gz | jq 'select(.t == \"operations\")'
  starmill rows --from 18 --to 18 --network testnet chain.xdr.zst")]
pub(crate) struct RowsArgs {
    /// Files, or `-` for standard input.
    #[arg(required = true, value_name = "FILE")]
    pub(crate) files: Vec<String>,
    #[command(flatten)]
    pub(crate) network: NetworkArgs,
    /// First ledger wanted.
    #[arg(long, value_name = "LEDGER", value_parser = parse_ledger)]
    pub(crate) from: Option<u32>,
    /// Last ledger wanted.
    #[arg(long, value_name = "LEDGER", value_parser = parse_ledger)]
    pub(crate) to: Option<u32>,
}

/// Show what ledgers hold: header, transactions and operations by type, sizes.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  starmill inspect ledger-63092988.xdr.gz
  starmill inspect --json chain.xdr.zst | jq .operations")]
pub(crate) struct InspectArgs {
    /// Files, or `-` for standard input.
    #[arg(required = true, value_name = "FILE")]
    pub(crate) files: Vec<String>,
    #[command(flatten)]
    pub(crate) network: NetworkArgs,
    /// Print one JSON object a ledger.
    #[arg(long)]
    pub(crate) json: bool,
}

/// Show what the database holds: ledgers covered, gaps, rows and sizes of tables.
#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  starmill status\n  starmill status --json --database-url postgres://me@db/stellar")]
pub(crate) struct StatusArgs {
    #[command(flatten)]
    pub(crate) database: DatabaseArgs,
    /// Print one JSON object.
    #[arg(long)]
    pub(crate) json: bool,
}

/// Reach starmill's own Postgres.
#[derive(Debug, Args)]
#[command(
    after_help = "Examples:\n  starmill db psql -- -c 'select count(*) from operations'\n  psql \"$(starmill db url)\"\n  starmill db stop"
)]
pub(crate) struct DbArgs {
    #[command(subcommand)]
    pub(crate) command: DbCommand,
    /// Folder of starmill's own Postgres.
    #[arg(long, env = "STARMILL_DATA_DIR", value_name = "FOLDER", default_value = "starmill-data", global = true)]
    pub(crate) data_dir: PathBuf,
}

#[derive(Debug, Subcommand)]
pub(crate) enum DbCommand {
    /// Start it if it is not running and print its URL; it goes on running until `starmill db stop`.
    #[command(after_help = "Example:\n  psql \"$(starmill db url)\"")]
    Url,
    /// Start it if it is not running and open psql on it; what follows `--` goes to psql.
    #[command(after_help = "Examples:\n  starmill db psql\n  starmill db psql -- -c 'select count(*) from operations'")]
    Psql {
        /// Arguments for psql.
        #[arg(last = true)]
        arguments: Vec<String>,
    },
    /// Stop it.
    #[command(after_help = "Examples:\n  starmill db stop\n  starmill db stop --data-dir other-data")]
    Stop,
}

/// Measure.
#[derive(Debug, Args)]
#[command(after_help = "Example:\n  starmill bench process ledger-*.xdr.gz")]
pub(crate) struct BenchArgs {
    #[command(subcommand)]
    pub(crate) command: BenchCommand,
}

#[derive(Debug, Subcommand)]
pub(crate) enum BenchCommand {
    Process(BenchProcessArgs),
}

/// Time the way from frame to COPY bytes, stage by stage, beside stellar-xdr's decode of the same bytes.
#[derive(Debug, Args)]
#[command(after_help = "Example:\n  starmill bench process --threads 2 --json ledger-*.xdr.gz")]
pub(crate) struct BenchProcessArgs {
    /// Files.
    #[arg(required = true, value_name = "FILE")]
    pub(crate) files: Vec<String>,
    #[command(flatten)]
    pub(crate) network: NetworkArgs,
    /// Threads for the total; each stage alone is timed on one.
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u16).range(1..=512))]
    pub(crate) threads: u16,
    /// Rounds; the least time of all counts. Figures to compare need at least 20.
    #[arg(long, value_name = "N", default_value_t = 20, value_parser = clap::value_parser!(u32).range(1..=100_000))]
    pub(crate) rounds: u32,
    /// Print one JSON object a file.
    #[arg(long)]
    pub(crate) json: bool,
}

/// Make a small valid chain of ledgers: accounts, payments, trustlines, offers, contract transfers, fee bumps, failures.
///
/// The same numbers give the same bytes.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  starmill synth --ledgers 100 --tx-per-ledger 50 --output chain.xdr
  starmill synth --ledgers 1000 | starmill run -
  starmill synth --ledgers 1000 --per-second 2 --files live/ & starmill run --follow live/")]
pub(crate) struct SynthArgs {
    /// How many ledgers.
    #[arg(long, value_name = "N", default_value_t = 100, value_parser = clap::value_parser!(u32).range(1..=100_000_000))]
    pub(crate) ledgers: u32,
    /// Transactions in each.
    #[arg(long, value_name = "N", default_value_t = 50, value_parser = clap::value_parser!(u32).range(1..=100_000))]
    pub(crate) tx_per_ledger: u32,
    /// Number that the chain is made from; another one, another chain.
    #[arg(long, value_name = "N", default_value_t = 1)]
    pub(crate) seed: u64,
    /// Seconds from the close of one ledger to that of the next.
    #[arg(long, value_name = "SECONDS", default_value_t = 5, value_parser = clap::value_parser!(u32).range(0..=86_400))]
    pub(crate) close_interval: u32,
    /// As a network does it: so many ledgers a second, each closed at the time when it is written. The bytes then differ from run to run.
    #[arg(long, value_name = "RATE", value_parser = clap::value_parser!(u32).range(1..=10_000), conflicts_with = "close_interval")]
    pub(crate) per_second: Option<u32>,
    /// Where to write the framed stream; standard output when not given.
    #[arg(long, short, value_name = "FILE")]
    pub(crate) output: Option<PathBuf>,
    /// A folder in which to write each ledger as a file of its own, which appears whole.
    #[arg(long, value_name = "FOLDER", conflicts_with = "output")]
    pub(crate) files: Option<PathBuf>,
}

/// Prints completions.
pub(crate) fn completions(shell: clap_complete::Shell) -> anyhow::Result<()> {
    let mut text = Vec::new();
    clap_complete::generate(shell, &mut Cli::command(), "starmill", &mut text);
    Ok(std::io::stdout().write_all(&text)?)
}

/// Prints or writes manual pages.
pub(crate) fn man(folder: Option<&Path>) -> anyhow::Result<()> {
    match folder {
        Some(folder) => {
            clap_mangen::generate_to(Cli::command(), folder).with_context(|| format!("writing manual pages into {}", folder.display()))
        }
        None => Ok(clap_mangen::Man::new(Cli::command()).render(&mut std::io::stdout())?),
    }
}
