//! "Not new", and safe: insertions that are in the bits and not yet in the log.
//!
//! A thread sets bits first and writes its records at the end of its turn. Meanwhile another thread
//! may insert the same key, find it present, and answer "not new": an acknowledgement, although a
//! crash would lose the key. So the filter's [`Tally`] counts the insertions that are in the bits
//! and not yet safe in the log, and while it counts any of other turns, a key that is "not new" is
//! recorded again. Insertions of the same turn are no risk: its answers are sent after its records
//! are written, or are errors.
//!
//! ORDERING. The inserting thread adds to the number, then has a Release fence, then sets bits by
//! read-modify-writes. A thread that sees such a bit and then has an Acquire fence synchronises
//! with it, through later changes of the same word too, since they are all read-modify-writes. Its
//! load of the number then sees the addition, or the subtraction after it, which happens when the
//! record is in the log. A record that could not be written is only ever subtracted by an image
//! that has it.

use super::{Recorder, Tally};
use crate::sync::{Ordering, fence};
use mayhap::{Bitmap, Digest};
use std::sync::Arc;

/// Insertions that were announced and are not yet handed over to the log; the rest is taken back
/// when this is dropped.
#[derive(Debug)]
#[must_use = "to be kept until the insertions are recorded"]
pub(crate) struct Announced<'a> {
    tally: &'a Tally,
    left: u64,
}

impl Tally {
    /// Announces insertions; to be called before the first of their bits is set.
    pub(crate) fn announce(&self, insertions: usize) -> Announced<'_> {
        // ORDERING: Relaxed, and the fence after it: above.
        self.at_risk.fetch_add(insertions as u64, Ordering::Relaxed);
        fence(Ordering::Release);
        Announced { tally: self, left: insertions as u64 }
    }

    /// Whether a bit that was seen may belong to an insertion that a crash would lose, other than
    /// the caller's `own`.
    #[inline]
    pub(crate) fn is_at_risk(&self, own: u64) -> bool {
        // ORDERING: Relaxed, and the fence before it: above.
        fence(Ordering::Acquire);
        self.at_risk.load(Ordering::Relaxed) != own
    }
}

impl Announced<'_> {
    /// Whether a bit that was seen may belong to an insertion of another turn that a crash would
    /// lose; this turn has `recorded` recorded ones.
    pub(crate) fn others_are_at_risk(&self, recorded: u64) -> bool {
        self.tally.is_at_risk(self.left + recorded)
    }

    /// `recorded` insertions are recorded; the log subtracts them once they are safe.
    pub(crate) const fn hand_over(&mut self, recorded: usize) {
        self.left -= recorded as u64;
    }
}

impl Drop for Announced<'_> {
    fn drop(&mut self) {
        if self.left != 0 {
            // ORDERING: Relaxed. They set no bit that is not recorded by another turn, or none at
            // all.
            self.tally.at_risk.fetch_sub(self.left, Ordering::Relaxed);
        }
    }
}

impl Recorder {
    /// Inserts a digest into a filter that many threads fill, and records it if a crash must not
    /// lose it: if it is new, or present and not safe. Returns whether it is new.
    ///
    /// # Errors
    ///
    /// The error of `insert`, which has then changed nothing.
    #[inline]
    pub fn insert_one<E>(
        &mut self,
        tally: &Arc<Tally>,
        filter: u64,
        digest: Digest,
        contains: impl FnOnce() -> bool,
        insert: impl FnOnce() -> Result<bool, E>,
    ) -> Result<bool, E> {
        self.begin();
        // A key that is present, as most are, writes to no memory shared between threads.
        if contains() && !tally.is_at_risk(self.recorded(tally)) {
            return Ok(false);
        }
        let mut announced = tally.announce(1);
        let new = insert()?;
        if new {
            self.insert(tally, filter, &[digest]);
            announced.hand_over(1);
        } else if announced.others_are_at_risk(self.recorded(tally)) {
            self.repeat(tally, filter, &[digest]);
            announced.hand_over(1);
        }
        Ok(new)
    }

    /// The same for many digests; the contents of `digests` afterwards are unspecified.
    ///
    /// # Errors
    ///
    /// The error of `insert`, with the index of the first digest that was not inserted.
    pub fn insert_each<E>(
        &mut self,
        tally: &Arc<Tally>,
        filter: u64,
        digests: &mut Vec<Digest>,
        answers: &mut Bitmap,
        insert: impl FnOnce(&[Digest], &mut Bitmap) -> Result<(), (usize, E)>,
    ) -> Result<(), (usize, E)> {
        self.begin();
        let mut announced = tally.announce(digests.len());
        let done = insert(digests, answers);
        if let Err((inserted, _)) = done {
            digests.truncate(inserted);
        }
        if announced.others_are_at_risk(self.recorded(tally)) {
            let there = (0..digests.len()).filter(|&i| !answers.get(i)).map(|i| digests[i]);
            let there: Vec<Digest> = there.collect();
            self.repeat(tally, filter, &there);
            announced.hand_over(there.len());
        }
        keep_new(digests, answers);
        self.insert(tally, filter, digests);
        announced.hand_over(digests.len());
        done
    }
}

/// Leaves the digests that were answered "new".
fn keep_new(digests: &mut Vec<Digest>, new: &Bitmap) {
    let mut kept = 0;
    let len = digests.len();
    for i in new.iter_ones().take_while(|&i| i < len) {
        digests[kept] = digests[i];
        kept += 1;
    }
    digests.truncate(kept);
}
