//! Records of one filter to which everything has to be done in an order: by their numbers, however
//! they stand in the log.
//!
//! Threads number what they do to a filter under its lock, and write it at the ends of their turns,
//! so that the log has it in another order. What comes too early is held back until what is before
//! it has come. A number that never comes is of a turn that was refused: what is held back behind
//! it is done at the end of the log.

use super::RecoveryError;
use super::kind::Contents;
use mayhap::{Bitmap, Digest};
use std::collections::BTreeMap;

/// Where a filter is in its own order, and what came too early. Memory: the digests that are held
/// back, 8 bytes each; under load some hundred of a filter, and at most what the log has of it.
#[derive(Debug, Default)]
pub(super) struct InOrder {
    next: u64,
    early: BTreeMap<u64, (u64, Vec<Digest>)>,
}

impl InOrder {
    /// After an image, which has what is below its mark.
    pub(super) const fn after(mark: u64) -> Self {
        Self { next: mark, early: BTreeMap::new() }
    }

    /// Does what it is the turn of, or keeps it for later.
    pub(super) fn take(
        &mut self,
        contents: &mut dyn Contents,
        (order, what): (u64, u64),
        digests: &[Digest],
        scratch: &mut Bitmap,
    ) -> Result<(), RecoveryError> {
        if order < self.next {
            // The image has it.
            return Ok(());
        }
        if order > self.next {
            self.early.insert(order, (what, digests.to_vec()));
            return Ok(());
        }
        contents.replay_ordered(order, what, digests, scratch)?;
        self.next = order + digests.len() as u64;
        while let Some(first) = self.early.first_entry().filter(|it| *it.key() <= self.next) {
            self.next = do_one(contents, first.remove_entry(), scratch)?;
        }
        Ok(())
    }

    /// The log has ended: does what is left, in order.
    pub(super) fn finish(
        &mut self,
        contents: &mut dyn Contents,
        scratch: &mut Bitmap,
    ) -> Result<(), RecoveryError> {
        while let Some(first) = self.early.pop_first() {
            self.next = do_one(contents, first, scratch)?;
        }
        Ok(())
    }
}

/// Does what was held back; the number after it.
fn do_one(
    contents: &mut dyn Contents,
    (order, (what, digests)): (u64, (u64, Vec<Digest>)),
    scratch: &mut Bitmap,
) -> Result<u64, RecoveryError> {
    contents.replay_ordered(order, what, &digests, scratch)?;
    Ok(order + digests.len() as u64)
}
