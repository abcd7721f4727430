//! "Not new", and safe: insertions that are in the bits and not yet in the log.
//!
//! A thread sets bits first and writes its records at the end of its turn. Meanwhile another thread
//! may insert the same key, find it there, and answer "not new": an acknowledgement, although a
//! crash would take the key. So the filter's [`Tally`] has the insertions that are in the bits and
//! not yet safe in the log, and while there are any of others, what is "not new" is recorded again.
//! Those of the same turn are no risk: its answers go after its records, or are errors.
//!
//! ORDERING. The inserting thread adds to the number, then a Release fence, then sets bits by
//! read-modify-writes. Whoever sees such a bit and then has an Acquire fence synchronises with it,
//! through later changes of the same word too, since they are all read-modify-writes. Its load of
//! the number then sees the addition, or the subtraction after it, which comes when the record is
//! in the log. A record that could not be written is never subtracted but by an image that has it.

use super::{Recorder, Tally};
use crate::sync::{AtomicU64, Ordering, fence};
use mayhap::{Bitmap, Digest};
use std::sync::Arc;

/// Insertions that were announced and are not in the log's hands yet; those that never come there
/// are taken back when this is dropped.
#[derive(Debug)]
#[must_use = "to be kept until the insertions are recorded"]
pub(crate) struct Announced<'a> {
    at_risk: &'a AtomicU64,
    left: u64,
}

impl Tally {
    /// Announces insertions; to be called before the first of their bits is set.
    pub(crate) fn announce(&self, insertions: usize) -> Announced<'_> {
        // ORDERING: Relaxed, and the fence after it: above.
        self.at_risk.fetch_add(insertions as u64, Ordering::Relaxed);
        fence(Ordering::Release);
        Announced { at_risk: &self.at_risk, left: insertions as u64 }
    }

    /// Whether a bit that was seen may be of an insertion that a crash would take, and that is none
    /// of `own` ones.
    #[inline]
    pub(crate) fn is_at_risk(&self, own: u64) -> bool {
        others_are_at_risk(&self.at_risk, own)
    }
}

impl Announced<'_> {
    /// Whether a bit that was seen may be of an insertion of another turn that a crash would take;
    /// this one has recorded so many.
    pub(crate) fn others_are_at_risk(&self, recorded: u64) -> bool {
        others_are_at_risk(self.at_risk, self.left + recorded)
    }

    /// So many are recorded, and the log takes them away once they are safe.
    pub(crate) const fn hand_over(&mut self, recorded: usize) {
        self.left -= recorded as u64;
    }
}

impl Drop for Announced<'_> {
    fn drop(&mut self) {
        if self.left != 0 {
            // ORDERING: Relaxed. They set no bit that nobody else has recorded, or none at all.
            self.at_risk.fetch_sub(self.left, Ordering::Relaxed);
        }
    }
}

#[inline]
fn others_are_at_risk(at_risk: &AtomicU64, own: u64) -> bool {
    // ORDERING: Relaxed, and the fence before it: above.
    fence(Ordering::Acquire);
    at_risk.load(Ordering::Relaxed) != own
}

impl Recorder {
    /// Inserts a digest into a filter that many threads fill, and records it if a crash must not
    /// take it: if it is new, or there and not safe. `true` if it is new.
    ///
    /// # Errors
    ///
    /// Those of `insert`, which has then changed nothing.
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
        // A key that is there, as most are, writes to nothing that threads share.
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

    /// The same for many digests; what is left in `digests` means nothing.
    ///
    /// # Errors
    ///
    /// Those of `insert`, with the place of the first digest that it has not inserted.
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
