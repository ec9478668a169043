//! Source: frames from wherever they are, read ahead of their processing.
//!
//! In: an iterator of frames, ascending by ledger. Out: the same, into a bounded queue, each with its lease on the memory budget; a frame
//! waits outside the queue until the budget has room. Ends at the end of the iterator, at its first error, which it hands on, and when
//! asked to stop.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;
use std::time::Instant;

use crossbeam_channel::Sender;

use crate::budget::{Budget, Lease};
use crate::progress::{Progress, Stage};

/// One frame and where it is from.
#[derive(Clone, Debug)]
pub struct Input {
    /// Ledger sequence.
    pub sequence: u32,
    /// The bytes.
    pub bytes: Vec<u8>,
    /// The file, for messages.
    pub path: Arc<Path>,
    /// Which ledger of the file, from 1.
    pub item: u64,
}

/// A frame that has its place in the memory budget.
#[derive(Debug)]
pub struct Leased {
    /// The frame.
    pub input: Input,
    /// Its bytes.
    pub lease: Lease,
    /// When the source had given it.
    pub read_at: Instant,
}

impl AsRef<[u8]> for Leased {
    fn as_ref(&self) -> &[u8] {
        &self.input.bytes
    }
}

/// Reads until the source ends or fails, nobody takes its frames, or someone asks to stop.
pub fn read<S>(
    mut source: impl Iterator<Item = Result<Input, S>>,
    frames: &Sender<Result<Leased, S>>,
    budget: &Arc<Budget>,
    progress: &Progress,
) {
    let counters = progress.stage(Stage::Source);
    loop {
        let start = Instant::now();
        let Some(frame) = source.next() else { return };
        counters.busy(start);
        if progress.stop.load(Relaxed) {
            return;
        }
        let input = match frame {
            Ok(input) => input,
            Err(error) => {
                counters.errors.fetch_add(1, Relaxed);
                let _ = frames.send(Err(error));
                return;
            }
        };
        counters.received.fetch_add(1, Relaxed);
        let (bytes, read_at) = (input.bytes.len(), Instant::now());
        progress.last_read.fetch_max(input.sequence, Relaxed);
        let Some(lease) = budget.acquire(bytes, &progress.stop) else { return };
        progress.frames_waiting.add(1, bytes);
        if frames.send(Ok(Leased { input, lease, read_at })).is_err() {
            progress.frames_waiting.remove(1, bytes);
            return;
        }
        counters.emitted.fetch_add(1, Relaxed);
    }
}
