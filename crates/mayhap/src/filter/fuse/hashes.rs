//! The keys while a filter is built: mixed digests, in an order in which their slots are near.
//!
//! Sorted hashes would walk through the slots, but any order serves whose next hashes have slots in
//! the nearest cache: hashes are only parted by their leading bits. Equal ones are left in unless a
//! sample has some. They do no harm but that no seed serves, and are then removed.

use super::build::{seed, try_filled};
use super::slots::{mix, unmix};
use crate::Error;
use alloc::vec::Vec;

/// The most leading bits by which hashes are parted: as many parts as a core can write to at once
/// without waiting for most of the writes.
const MAX_PART_BITS: u32 = 11;
/// Hashes in a part, at least, if there are fewer parts: a few kilobytes.
const LOG2_PART: u32 = 8;

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
        let parts = hashes.part()?;
        // Of 32 parts one.
        let sample = &mut hashes.all[..parts[(parts.len() - 1) / 32]];
        sample.sort_unstable();
        if sample.windows(2).any(|pair| pair[0] == pair[1]) {
            hashes.remove_repeats();
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

    /// After a seed that did not serve: the same seed for distinct hashes, if they were not, or
    /// else the next one.
    ///
    /// # Errors
    ///
    /// [`Error::OutOfMemory`].
    pub(super) fn next(&mut self) -> Result<(), Error> {
        if !self.are_distinct && self.remove_repeats() {
            return Ok(());
        }
        let last_seed = self.seed();
        self.attempt += 1;
        let seed = self.seed();
        self.all.iter_mut().for_each(|hash| *hash = mix(unmix(*hash, last_seed), seed));
        self.part().map(drop)
    }

    /// The number of seeds that did not serve.
    pub(super) fn seeds_tried(&self) -> u32 {
        self.attempt
    }

    /// Whether there were any.
    fn remove_repeats(&mut self) -> bool {
        let len = self.all.len();
        self.all.sort_unstable();
        self.all.dedup();
        self.are_distinct = true;
        self.all.len() < len
    }

    /// Orders them by their leading bits; where each part ends.
    fn part(&mut self) -> Result<Vec<usize>, Error> {
        let len = self.all.len();
        let bits = len.max(1).ilog2().saturating_sub(LOG2_PART).clamp(1, MAX_PART_BITS);
        let part = |hash: u64| (hash >> (u64::BITS - bits)) as usize;
        let mut ends = try_filled(0, 1 << bits)?;
        for &hash in &self.all {
            ends[part(hash)] += 1;
        }
        let mut start = 0;
        for end in &mut ends {
            (*end, start) = (start, start + *end);
        }
        let mut parted = try_filled(0, len)?;
        for &hash in &self.all {
            let end = &mut ends[part(hash)];
            parted[*end] = hash;
            *end += 1;
        }
        self.all = parted;
        Ok(ends)
    }
}
