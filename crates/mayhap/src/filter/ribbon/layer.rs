//! A layer: digest → place, and what its slots answer.

use super::params::{Digests, starts};
use crate::positions::{LANE_MULTIPLIERS, PROBE_MULTIPLIERS, mulhi};
use crate::simd::{Lines, PLANES, PlaneKernel};
use crate::sizing::ribbon::{BUCKET_SEGMENTS, CODES_IN_WORD};
use alloc::vec::Vec;

/// Slots in a bucket, whose keys share a threshold.
pub(super) const BUCKET: usize = BUCKET_SEGMENTS as usize * 64;
/// The thresholds of a bucket by its code of three bits: keys that begin at a lower place in it go
/// to the next layer.
pub(super) const THRESHOLDS: [usize; 8] = [0, 8, 16, 24, 36, 52, 80, BUCKET];
/// Codes in a word.
pub(super) const CODES: usize = CODES_IN_WORD as usize;
/// The digests with fingerprints of one width, and their layers.
#[derive(Debug, Clone)]
pub(super) struct Part {
    /// The lowest digest.
    pub(super) first: u64,
    pub(super) bits: u32,
    pub(super) layers: Vec<Layer>,
}

/// The values computed once for a layer and used for every key.
#[derive(Debug, Clone, Copy)]
pub(super) struct Layer {
    /// By which a number below 2^64 becomes a place.
    factor: u64,
    /// By which a mixed digest becomes such a number; 0 in the first layer, which takes the digest.
    multiplier: u64,
    pub(super) segments: usize,
    /// Where its slots begin, in words of 64 bits.
    pub(super) words_at: usize,
    /// Where its thresholds begin.
    pub(super) codes_at: usize,
}

/// A key's equation: the coefficients of the 64 slots from its place on, and the fingerprint that
/// their sum has to be.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Row {
    pub(super) coefficients: u64,
    pub(super) fingerprint: u32,
}

impl Row {
    /// The equation of a mixed digest. Its first coefficient is 1.
    #[inline(always)]
    pub(super) const fn of(mixed: u64) -> Self {
        let fingerprint = (mixed.wrapping_mul(LANE_MULTIPLIERS[1]) >> 32) as u32;
        Self { coefficients: mixed | 1, fingerprint }
    }

    /// Whether the slots of a group of planes, from this place on, give these bits of the
    /// fingerprint: eight, but for the last group. Of 256 absent keys 255 differ in the first.
    #[inline(always)]
    pub(super) fn agrees<K: PlaneKernel>(
        self,
        words: &[u64],
        lines: Lines,
        place: usize,
        group: usize,
    ) -> bool {
        let fingerprint = self.fingerprint >> (group * PLANES);
        K::agrees(words, lines, (place % 64) as u32, self.coefficients, fingerprint)
    }
}

impl Layer {
    pub(super) fn new(
        number: usize,
        segments: u64,
        digests: &Digests,
        words_at: usize,
        codes_at: usize,
    ) -> Self {
        let starts = starts(segments);
        let (factor, multiplier) = if number == 0 {
            // The digests of the part over all places: below 2^64, as there are fewer places.
            ((u128::from(starts) << 64).checked_div(digests.range).unwrap_or(0), 0)
        } else {
            (starts.into(), PROBE_MULTIPLIERS[number])
        };
        let factor = u64::try_from(factor).unwrap_or(u64::MAX);
        Self { factor, multiplier, segments: segments as usize, words_at, codes_at }
    }

    /// The place of a key in the first layer: its digest, less the lowest of the part.
    #[inline(always)]
    pub(super) const fn first_place(&self, digest: u64) -> usize {
        mulhi(digest, self.factor) as usize
    }

    /// The number from which the place in any other layer follows; they have the same order.
    #[inline(always)]
    pub(super) const fn hash(&self, mixed: u64) -> u64 {
        mixed.wrapping_mul(self.multiplier)
    }

    /// The place of a key in any other layer.
    #[inline(always)]
    pub(super) const fn place(&self, hash: u64) -> usize {
        mulhi(hash, self.factor) as usize
    }

    /// The factor that makes a mixed digest of its hash again.
    pub(super) const fn inverse(&self) -> u64 {
        // Newton's method: each step doubles the low bits that are right, 3 at first.
        let (odd, mut inverse, mut step) = (self.multiplier, self.multiplier, 0);
        while step < 5 {
            inverse = inverse.wrapping_mul(2u64.wrapping_sub(odd.wrapping_mul(inverse)));
            step += 1;
        }
        inverse
    }

    /// Whether keys at this place are in a later layer.
    #[inline(always)]
    pub(super) fn is_bumped(&self, words: &[u64], place: usize) -> bool {
        let bucket = place / BUCKET;
        let (word, shift) = (self.codes_at + bucket / CODES, 3 * (bucket % CODES));
        place % BUCKET < THRESHOLDS[(words[word] >> shift & 7) as usize]
    }

    /// Whether the slots from this place on give the row its fingerprint.
    #[inline(always)]
    pub(super) fn agrees<K: PlaneKernel>(
        &self,
        words: &[u64],
        place: usize,
        row: Row,
        bits: usize,
    ) -> bool {
        let mut groups = 0..bits.div_ceil(PLANES);
        groups.all(|group| row.agrees::<K>(words, self.lines(place, bits, group), place, group))
    }

    /// The words of a group of planes at this place: cache lines, but for the last group.
    #[inline(always)]
    pub(super) fn lines(&self, place: usize, bits: usize, group: usize) -> Lines {
        let planes = (bits - group * PLANES).min(PLANES);
        let low = self.words_at + group * PLANES * self.segments + place / 64 * planes;
        Lines { low, high: low + if place.is_multiple_of(64) { 0 } else { planes }, planes }
    }
}
