//! AVX-512: a block is one register.
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

kernels!("avx512");

/// Whether this CPU has AVX-512 F, BW, DQ, VL and BMI.
#[inline]
pub(super) fn is_available() -> bool {
    allows(InstructionSet::Avx512)
        && has_features!("avx512f", "avx512bw", "avx512dq", "avx512vl", "bmi1", "bmi2")
}

/// One bit per lane for one pass.
#[inline]
#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,bmi1,bmi2")]
fn lane_bits<const K: u32>(digest: Digest, pass: usize) -> __m512i {
    let shifts = const {
        let mut shifts = [0i64; 8];
        let mut word = 0;
        while word < 8 {
            shifts[word] = word_shifts::<K>()[word] as i64;
            word += 1;
        }
        shifts
    };
    let [a, b, c, d, e, f, g, h] = shifts;
    let product = digest.get().wrapping_mul(LANE_MULTIPLIERS[pass]);
    let slots = _mm512_srlv_epi64(
        _mm512_set1_epi64(product.cast_signed()),
        _mm512_setr_epi64(a, b, c, d, e, f, g, h),
    );
    let one = _mm512_set1_epi64(1);
    if K == 4 {
        let slots = _mm512_and_si512(slots, _mm512_set1_epi64(lane_slots::<K>().cast_signed() - 1));
        // In the word of its lane that a slot is not in, it is 64 or more: shifted out.
        let in_word = _mm512_xor_si512(slots, _mm512_setr_epi64(0, 64, 0, 64, 0, 64, 0, 64));
        return _mm512_sllv_epi64(one, in_word);
    }
    // A rotate takes its count modulo 64, so that the 6 bits need no mask.
    _mm512_rolv_epi64(one, slots)
}

#[inline]
#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,bmi1,bmi2")]
fn load(block: &Block) -> __m512i {
    // SAFETY: a `Block` is 64 bytes, aligned to 64.
    unsafe { _mm512_load_si512(core::ptr::from_ref(block).cast()) }
}

#[inline]
#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,bmi1,bmi2")]
fn words_of(register: __m512i) -> [u64; 8] {
    let mut block = Block::default();
    // SAFETY: a `Block` is 64 bytes, aligned to 64, and this one is ours to write.
    unsafe { _mm512_store_si512(core::ptr::from_mut(&mut block).cast(), register) };
    block.0
}

/// The words that do not have all of the bits of one pass.
#[inline]
#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,bmi1,bmi2")]
fn missing<const K: u32>(words: __m512i, bits: __m512i) -> __mmask8 {
    if K == 4 {
        let missing = _mm512_andnot_si512(words, bits);
        return _mm512_test_epi64_mask(missing, missing);
    }
    // `testn` is 1 where the and is 0; with one bit per word that is: the bit is not set.
    _mm512_testn_epi64_mask(words, bits)
}

/// The words in which the digest's bits are not all set.
#[inline]
#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,bmi1,bmi2")]
fn missing_words<const K: u32>(words: __m512i, digest: Digest) -> __mmask8 {
    let mut words_missing = missing::<K>(words, lane_bits::<K>(digest, 0));
    if K == 16 {
        words_missing |= missing::<K>(words, lane_bits::<K>(digest, 1));
    }
    words_missing
}

/// Sets the digest's bits; the words in which one was new.
#[inline]
#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,bmi1,bmi2")]
fn set_bits<const K: u32>(block: &mut Block, digest: Digest) -> __mmask8 {
    let words = load(block);
    let mut bits = lane_bits::<K>(digest, 0);
    let mut words_missing = missing::<K>(words, bits);
    if K == 16 {
        let more = lane_bits::<K>(digest, 1);
        words_missing |= missing::<K>(words, more);
        bits = _mm512_or_si512(bits, more);
    }
    // SAFETY: a `Block` is 64 bytes, aligned to 64, and ours to write.
    unsafe {
        _mm512_store_si512(core::ptr::from_mut(block).cast(), _mm512_or_si512(words, bits));
    }
    words_missing
}

