//! NEON: a block is four registers of two words.
#![expect(unsafe_code, reason = "vector intrinsics; detection proves the CPU has them")]

use super::batch::{self, block_index};
use super::kernel::kernels;
use super::limit::{InstructionSet, allows};
use super::scalar::{contains_shared, contains_shared_group, insert_shared};
use crate::Digest;
use crate::bits::Block;
use crate::positions::{LANE_MULTIPLIERS, lane_slots, word_shifts};
#[allow(clippy::wildcard_imports, reason = "a list of intrinsics says nothing")]
use core::arch::aarch64::*;

kernels!("neon");

/// Whether this CPU has NEON.
#[inline]
pub(super) fn is_available() -> bool {
    allows(InstructionSet::Neon) && has_features!("neon")
}

/// One bit per lane for one pass, two words a register.
#[inline]
#[target_feature(enable = "neon")]
fn lane_bits<const K: u32>(digest: Digest, pass: usize) -> [uint64x2_t; 4] {
    let product = vdupq_n_u64(digest.get().wrapping_mul(LANE_MULTIPLIERS[pass]));
    [0, 2, 4, 6].map(|first| {
        // NEON shifts left by negative counts to shift right.
        let [a, b] = [0, 1].map(|i| -i64::from(word_shifts::<K>()[first + i]));
        let shifts = vcombine_s64(vdup_n_s64(a), vdup_n_s64(b));
        let last_slot = vdupq_n_u64(lane_slots::<K>() - 1);
        let mut slots = vandq_u64(vshlq_u64(product, shifts), last_slot);
        if K == 4 {
            // In the word of its lane that a slot is not in, it is 64 or more: shifted out.
            slots = veorq_u64(slots, vcombine_u64(vdup_n_u64(0), vdup_n_u64(64)));
        }
        vshlq_u64(vdupq_n_u64(1), vreinterpretq_s64_u64(slots))
    })
}

#[inline]
#[target_feature(enable = "neon")]
fn mask<const K: u32>(digest: Digest) -> [uint64x2_t; 4] {
    let mut mask = lane_bits::<K>(digest, 0);
    if K == 16 {
        for (one, more) in mask.iter_mut().zip(lane_bits::<K>(digest, 1)) {
            *one = vorrq_u64(*one, more);
        }
    }
    mask
}

#[inline]
#[target_feature(enable = "neon")]
fn load(block: &Block) -> [uint64x2_t; 4] {
    // SAFETY: each index is the first of two words inside the block.
    [0, 2, 4, 6].map(|first| unsafe { vld1q_u64(block.0.as_ptr().add(first)) })
}

/// Whether any bit of `mask` is not set in `lanes`.
#[inline]
#[target_feature(enable = "neon")]
fn is_missing(lanes: [uint64x2_t; 4], mask: [uint64x2_t; 4]) -> bool {
    let [a, b, c, d] = core::array::from_fn(|i| vbicq_u64(mask[i], lanes[i]));
    let missing = vorrq_u64(vorrq_u64(a, b), vorrq_u64(c, d));
    vmaxvq_u32(vreinterpretq_u32_u64(missing)) != 0
}

#[inline]
#[target_feature(enable = "neon")]
fn has_all<const K: u32>(block: &Block, digest: Digest) -> bool {
    !is_missing(load(block), mask::<K>(digest))
}

#[inline]
#[target_feature(enable = "neon")]
fn set_all<const K: u32>(block: &mut Block, digest: Digest) -> bool {
    let (lanes, mask) = (load(block), mask::<K>(digest));
    for (i, (&old, &bits)) in lanes.iter().zip(&mask).enumerate() {
        // SAFETY: words `2 i` and `2 i + 1` are inside the block, which is ours to write.
        unsafe { vst1q_u64(block.0.as_mut_ptr().add(2 * i), vorrq_u64(old, bits)) };
    }
    is_missing(lanes, mask)
}

#[inline]
#[target_feature(enable = "neon")]
fn contains<const K: u32>(blocks: &[Block], digest: Digest) -> bool {
    has_all::<K>(&blocks[block_index(blocks, digest)], digest)
}

#[inline]
#[target_feature(enable = "neon")]
fn insert<const K: u32>(blocks: &mut [Block], digest: Digest) -> bool {
    let index = block_index(blocks, digest);
    set_all::<K>(&mut blocks[index], digest)
}

#[target_feature(enable = "neon")]
fn contains_batch<const K: u32>(blocks: &[Block], digests: &[Digest], found: &mut [u64]) {
    batch::contains(blocks, digests, found, |block, digest| has_all::<K>(block, digest));
}

#[target_feature(enable = "neon")]
fn insert_batch<const K: u32>(blocks: &mut [Block], digests: &[Digest], new: &mut [u64]) {
    batch::insert(blocks, digests, new, |block, digest| set_all::<K>(block, digest));
}
