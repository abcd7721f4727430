//! Plain code, the definition. Without bounds checks, which cost a seventh of an insertion.

use super::kernel::{Kernel, Range};
use crate::Digest;
use crate::positions::{self, PROBE_MULTIPLIERS};

pub(super) static KERNEL: Kernel = Kernel { name: "scalar", contains, contains_batch };

/// # Safety
///
/// As [`Kernel`]: `words` has at least `range.num_bits` bits.
#[inline(always)]
unsafe fn contains(words: &[u64], digest: Digest, range: Range) -> bool {
    let mut found = 1;
    for &multiplier in PROBE_MULTIPLIERS.iter().take(range.num_hashes as usize) {
        let position = positions::standard(digest, multiplier, range.num_bits);
        // SAFETY: positions are below `num_bits`, which the caller promises `words` to have.
        found &= unsafe { *words.get_unchecked((position / 64) as usize) } >> (position % 64);
    }
    found & 1 == 1
}

/// Only some of the probes, stopping at the first clear bit.
///
/// # Safety
///
/// `words` has at least `num_bits` bits.
#[inline(always)]
pub(super) unsafe fn has_all(
    words: &[u64],
    digest: Digest,
    num_bits: u64,
    multipliers: &[u64],
) -> bool {
    multipliers.iter().all(|&multiplier| {
        let position = positions::standard(digest, multiplier, num_bits);
        // SAFETY: positions are below `num_bits`, which the caller promises `words` to have.
        let word = unsafe { *words.get_unchecked((position / 64) as usize) };
        word >> (position % 64) & 1 == 1
    })
}

unsafe fn contains_batch(words: &[u64], digests: &[Digest], range: Range, found: &mut [u64]) {
    for (group, found) in digests.chunks(64).zip(found) {
        for (i, &digest) in group.iter().enumerate() {
            // SAFETY: as the caller promises.
            *found |= u64::from(unsafe { contains(words, digest, range) }) << i;
        }
    }
}

/// # Safety
///
/// `words` has at least `range.num_bits` bits.
#[inline(always)]
pub(super) unsafe fn insert(words: &mut [u64], digest: Digest, range: Range) -> bool {
    let mut found = 1;
    let mut set = |multiplier| {
        let position = positions::standard(digest, multiplier, range.num_bits);
        // SAFETY: positions are below `num_bits`, which the caller promises `words` to have.
        let word = unsafe { words.get_unchecked_mut((position / 64) as usize) };
        found &= *word >> (position % 64);
        *word |= 1 << (position % 64);
    };
    // Four at a time: the loop itself costs as much as a quarter of a probe.
    let (fours, rest) = PROBE_MULTIPLIERS[..range.num_hashes as usize].as_chunks::<4>();
    for &[a, b, c, d] in fours {
        set(a);
        set(b);
        set(c);
        set(d);
    }
    match *rest {
        [a] => set(a),
        [a, b] => {
            set(a);
            set(b);
        }
        [a, b, c] => {
            set(a);
            set(b);
            set(c);
        }
        _ => {}
    }
    found & 1 == 0
}
