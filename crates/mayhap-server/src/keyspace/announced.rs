//! "Not new", and safe: insertions that are in the bits and not yet in the log.
//!
//! A thread sets bits first and writes its records at the end of its turn. Meanwhile another thread
//! may be asked to insert the same key, find it there, and answer "not new": an acknowledgement,
//! although a crash would take the key. So `unsafe_count` has the insertions that are in the bits
//! and not yet in the log, and while it is not 0 what is "not new" is recorded again.
//!
//! ORDERING. The inserting thread adds to the count, then a Release fence, then sets bits by
//! read-modify-writes. Whoever sees such a bit and then has an Acquire fence synchronises with it,
//! through later changes of the same word too, since they are all read-modify-writes. Its load of
//! the count then sees the addition, or the subtraction after it, which comes when the record is in
//! the log. A record that could not be written is never subtracted but by an image that has it.
//!
//! `mayhap`'s tests include this file, to run it under model checkers.

use super::atomic::{AtomicU64, Ordering, fence};

/// Insertions that were announced and are not in the log's hands yet.
pub(super) struct Announced<'a> {
    count: &'a AtomicU64,
    left: u64,
}

impl<'a> Announced<'a> {
    pub(super) fn new(count: &'a AtomicU64, insertions: usize) -> Self {
        count.fetch_add(insertions as u64, Ordering::Relaxed);
        fence(Ordering::Release);
        Self { count, left: insertions as u64 }
    }

    /// Whether a bit that was seen may be of an insertion of another turn that is not safe.
    pub(super) fn others_are_unsafe(&self) -> bool {
        others_are_unsafe(self.count, self.left)
    }

    pub(super) fn hand_over(&mut self, recorded: usize) {
        self.left -= recorded as u64;
    }
}

impl Drop for Announced<'_> {
    fn drop(&mut self) {
        if self.left != 0 {
            self.count.fetch_sub(self.left, Ordering::Relaxed);
        }
    }
}

/// Whether a bit that was seen may be of an insertion that is not safe, but for `own` ones.
#[inline]
pub(super) fn others_are_unsafe(count: &AtomicU64, own: u64) -> bool {
    fence(Ordering::Acquire);
    count.load(Ordering::Relaxed) != own
}
