//! The loops around a kernel: groups of 64 keys, with the next group's cache lines requested while
//! this one is answered.

use super::{fits_cache, prefetch};
use crate::Digest;
use crate::bits::Block;
use crate::positions;
use crate::sync::AtomicU64;

/// Keys per group: one word of answers, and as many lines in flight as a core can have.
pub(super) const GROUP: usize = 64;

/// Calls `answer(group, digests)` for each group of 64, after requesting its lines one group
/// earlier.
///
/// `inline(always)`, and so are the closures: they become part of the caller, which may be compiled
/// for more instructions than this crate.
#[inline(always)]
pub(super) fn for_each_group<B>(
    blocks: &mut B,
    view: impl Fn(&B) -> &[Block],
    digests: &[Digest],
    mut answer: impl FnMut(&mut B, usize, &[Digest]),
) {
    if fits_cache(view(blocks).len()) {
        for (i, group) in digests.chunks(GROUP).enumerate() {
            answer(blocks, i, group);
        }
        return;
    }
    let mut groups = digests.chunks(GROUP);
    let mut next = groups.next();
    prefetch_group(view(blocks), next.unwrap_or_default());
    let mut i = 0;
    while let Some(group) = next {
        next = groups.next();
        prefetch_group(view(blocks), next.unwrap_or_default());
        answer(blocks, i, group);
        i += 1;
    }
}

#[inline(always)]
fn prefetch_group(blocks: &[Block], digests: &[Digest]) {
    for &digest in digests {
        prefetch(blocks, block_index(blocks, digest));
    }
}

/// Calls `contains` for each digest and its block, and sets the digest's bit of `found` if it
/// returns `true`.
#[inline(always)]
pub(crate) fn contains(
    blocks: &[Block],
    digests: &[Digest],
    found: &mut [u64],
    contains: impl Fn(&Block, Digest) -> bool,
) {
    for_each_group(
        &mut { blocks },
        |blocks| blocks,
        digests,
        |blocks, i, group| {
            let mut word = 0;
            for (bit, &digest) in group.iter().enumerate() {
                let block = &blocks[block_index(blocks, digest)];
                word |= u64::from(contains(block, digest)) << bit;
            }
            found[i] |= word;
        },
    );
}

/// Same as `contains`, with writable blocks.
#[inline(always)]
pub(crate) fn insert(
    blocks: &mut [Block],
    digests: &[Digest],
    new: &mut [u64],
    insert: impl Fn(&mut Block, Digest) -> bool,
) {
    for_each_group(
        &mut { blocks },
        |blocks| blocks,
        digests,
        |blocks, i, group| {
            let mut word = 0;
            for (bit, &digest) in group.iter().enumerate() {
                let index = block_index(blocks, digest);
                word |= u64::from(insert(&mut blocks[index], digest)) << bit;
            }
            new[i] |= word;
        },
    );
}

/// Calls `contains` for up to 64 digests and their blocks, which other threads may be writing to.
#[inline(always)]
pub(super) fn contains_shared_group(
    words: &[AtomicU64],
    digests: &[Digest],
    contains: impl Fn(&[AtomicU64; 8], Digest) -> bool,
) -> u64 {
    assert!(digests.len() <= GROUP, "one word of answers");
    let mut found = 0;
    for (bit, &digest) in digests.iter().enumerate() {
        found |= u64::from(contains(shared_block(words, digest), digest)) << bit;
    }
    found
}

/// The block of a digest, which other threads may be writing to.
#[inline(always)]
pub(super) fn shared_block(words: &[AtomicU64], digest: Digest) -> &[AtomicU64; 8] {
    let (blocks, _) = words.as_chunks::<8>();
    &blocks[positions::block(digest, blocks.len() as u64) as usize]
}

/// The block index of a digest: always below `blocks.len()`, which must not be 0.
#[inline(always)]
pub(super) fn block_index(blocks: &[Block], digest: Digest) -> usize {
    positions::block(digest, blocks.len() as u64) as usize
}
