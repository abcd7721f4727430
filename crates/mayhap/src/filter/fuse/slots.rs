//! Digest → three slots and a fingerprint: plain arithmetic, the same in every language.

use crate::positions::mulhi;
use crate::sizing::fuse::Segments;

/// The multiplier from which the places in the segments and the fingerprint are computed.
pub(super) const MULTIPLIER: u64 = 0x9E37_79B9_7F4A_7C15;
/// The multiplier from which a fingerprint of any width is computed.
const LONG_MULTIPLIER: u64 = 0xD6E8_FEB8_6659_FD93;

/// The digest under a seed, as 64 bits without a pattern for any digests chosen without regard to
/// the seeds: `fmix64(digest + seed)` (`MurmurHash3`'s finaliser, Appleby 2011).
///
/// A bijection, so that equal digests, and only those, stay equal.
#[inline(always)]
pub(in crate::filter) const fn mix(digest: u64, seed: u64) -> u64 {
    let z = digest.wrapping_add(seed);
    let z = (z ^ (z >> 33)).wrapping_mul(0xFF51_AFD7_ED55_8CCD);
    let z = (z ^ (z >> 33)).wrapping_mul(0xC4CE_B9FE_1A85_EC53);
    z ^ (z >> 33)
}

/// The digest from which [`mix`] computed `hash`.
pub(in crate::filter) const fn unmix(hash: u64, seed: u64) -> u64 {
    // Shifts by more than half are their own inverse; the factors are inverse modulo 2^64.
    let z = (hash ^ (hash >> 33)).wrapping_mul(0x9CB4_B2F8_1293_37DB);
    let z = (z ^ (z >> 33)).wrapping_mul(0x4F74_430C_22A5_4005);
    (z ^ (z >> 33)).wrapping_sub(seed)
}

/// The values computed once from the segments and used for every key.
#[derive(Debug, Clone, Copy)]
pub(super) struct Places {
    /// The number of slots that can be a key's first.
    first_slots: u64,
    length: u64,
}

impl Places {
    pub(super) const fn new(segments: Segments) -> Self {
        Self {
            first_slots: segments.count << segments.log2_length,
            length: 1 << segments.log2_length,
        }
    }

    /// The three slots of a mixed digest, in three neighbouring segments: the first from the top of
    /// the hash, the places in the other two from an odd multiple of it. They are in the order of
    /// the hashes, so sorted keys walk through the slots.
    #[inline(always)]
    pub(super) const fn slots(self, hash: u64) -> [u64; 3] {
        let product = hash.wrapping_mul(MULTIPLIER);
        let mask = self.length - 1;
        let first = mulhi(hash, self.first_slots);
        let second = (first + self.length) ^ (product >> 44 & mask);
        let third = (first + 2 * self.length) ^ (product >> 24 & mask);
        [first, second, third]
    }

    /// The slots of a mixed digest except `own`, in order.
    #[inline(always)]
    pub(super) const fn others(self, hash: u64, own: u64) -> [u64; 2] {
        let [first, second, third] = self.slots(hash);
        [if own == first { second } else { first }, if own == third { second } else { third }]
    }
}

/// The fingerprint of a mixed digest; width 8 takes the low byte. It uses bits of the product that
/// the slots do not use.
#[inline(always)]
pub(super) const fn fingerprint(hash: u64) -> u16 {
    (hash.wrapping_mul(MULTIPLIER) >> 8) as u16
}

/// The fingerprint of a mixed digest for the other widths, which take its low bits: the upper half
/// of another product, since the first has too few bits that the slots leave.
#[inline(always)]
pub(super) const fn long_fingerprint(hash: u64) -> u64 {
    hash.wrapping_mul(LONG_MULTIPLIER) >> 32
}
