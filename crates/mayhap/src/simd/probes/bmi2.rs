//! BMI2, which every CPU with AVX2 has: the scalar code with k known to the compiler.
//!
//! Then a probe is seven instructions, its multiplier being part of one of them, where the loop of
//! the scalar kernel takes sixteen: fewer instructions keep more queries in flight.

use super::kernel::{Range, Word, group};
use super::scalar::has_all;
use crate::Digest;
use crate::positions::{self, PROBE_MULTIPLIERS};
use core::hint::black_box;

/// The number of probes of a query that are read before the others: seven of eight absent keys need
/// no more if half of the bits are set. One branch is mispredicted once for eight keys, where a
/// branch for each probe is for most.
const FIRST: usize = 3;

/// # Safety
///
/// Same as [`Kernel`](super::kernel::Kernel), as all functions here.
#[target_feature(enable = "bmi1,bmi2")]
pub(super) unsafe fn contains_far<W: Word, const K: usize>(
    words: &[W],
    digest: Digest,
    range: &Range,
) -> bool {
    let (first, rest) = PROBE_MULTIPLIERS[..K].split_at(if K < FIRST { K } else { FIRST });
    // SAFETY: as the caller promises.
    unsafe {
        has_all(words, digest, range.num_bits, first)
            && has_all(words, digest, range.num_bits, rest)
    }
}

#[target_feature(enable = "bmi1,bmi2")]
pub(super) unsafe fn insert<const K: usize>(
    words: &mut [u64],
    digest: Digest,
    range: Range,
) -> bool {
    // SAFETY: as the caller promises.
    unsafe { set_all::<K>(words, digest, range, black_box(1)) }
}

#[target_feature(enable = "bmi1,bmi2")]
pub(super) unsafe fn insert_group<const K: usize>(
    words: &mut [u64],
    digests: &[Digest],
    range: Range,
) -> u64 {
    let one = black_box(1);
    // SAFETY: as the caller promises.
    group(digests, |digest| unsafe { set_all::<K>(words, digest, range, one) })
}

/// `one` is 1 without the compiler's knowledge, which would turn each bit into a `bts`: two steps
/// on AMD, and slower than a shift and an or. With all positions before the first write, this
/// takes a fifth off an insertion on Zen 4.
#[inline(always)]
unsafe fn set_all<const K: usize>(
    words: &mut [u64],
    digest: Digest,
    range: Range,
    one: u64,
) -> bool {
    let positions: [u64; K] =
        core::array::from_fn(|i| positions::standard(digest, PROBE_MULTIPLIERS[i], range.num_bits));
    let mut new = 0;
    for position in positions {
        // SAFETY: positions are below `num_bits`, which the caller promises `words` to have.
        let word = unsafe { words.get_unchecked_mut((position / 64) as usize) };
        let bit = one << (position % 64);
        new |= bit & !*word;
        *word |= bit;
    }
    new != 0
}
