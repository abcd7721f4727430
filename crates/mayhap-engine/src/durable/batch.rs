//! Records that are written together.

use super::frame::{self, Link};
use super::{Operation, Refused, Tally, item};
use std::sync::Arc;

/// Frames are split at this size; a frame is checked as a whole.
pub(super) const FRAME_BYTES: usize = 1 << 20;
/// More memory than this is freed after a turn.
const KEPT_BYTES: usize = 1 << 20;

/// Insertions of one turn into a filter that are not safe yet.
#[derive(Debug)]
pub(super) struct Unsafe {
    pub(super) tally: Arc<Tally>,
    /// How many of them are at risk.
    pub(super) inserted: u64,
    /// How many were new and have to be counted, once they are recorded or refused.
    pub(super) new: u64,
}

impl Unsafe {
    pub(super) fn settle(&self) {
        self.tally.settle(self.inserted);
    }

    /// Counts the new ones as keys of this segment. With the log locked.
    pub(super) fn count(&self, segment: u64) {
        if self.new != 0 {
            self.tally.count(self.new, segment);
        }
    }
}

/// Records that are written together.
#[derive(Debug, Default)]
pub(super) struct Batch {
    /// Frames, with room for their headers.
    pub(super) bytes: Vec<u8>,
    /// Where each frame begins.
    pub(super) frames: Vec<usize>,
    /// The filters whose contents changed.
    pub(super) filters: Vec<u64>,
    pub(super) counts: Vec<Unsafe>,
}

impl Batch {
    /// Begins a frame, unless the last one has room.
    pub(super) fn make_room(&mut self) -> bool {
        let full = |&start: &usize| self.bytes.len() - start >= FRAME_BYTES;
        let begins = self.frames.last().is_none_or(full);
        if begins {
            self.begin();
        }
        begins
    }

    pub(super) fn begin(&mut self) {
        self.frames.push(self.bytes.len());
        self.bytes.resize(self.bytes.len() + frame::HEADER_BYTES, 0);
    }

    /// Appends an operation.
    pub(super) fn add(&mut self, operation: &Operation<'_>) -> Result<(), Refused> {
        check_size(item::operation_bytes(operation))?;
        self.make_room();
        item::encode_operation(&mut self.bytes, operation);
        Ok(())
    }

    /// Does the slow work that needs no lock.
    pub(super) fn seal(&mut self, log_id: u64) {
        let mut end = self.bytes.len();
        for &start in self.frames.iter().rev() {
            frame::seal(&mut self.bytes[start..end], log_id);
            end = start;
        }
    }

    /// Gives all frames their places, from `next` on; returns the place after them.
    pub(super) fn chain(&mut self, next: Link, safe: u64, log_id: u64) -> Link {
        let chain =
            |next, &start: &usize| frame::chain(&mut self.bytes[start..], next, safe, log_id);
        self.frames.iter().fold(next, chain)
    }

    pub(super) fn clear(&mut self) {
        self.bytes.clear();
        self.bytes.shrink_to(KEPT_BYTES);
        self.frames.clear();
        self.filters.clear();
        self.counts.clear();
    }
}

/// # Errors
///
/// [`Refused`] for a record that does not fit into a frame.
pub(super) fn check_size(bytes: usize) -> Result<(), Refused> {
    let limit = frame::MAX_PAYLOAD_BYTES;
    if bytes > limit {
        return Err(Refused::TooLarge { bytes, limit });
    }
    Ok(())
}