#[inline]
#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,bmi1,bmi2")]
fn contains<const K: u32>(blocks: &[Block], digest: Digest) -> bool {
    missing_words::<K>(load(&blocks[block_index(blocks, digest)]), digest) == 0
}

#[inline]
#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,bmi1,bmi2")]
fn insert<const K: u32>(blocks: &mut [Block], digest: Digest) -> bool {
    let index = block_index(blocks, digest);
    set_bits::<K>(&mut blocks[index], digest) != 0
}

#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,bmi1,bmi2")]
fn contains_batch<const K: u32>(blocks: &[Block], digests: &[Digest], found: &mut [u64]) {
    // Each key's missing words are a byte; 64 bytes are compared with 0 at once.
    let mut missing = Block([u64::MAX; 8]);
    batch::for_each_group(
        &mut { blocks },
        |blocks| blocks,
        digests,
        |blocks, i, group| {
            let bytes: &mut [u8] = bytemuck::bytes_of_mut(&mut missing);
            for (byte, &digest) in bytes.iter_mut().zip(group) {
                let block = &blocks[block_index(blocks, digest)];
                *byte = missing_words::<K>(load(block), digest);
            }
            found[i] |=
                _mm512_testn_epi8_mask(load(&missing), load(&missing)) & low_bits(group.len());
        },
    );
}

#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,bmi1,bmi2")]
fn insert_batch<const K: u32>(blocks: &mut [Block], digests: &[Digest], new: &mut [u64]) {
    let mut missing = Block::default();
    batch::for_each_group(
        &mut { blocks },
        |blocks| blocks,
        digests,
        |blocks, i, group| {
            let bytes: &mut [u8] = bytemuck::bytes_of_mut(&mut missing);
            for (byte, &digest) in bytes.iter_mut().zip(group) {
                let index = block_index(blocks, digest);
                *byte = set_bits::<K>(&mut blocks[index], digest);
            }
            new[i] |= _mm512_test_epi8_mask(load(&missing), load(&missing)) & low_bits(group.len());
        },
    );
}

#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,bmi1,bmi2")]
fn contains_shared<const K: u32>(words: &[AtomicU64], digest: Digest) -> bool {
    missing_words::<K>(shared::whole(batch::shared_block(words, digest)), digest) == 0
}

#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,bmi1,bmi2")]
fn contains_shared_group<const K: u32>(words: &[AtomicU64], digests: &[Digest]) -> u64 {
    assert!(digests.len() <= batch::GROUP, "one word of answers");
    // As in `contains_batch`; lanes without a key stay missing.
    let mut missing = Block([u64::MAX; 8]);
    for (byte, &digest) in bytemuck::bytes_of_mut(&mut missing).iter_mut().zip(digests) {
        let block = batch::shared_block(words, digest);
        *byte = missing_words::<K>(shared::whole(block), digest);
    }
    _mm512_testn_epi8_mask(load(&missing), load(&missing))
}

#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,bmi1,bmi2")]
fn insert_shared<const K: u32>(words: &[AtomicU64], digest: Digest, pairs: Option<Pairs>) -> bool {
    let block = batch::shared_block(words, digest);
    let before = shared::whole(block);
    let mut bits = lane_bits::<K>(digest, 0);
    let mut words_missing = missing::<K>(before, bits);
    if K == 16 {
        let more = lane_bits::<K>(digest, 1);
        words_missing |= missing::<K>(before, more);
        bits = _mm512_or_si512(bits, more);
    }
    words_missing != 0 && set_shared(block, words_of(before), words_of(bits), pairs)
}

/// `len` low bits, for `len` from 1 to 64.
#[inline(always)]
fn low_bits(len: usize) -> u64 {
    u64::MAX >> (batch::GROUP - len)
}
