//! Encoded rows to Postgres: a COPY in large chunks, without copying the rows on the way.

use std::pin::pin;

use bytes::Bytes;
use futures_util::SinkExt as _;
use tokio_postgres::{Client, Statement};

use super::copy::{HEADER, TRAILER};

/// Bytes given to the driver at once: large enough to cost nothing, small enough to overlap with the server.
const CHUNK_BYTES: usize = 1 << 20;

/// Copies rows and says how many Postgres has counted.
pub(crate) async fn copy(client: &Client, statement: &Statement, rows: &Bytes) -> Result<u64, tokio_postgres::Error> {
    let mut sink = pin!(client.copy_in::<_, Bytes>(statement).await?);
    sink.feed(Bytes::from_static(HEADER)).await?;
    for from in (0..rows.len()).step_by(CHUNK_BYTES) {
        sink.feed(rows.slice(from..rows.len().min(from + CHUNK_BYTES))).await?;
    }
    sink.feed(Bytes::from_static(&TRAILER)).await?;
    sink.finish().await
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
