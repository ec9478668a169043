//! Encoded rows to Postgres: a COPY in large chunks, without copying the rows on the way.

use std::pin::pin;

use bytes::Bytes;
use futures_util::SinkExt as _;
use starmill_ledger::rows::LedgerRow;
use tokio_postgres::{Client, Statement};

use super::PostgresError;
use super::commit::span;
use super::config::PostgresConfig;
use super::copy::{HEADER, TRAILER};
use super::error::During as _;
use super::steps::{Step, at_when_sent};

/// Bytes given to the driver at once: large enough to cost nothing, small enough to overlap with the server.
const CHUNK_BYTES: usize = 1 << 20;

/// Copies rows of a table and says how many Postgres has counted.
pub(crate) async fn copy(
    config: &PostgresConfig,
    client: &Client,
    (table, statement): (&'static str, &Statement),
    rows: &Bytes,
    ledgers: &[LedgerRow],
) -> Result<u64, PostgresError> {
    let copying = || format!("COPY {table}, ledgers {}", span(ledgers));
    let mut sink = pin!(client.copy_in::<_, Bytes>(statement).await.during(copying)?);
    sink.feed(Bytes::from_static(HEADER)).await.during(copying)?;
    let (first, second) = (rows.slice(..rows.len() / 2), rows.slice(rows.len() / 2..));
    for (half, bytes) in [first, second].iter().enumerate() {
        for from in (0..bytes.len()).step_by(CHUNK_BYTES) {
            sink.feed(bytes.slice(from..bytes.len().min(from + CHUNK_BYTES))).await.during(copying)?;
        }
        if half == 0 {
            at_when_sent(config, Step::Copying(table)).await?;
        }
    }
    sink.feed(Bytes::from_static(&TRAILER)).await.during(copying)?;
    sink.finish().await.during(copying)
}

/// Lends a buffer out.
pub(crate) fn lend(buffer: &mut Vec<u8>) -> Bytes {
    // A Vec becomes Bytes and back without being copied, once the driver has let go of its slices.
    Bytes::from(std::mem::take(buffer))
}

/// Takes it back as it was; copied where a lost connection still holds slices of it.
pub(crate) fn take_back(bytes: Bytes) -> Vec<u8> {
    match bytes.try_into_mut() {
        Ok(unique) => Vec::from(unique),
        Err(shared) => shared.to_vec(),
    }
}
