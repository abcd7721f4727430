//! AVX-512: a block is one register.
#![expect(unsafe_code, reason = "vector intrinsics; detection proves the CPU has them")]

use super::{batch, block_index, kernels};
use crate::Digest;
use crate::bits::Block;
use crate::layout::positions::{LANE_MULTIPLIERS, LANE_SHIFTS};
#[allow(clippy::wildcard_imports, reason = "a list of intrinsics says nothing")]
use core::arch::x86_64::*;

kernels!("avx512");

/// Whether this CPU has AVX-512 F, BW, DQ, VL and BMI.
#[inline]
pub(super) fn is_available() -> bool {
    has_features!("avx512f", "avx512bw", "avx512dq", "avx512vl", "bmi1", "bmi2")
}

/// One bit per lane for one pass.
#[inline]
#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,bmi1,bmi2")]
fn lane_bits(digest: Digest, pass: usize) -> __m512i {
    let shifts = const {
        let mut shifts = [0i64; 8];
        let mut lane = 0;
        while lane < 8 {
            shifts[lane] = LANE_SHIFTS[lane] as i64;
            lane += 1;
        }
        shifts
    };
    let [a, b, c, d, e, f, g, h] = shifts;
    let product = digest.get().wrapping_mul(LANE_MULTIPLIERS[pass]);
    let positions = _mm512_srlv_epi64(
        _mm512_set1_epi64(product.cast_signed()),
        _mm512_setr_epi64(a, b, c, d, e, f, g, h),
    );
    // A rotate takes its count modulo 64, so that the 6 bits need no mask.
    _mm512_rolv_epi64(_mm512_set1_epi64(1), positions)
}

#[inline]
#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,bmi1,bmi2")]
fn load(block: &Block) -> __m512i {
    // SAFETY: a `Block` is 64 bytes, aligned to 64.
    unsafe { _mm512_load_si512(core::ptr::from_ref(block).cast()) }
}

/// The lanes in which the digest's bits are not all set.
#[inline]
#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,bmi1,bmi2")]
fn missing_lanes<const PASSES: usize>(block: &Block, digest: Digest) -> __mmask8 {
    let lanes = load(block);
    // `testn` is 1 where the and is 0; with one bit per lane that is: the bit is not set.
    let mut missing = _mm512_testn_epi64_mask(lanes, lane_bits(digest, 0));
    if PASSES == 2 {
        missing |= _mm512_testn_epi64_mask(lanes, lane_bits(digest, 1));
    }
    missing
}

/// Sets the digest's bits; the lanes in which one was new.
#[inline]
#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,bmi1,bmi2")]
fn set_bits<const PASSES: usize>(block: &mut Block, digest: Digest) -> __mmask8 {
    let lanes = load(block);
    let mut bits = lane_bits(digest, 0);
    let mut missing = _mm512_testn_epi64_mask(lanes, bits);
    if PASSES == 2 {
        let more = lane_bits(digest, 1);
        missing |= _mm512_testn_epi64_mask(lanes, more);
        bits = _mm512_or_si512(bits, more);
    }
    // SAFETY: a `Block` is 64 bytes, aligned to 64, and ours to write.
    unsafe {
        _mm512_store_si512(core::ptr::from_mut(block).cast(), _mm512_or_si512(lanes, bits));
    }
    missing
}

#[inline]
#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,bmi1,bmi2")]
fn contains<const PASSES: usize>(blocks: &[Block], digest: Digest) -> bool {
    missing_lanes::<PASSES>(&blocks[block_index(blocks, digest)], digest) == 0
}

#[inline]
#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,bmi1,bmi2")]
fn insert<const PASSES: usize>(blocks: &mut [Block], digest: Digest) -> bool {
    let index = block_index(blocks, digest);
    set_bits::<PASSES>(&mut blocks[index], digest) != 0
}

#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,bmi1,bmi2")]
fn contains_batch<const PASSES: usize>(blocks: &[Block], digests: &[Digest], found: &mut [u64]) {
    // Each key's missing lanes are a byte; 64 bytes are compared with 0 at once.
    let mut missing = Block([u64::MAX; 8]);
    batch::for_each_group(
        &mut { blocks },
        |blocks| blocks,
        digests,
        |blocks, i, group| {
            let bytes: &mut [u8] = bytemuck::bytes_of_mut(&mut missing);
            for (byte, &digest) in bytes.iter_mut().zip(group) {
                *byte = missing_lanes::<PASSES>(&blocks[block_index(blocks, digest)], digest);
            }
            found[i] |=
                _mm512_testn_epi8_mask(load(&missing), load(&missing)) & low_bits(group.len());
        },
    );
}

#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,bmi1,bmi2")]
fn insert_batch<const PASSES: usize>(blocks: &mut [Block], digests: &[Digest], new: &mut [u64]) {
    let mut missing = Block::default();
    batch::for_each_group(
        &mut { blocks },
        |blocks| blocks,
        digests,
        |blocks, i, group| {
            let bytes: &mut [u8] = bytemuck::bytes_of_mut(&mut missing);
            for (byte, &digest) in bytes.iter_mut().zip(group) {
                let index = block_index(blocks, digest);
                *byte = set_bits::<PASSES>(&mut blocks[index], digest);
            }
            new[i] |= _mm512_test_epi8_mask(load(&missing), load(&missing)) & low_bits(group.len());
        },
    );
}

/// `len` low bits, for `len` from 1 to 64.
#[inline(always)]
fn low_bits(len: usize) -> u64 {
    u64::MAX >> (batch::GROUP - len)
}
