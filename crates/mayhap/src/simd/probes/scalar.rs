//! Plain code, the definition. Without bounds checks, which cost a seventh of an insertion.

use super::kernel::{Contains, Kernel, Range, Word, bit, group};
use crate::Digest;
use crate::positions::{self, PROBE_MULTIPLIERS};

pub(super) const KERNEL: Kernel = Kernel {
    name: "scalar",
    contains: Contains { near: contains, far: contains_far, group: contains_group },
    contains_shared: Contains { near: contains, far: contains_far, group: contains_group },
    insert,
    insert_group,
};

/// Whether all bits of these probes are set; reads all of them.
///
/// # Safety
///
/// `words` has at least `num_bits` bits.
#[inline(always)]
pub(super) unsafe fn has_all<W: Word>(
    words: &[W],
    digest: Digest,
    num_bits: u64,
    multipliers: &[u64],
) -> bool {
    let mut found = 1;
    for &multiplier in multipliers {
        let position = positions::standard(digest, multiplier, num_bits);
        // SAFETY: positions are below `num_bits`, which the caller promises `words` to have.
        found &= unsafe { bit(words, position) };
    }
    found & 1 == 1
}

/// Same as [`has_all`], stopping at the first clear bit.
///
/// # Safety
///
/// Same as [`has_all`].
#[inline(always)]
pub(super) unsafe fn has_each<W: Word>(
    words: &[W],
    digest: Digest,
    num_bits: u64,
    multipliers: &[u64],
) -> bool {
    multipliers.iter().all(|&multiplier| {
        let position = positions::standard(digest, multiplier, num_bits);
        // SAFETY: as in `has_all`.
        let bit = unsafe { bit(words, position) };
        bit & 1 == 1
    })
}

#[inline(always)]
fn multipliers(range: &Range) -> &'static [u64] {
    &PROBE_MULTIPLIERS[..range.num_hashes as usize]
}

unsafe fn contains<W: Word>(words: &[W], digest: Digest, range: &Range) -> bool {
    // SAFETY: as the caller promises.
    unsafe { has_all(words, digest, range.num_bits, multipliers(range)) }
}

unsafe fn contains_far<W: Word>(words: &[W], digest: Digest, range: &Range) -> bool {
    // SAFETY: as the caller promises.
    unsafe { has_each(words, digest, range.num_bits, multipliers(range)) }
}

unsafe fn contains_group<W: Word>(words: &[W], digests: &[Digest], range: &Range) -> u64 {
    // SAFETY: as the caller promises.
    group(digests, |digest| unsafe { contains(words, digest, range) })
}

unsafe fn insert_group(words: &mut [u64], digests: &[Digest], range: Range) -> u64 {
    // SAFETY: as the caller promises.
    group(digests, |digest| unsafe { insert(words, digest, range) })
}

unsafe fn insert(words: &mut [u64], digest: Digest, range: Range) -> bool {
    let mut found = 1;
    let mut set = |multiplier| {
        let position = positions::standard(digest, multiplier, range.num_bits);
        // SAFETY: positions are below `num_bits`, which the caller promises `words` to have.
        let word = unsafe { words.get_unchecked_mut((position / 64) as usize) };
        found &= *word >> (position % 64);
        *word |= 1 << (position % 64);
    };
    // Four at a time: the loop itself costs as much as a quarter of a probe.
    let (fours, rest) = multipliers(&range).as_chunks::<4>();
    for &[a, b, c, d] in fours {
        set(a);
        set(b);
        set(c);
        set(d);
    }
    for &multiplier in rest {
        set(multiplier);
    }
    found & 1 == 0
}
