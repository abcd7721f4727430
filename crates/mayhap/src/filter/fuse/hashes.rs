//! The keys while a filter is built: mixed digests, in an order in which their slots are near.
//!
//! Sorted hashes would walk through the slots, but any order will do in which neighbours have slots
//! in the nearest cache: hashes are only partitioned by their leading bits. Duplicates are left in
//! unless a sample has some. All that they do is to make every seed fail, and then they are
//! removed.

use super::build::{seed, try_filled};
use super::slots::{mix, unmix};
use crate::Error;
use alloc::vec::Vec;

/// The most leading bits by which hashes are partitioned: as many partitions as a core can write to
/// at once without waiting for most of the writes.
const MAX_PARTITION_BITS: u32 = 11;
/// Below that many partitions, the hashes in one: 2 to 4 KiB.
const LOG2_PARTITION: u32 = 8;

/// The mixed digests of all keys under the seed of an attempt.
pub(super) struct Hashes {
    all: Vec<u64>,
    attempt: u32,
    are_distinct: bool,
}

impl Hashes {
    /// Mixes these digests under the first seed.
    ///
    /// # Errors
    ///
    /// [`Error::OutOfMemory`].
    pub(super) fn new(digests: Vec<u64>) -> Result<Self, Error> {
        let mut hashes = Self { all: digests, attempt: 0, are_distinct: false };
        hashes.all.iter_mut().for_each(|hash| *hash = mix(*hash, seed(0)));
        let ends = hashes.partition()?;
        // One of 32 partitions.
        let sample = &mut hashes.all[..ends[(ends.len() - 1) / 32]];
        sample.sort_unstable();
        if sample.windows(2).any(|pair| pair[0] == pair[1]) {
            hashes.remove_duplicates();
        }
        Ok(hashes)
    }

    /// All of them; not all distinct, perhaps, until [`Hashes::next`].
    pub(super) fn all(&self) -> &[u64] {
        &self.all
    }

    /// The seed under which they are mixed.
    pub(super) fn seed(&self) -> u64 {
        seed(self.attempt)
    }

    /// After a seed that failed: the same seed without duplicates, if there were some, or else the
    /// next one.
    ///
    /// # Errors
    ///
    /// [`Error::OutOfMemory`].
    pub(super) fn next(&mut self) -> Result<(), Error> {
        if !self.are_distinct && self.remove_duplicates() {
            return Ok(());
        }
        let last_seed = self.seed();
        self.attempt += 1;
        let seed = self.seed();
        self.all.iter_mut().for_each(|hash| *hash = mix(unmix(*hash, last_seed), seed));
        self.partition().map(drop)
    }

    /// The number of seeds that failed.
    pub(super) fn seeds_tried(&self) -> u32 {
        self.attempt
    }

    /// Returns whether there were any.
    fn remove_duplicates(&mut self) -> bool {
        let len = self.all.len();
        self.all.sort_unstable();
        self.all.dedup();
        self.are_distinct = true;
        self.all.len() < len
    }

    /// Orders them by their leading bits; returns where each partition ends.
    fn partition(&mut self) -> Result<Vec<usize>, Error> {
        let len = self.all.len();
        let bits = len.max(1).ilog2().saturating_sub(LOG2_PARTITION).clamp(1, MAX_PARTITION_BITS);
        let partition = |hash: u64| (hash >> (u64::BITS - bits)) as usize;
        let mut ends = try_filled(0, 1 << bits)?;
        for &hash in &self.all {
            ends[partition(hash)] += 1;
        }
        let mut start = 0;
        for end in &mut ends {
            (*end, start) = (start, start + *end);
        }
        let mut ordered = try_filled(0, len)?;
        for &hash in &self.all {
            let end = &mut ends[partition(hash)];
            ordered[*end] = hash;
            *end += 1;
        }
        self.all = ordered;
        Ok(ends)
    }
}
