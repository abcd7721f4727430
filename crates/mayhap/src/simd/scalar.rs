//! The definition of the kernels, for every machine.

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

/// Also used by instruction sets that have no load for words shared with other threads.
pub(super) fn contains_shared<const K: u32>(words: &[AtomicU64], digests: &[Digest]) -> u64 {
    batch::contains_shared(words, digests, |block, digest| {
        // ORDERING: Relaxed. A bit carries no data but itself.
        let words = core::array::from_fn(|i| block[i].load(Ordering::Relaxed));
        has_all(&Block(words), block_mask::<K>(digest))
    })
}
