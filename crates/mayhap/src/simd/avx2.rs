//! AVX2: a block is two registers of four words.
#![expect(unsafe_code, reason = "vector intrinsics; detection proves the CPU has them")]

use super::batch::{self, block_index};
use super::kernel::kernels;
use super::limit::{InstructionSet, allows};
use super::scalar::set_shared;
use super::{Pairs, shared};
use crate::Digest;
use crate::bits::Block;
use crate::positions::{LANE_MULTIPLIERS, lane_slots, word_shifts};
use crate::sync::AtomicU64;
#[allow(clippy::wildcard_imports, reason = "a list of intrinsics says nothing")]
use core::arch::x86_64::*;

kernels!("avx2");

/// Whether this CPU has AVX2 and BMI.
#[inline]
pub(super) fn is_available() -> bool {
    allows(InstructionSet::Avx2) && has_features!("avx2", "bmi1", "bmi2")
}

/// One bit per lane for one pass, words 0–3 and 4–7.
#[inline]
#[target_feature(enable = "avx2,bmi1,bmi2")]
fn lane_bits<const K: u32>(digest: Digest, pass: usize) -> [__m256i; 2] {
    let product = digest.get().wrapping_mul(LANE_MULTIPLIERS[pass]);
    let product = _mm256_set1_epi64x(product.cast_signed());
    [0, 4].map(|first| {
        let [a, b, c, d] = core::array::from_fn(|i| i64::from(word_shifts::<K>()[first + i]));
        let shifted = _mm256_srlv_epi64(product, _mm256_setr_epi64x(a, b, c, d));
        let last_slot = (lane_slots::<K>() - 1).cast_signed();
        let mut slots = _mm256_and_si256(shifted, _mm256_set1_epi64x(last_slot));
        if K == 4 {
            // In the word of its lane that a slot is not in, it is 64 or more: shifted out.
            slots = _mm256_xor_si256(slots, _mm256_setr_epi64x(0, 64, 0, 64));
        }
        _mm256_sllv_epi64(_mm256_set1_epi64x(1), slots)
    })
}

#[inline]
#[target_feature(enable = "avx2,bmi1,bmi2")]
fn mask<const K: u32>(digest: Digest) -> [__m256i; 2] {
    let [low, high] = lane_bits::<K>(digest, 0);
    if K != 16 {
        return [low, high];
    }
    let [more_low, more_high] = lane_bits::<K>(digest, 1);
    [_mm256_or_si256(low, more_low), _mm256_or_si256(high, more_high)]
}

#[inline]
#[target_feature(enable = "avx2,bmi1,bmi2")]
fn load(block: &Block) -> [__m256i; 2] {
    let halves: *const __m256i = core::ptr::from_ref(block).cast();
    // SAFETY: a `Block` is 64 bytes, aligned to 64: two aligned halves.
    unsafe { [_mm256_load_si256(halves), _mm256_load_si256(halves.add(1))] }
}

#[inline]
#[target_feature(enable = "avx2,bmi1,bmi2")]
fn has_all<const K: u32>([a, b]: [__m256i; 2], digest: Digest) -> bool {
    let [mask_a, mask_b] = mask::<K>(digest);
    let missing = _mm256_or_si256(_mm256_andnot_si256(a, mask_a), _mm256_andnot_si256(b, mask_b));
    _mm256_testz_si256(missing, missing) == 1
}

#[inline]
#[target_feature(enable = "avx2,bmi1,bmi2")]
fn set_all<const K: u32>(block: &mut Block, digest: Digest) -> bool {
    let ([a, b], [mask_a, mask_b]) = (load(block), mask::<K>(digest));
    let missing = _mm256_or_si256(_mm256_andnot_si256(a, mask_a), _mm256_andnot_si256(b, mask_b));
    let halves: *mut __m256i = core::ptr::from_mut(block).cast();
    // SAFETY: a `Block` is 64 bytes, aligned to 64, and ours to write.
    unsafe {
        _mm256_store_si256(halves, _mm256_or_si256(a, mask_a));
        _mm256_store_si256(halves.add(1), _mm256_or_si256(b, mask_b));
    }
    _mm256_testz_si256(missing, missing) == 0
}

#[inline]
#[target_feature(enable = "avx2,bmi1,bmi2")]
fn contains<const K: u32>(blocks: &[Block], digest: Digest) -> bool {
    has_all::<K>(load(&blocks[block_index(blocks, digest)]), digest)
}

#[inline]
#[target_feature(enable = "avx2,bmi1,bmi2")]
fn insert<const K: u32>(blocks: &mut [Block], digest: Digest) -> bool {
    let index = block_index(blocks, digest);
    set_all::<K>(&mut blocks[index], digest)
}

#[target_feature(enable = "avx2,bmi1,bmi2")]
fn contains_batch<const K: u32>(blocks: &[Block], digests: &[Digest], found: &mut [u64]) {
    batch::contains(blocks, digests, found, |block, digest| has_all::<K>(load(block), digest));
}

#[target_feature(enable = "avx2,bmi1,bmi2")]
fn insert_batch<const K: u32>(blocks: &mut [Block], digests: &[Digest], new: &mut [u64]) {
    batch::insert(blocks, digests, new, |block, digest| set_all::<K>(block, digest));
}

#[target_feature(enable = "avx2,bmi1,bmi2")]
fn contains_shared<const K: u32>(words: &[AtomicU64], digest: Digest) -> bool {
    has_all::<K>(shared::halves(batch::shared_block(words, digest)), digest)
}

#[target_feature(enable = "avx2,bmi1,bmi2")]
fn contains_shared_group<const K: u32>(words: &[AtomicU64], digests: &[Digest]) -> u64 {
    batch::contains_shared_group(words, digests, |block, digest| {
        has_all::<K>(shared::halves(block), digest)
    })
}

#[target_feature(enable = "avx2,bmi1,bmi2")]
fn insert_shared<const K: u32>(words: &[AtomicU64], digest: Digest, pairs: Option<Pairs>) -> bool {
    let block = batch::shared_block(words, digest);
    let before = shared::halves(block);
    !has_all::<K>(before, digest) && {
        let (before, bits) = (bytemuck::cast(before), bytemuck::cast(mask::<K>(digest)));
        set_shared(block, before, bits, pairs)
    }
}
