//! Replays records of a filter whose changes are ordered: by their order numbers, whatever their
//! order in the log.
//!
//! Threads number their changes to a filter under its lock, and write them at the end of their
//! turns, so the log may have them in another order. A record that arrives too early is held back
//! until the ones before it have arrived. A number that never arrives belongs to a refused turn:
//! the records held back behind it are applied at the end of the log.

use super::RecoveryError;
use super::kind::Contents;
use mayhap::{Bitmap, Digest};
use std::collections::BTreeMap;

/// The position of a filter in its own order, and records that arrived too early. Memory: the
/// digests that are held back, 8 bytes each; under load some hundred per filter, and at most its
/// part of the log.
#[derive(Debug, Default)]
pub(super) struct InOrder {
    next: u64,
    early: BTreeMap<u64, (u64, Vec<Digest>)>,
}

impl InOrder {
    /// The state after an image, which has all changes below its mark.
    pub(super) const fn after(mark: u64) -> Self {
        Self { next: mark, early: BTreeMap::new() }
    }

    /// Applies a record if it is next in order, or keeps it for later.
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

    /// At the end of the log: applies the rest, in order.
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

/// Applies a record that was held back; returns the next number.
fn do_one(
    contents: &mut dyn Contents,
    (order, (what, digests)): (u64, (u64, Vec<Digest>)),
    scratch: &mut Bitmap,
) -> Result<u64, RecoveryError> {
    contents.replay_ordered(order, what, &digests, scratch)?;
    Ok(order + digests.len() as u64)
}
