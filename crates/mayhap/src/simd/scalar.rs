//! The definition of the kernels, for every machine.

use super::Pairs;
use super::batch::{self, block_index};
#[cfg(not(target_family = "wasm"))]
use super::kernel::kernels;
use crate::Digest;
use crate::bits::Block;
use crate::positions::block_mask;
use crate::sync::{AtomicU64, Ordering};

#[cfg(not(target_family = "wasm"))]
kernels!("scalar");

#[inline(always)]
fn has_all(block: &Block, mask: [u64; 8]) -> bool {
    block.0.iter().zip(mask).fold(0, |missing, (lane, bits)| missing | (bits & !lane)) == 0
}

#[inline(always)]
fn set_all(block: &mut Block, mask: [u64; 8]) -> bool {
    let new = !has_all(block, mask);
    for (lane, bits) in block.0.iter_mut().zip(mask) {
        *lane |= bits;
    }
    new
}

pub(super) fn contains<const K: u32>(blocks: &[Block], digest: Digest) -> bool {
    has_all(&blocks[block_index(blocks, digest)], block_mask::<K>(digest))
}

pub(super) fn insert<const K: u32>(blocks: &mut [Block], digest: Digest) -> bool {
    let index = block_index(blocks, digest);
    set_all(&mut blocks[index], block_mask::<K>(digest))
}

pub(super) fn contains_batch<const K: u32>(
    blocks: &[Block],
    digests: &[Digest],
    found: &mut [u64],
) {
    batch::contains(blocks, digests, found, |block, digest| {
        has_all(block, block_mask::<K>(digest))
    });
}

pub(super) fn insert_batch<const K: u32>(
    blocks: &mut [Block],
    digests: &[Digest],
    new: &mut [u64],
) {
    batch::insert(blocks, digests, new, |block, digest| set_all(block, block_mask::<K>(digest)));
}

// Also used by instruction sets that have no load for words shared with other threads: these three.

#[inline(always)]
fn shared_has_all<const K: u32>(block: &[AtomicU64; 8], digest: Digest) -> bool {
    // ORDERING: Relaxed. A bit carries no data but itself.
    let words = core::array::from_fn(|i| block[i].load(Ordering::Relaxed));
    has_all(&Block(words), block_mask::<K>(digest))
}

pub(super) fn contains_shared<const K: u32>(words: &[AtomicU64], digest: Digest) -> bool {
    shared_has_all::<K>(batch::shared_block(words, digest), digest)
}

pub(super) fn contains_shared_group<const K: u32>(words: &[AtomicU64], digests: &[Digest]) -> u64 {
    batch::contains_shared_group(words, digests, shared_has_all::<K>)
}

pub(super) fn insert_shared<const K: u32>(
    words: &[AtomicU64],
    digest: Digest,
    pairs: Option<Pairs>,
) -> bool {
    let block = batch::shared_block(words, digest);
    let bits = block_mask::<K>(digest);
    // ORDERING: Relaxed. A stale word only shows a bit as missing that another thread has set;
    // `set_shared` detects that.
    let before = core::array::from_fn(|i| block[i].load(Ordering::Relaxed));
    !has_all(&Block(before), bits) && set_shared(block, before, bits, pairs)
}

/// Sets bits, at least one of which was missing in `before`; returns whether this thread set one.
#[inline(always)]
pub(super) fn set_shared(
    block: &[AtomicU64; 8],
    before: [u64; 8],
    bits: [u64; 8],
    pairs: Option<Pairs>,
) -> bool {
    if let Some(pairs) = pairs {
        return pairs.fetch_or(block, before, bits) != 0;
    }
    // One locked instruction per word, and only if a bit is missing: half of the bits of a new key
    // are already set.
    let is_missing = |i: &usize| bits[*i] & !before[*i] != 0;
    let mut missing = (0..8).filter(is_missing).fold(0u32, |missing, i| missing | 1 << i);
    let mut new = 0;
    while missing != 0 {
        let i = missing.trailing_zeros() as usize % 8;
        // ORDERING: Relaxed. A bit carries no data but itself and never returns to 0 while the
        // filter is shared, so no other memory has to become visible with it. `fetch_or` is one
        // read-modify-write: of two threads that set a bit, exactly one sees it clear before.
        new |= bits[i] & !block[i].fetch_or(bits[i], Ordering::Relaxed);
        missing &= missing - 1;
    }
    new != 0
}
