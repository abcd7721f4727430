//! A filter that many threads fill and that says when it is full.

use super::InsertError;
use mayhap::{AnyFilter, Bitmap, Digest, SharedBlocks};
use std::sync::atomic::{AtomicU64, Ordering};

/// A filter that many threads fill and that says when it is full: `NONSCALING`.
///
/// A thread reserves room before it inserts, so the filter never counts more keys than show that it
/// holds those that it was made for.
#[derive(Debug)]
pub(super) struct Fixed {
    filter: AnyFilter<SharedBlocks>,
    capacity: u64,
    /// The count of keys inserted at which so many distinct ones are in, those that were taken for
    /// repeats among them.
    full_at: u64,
    /// Keys inserted, and places that threads reserved and will use or give back.
    taken: AtomicU64,
}

impl Fixed {
    /// With the keys that the filter has.
    pub(super) fn new(filter: AnyFilter, capacity: u64) -> Self {
        let taken = AtomicU64::new(filter.inserted_items());
        let full_at = filter.params().inserted_when_holding(capacity);
        Self { filter: filter.into_concurrent(), capacity, full_at, taken }
    }

    pub(super) const fn filter(&self) -> &AnyFilter<SharedBlocks> {
        &self.filter
    }

    pub(super) const fn capacity(&self) -> u64 {
        self.capacity
    }

    pub(super) fn items(&self) -> u64 {
        self.taken.load(Ordering::Relaxed)
    }

    fn reserve(&self, places: u64) -> bool {
        // ORDERING: Relaxed. The number guards no memory; a read-modify-write sees the last value,
        // so places are never granted twice.
        let more = |taken: u64| taken.checked_add(places).filter(|&sum| sum <= self.full_at);
        self.taken.fetch_update(Ordering::Relaxed, Ordering::Relaxed, more).is_ok()
    }

    fn give_back(&self, places: u64) {
        self.taken.fetch_sub(places, Ordering::Relaxed);
    }

    pub(super) fn insert(&self, digest: Digest) -> Result<bool, InsertError> {
        if self.filter.contains_digest(digest) {
            return Ok(false);
        }
        if !self.reserve(1) {
            // Another thread may have taken the last place, with this key.
            return if self.filter.contains_digest(digest) {
                Ok(false)
            } else {
                Err(InsertError::Full)
            };
        }
        let new = self.filter.insert_digest(digest);
        self.give_back(u64::from(!new));
        Ok(new)
    }

    /// Up to the first one for which there is no room.
    pub(super) fn insert_many(
        &self,
        digests: &[Digest],
        new: &mut Bitmap,
    ) -> Result<(), (usize, InsertError)> {
        let places = digests.len() as u64;
        if self.reserve(places) {
            self.filter.insert_digests_into(digests, new);
            self.give_back(places - new.count_ones() as u64);
            return Ok(());
        }
        new.clear_to(digests.len());
        for (i, &digest) in digests.iter().enumerate() {
            if self.insert(digest).map_err(|error| (i, error))? {
                new.set(i);
            }
        }
        Ok(())
    }
}
