//! AVX-512: 8 positions in one register, their words by scalar loads, as in `avx2.rs`; in batches
//! for k from 5 to 8 by a gather, of a shared filter too. For more positions a gather and the
//! remaining loads take longer than scalar loads (8.1 against 6.5 ns for k = 10 on Zen 4).

use super::kernel::{Kernel, Range, Word, bit, group, kernels};
use crate::Digest;
use crate::positions::PROBE_MULTIPLIERS;
use crate::simd::limit::{InstructionSet, allows};
#[allow(clippy::wildcard_imports, reason = "a list of intrinsics says nothing")]
use core::arch::x86_64::*;

kernels!("avx512");

/// Whether this CPU has AVX-512 F and DQ, and BMI.
pub(in crate::simd) fn is_available() -> bool {
    allows(InstructionSet::Avx512) && has_features!("avx512f", "avx512dq", "bmi1", "bmi2")
}

/// Positions of probes `first` to `first + 7`: `mulhi(digest · A_i, m)` in each lane, for m below
/// 2^32.
#[inline]
#[target_feature(enable = "avx512f,avx512dq,bmi1,bmi2")]
pub(in crate::simd) fn positions(digest: Digest, first: usize, num_bits: u32) -> [u64; 8] {
    let multipliers: &[u64; 8] = &PROBE_MULTIPLIERS.as_chunks().0[first / 8];
    // SAFETY: 8 words are 64 bytes; this load needs no alignment.
    let multipliers = unsafe { _mm512_loadu_si512(multipliers.as_ptr().cast()) };
    let digest = _mm512_set1_epi64(digest.get().cast_signed());
    let product = _mm512_mullo_epi64(digest, multipliers);
    let high = |lanes| _mm512_srli_epi64::<32>(lanes);
    let num_bits = _mm512_set1_epi64(i64::from(num_bits));
    let low = high(_mm512_mul_epu32(product, num_bits));
    let positions = high(_mm512_add_epi64(_mm512_mul_epu32(high(product), num_bits), low));
    // SAFETY: any 64 bytes are 8 words.
    unsafe { core::mem::transmute(positions) }
}

/// # Safety
///
/// See [`Kernel`], as for all functions here.
#[inline]
#[target_feature(enable = "avx512f,avx512dq,bmi1,bmi2")]
unsafe fn contains<W: Word, const K: usize>(words: &[W], digest: Digest, range: &Range) -> bool {
    let mut found = 1;
    for first in (0..K).step_by(8) {
        for position in positions(digest, first, range.num_bits as u32).into_iter().take(K - first)
        {
            // SAFETY: positions are below `num_bits`, which the caller promises `words` to have.
            found &= unsafe { bit(words, position) };
        }
    }
    found & 1 == 1
}

#[target_feature(enable = "avx512f,avx512dq,bmi1,bmi2")]
unsafe fn contains_group<W: Word, const K: usize>(
    words: &[W],
    digests: &[Digest],
    range: &Range,
) -> u64 {
    // SAFETY: as the caller promises.
    unsafe {
        if let 5..=8 = K {
            group(digests, |digest| contains_gathered::<W, K>(words, digest, range))
        } else {
            group(digests, |digest| contains::<W, K>(words, digest, range))
        }
    }
}

/// Like [`contains`], for K up to 8, by one gather.
#[inline]
#[target_feature(enable = "avx512f,avx512dq,bmi1,bmi2")]
unsafe fn contains_gathered<W: Word, const K: usize>(
    words: &[W],
    digest: Digest,
    range: &Range,
) -> bool {
    assert!(K <= 8, "a register has 8 positions");
    let wanted = const { u8::MAX >> 8usize.saturating_sub(K) };
    // SAFETY: 8 words are 64 bytes.
    let positions: __m512i =
        unsafe { core::mem::transmute(positions(digest, 0, range.num_bits as u32)) };
    // SAFETY: positions are below `num_bits`, which the caller promises `words` to have.
    let found = unsafe { gather(words, _mm512_srli_epi64::<6>(positions), wanted) };
    // A rotate takes its count modulo 64.
    let bits = _mm512_rolv_epi64(_mm512_set1_epi64(1), positions);
    _mm512_mask_testn_epi64_mask(wanted, found, bits) == 0
}

/// The wanted words of these; each is read at once, in any order, as explained in `shared.rs`.
///
/// # Safety
///
/// `words` has the wanted ones, and a word is 8 bytes.
#[inline]
#[target_feature(enable = "avx512f")]
unsafe fn gather<W: Word>(words: &[W], index: __m512i, wanted: __mmask8) -> __m512i {
    const { assert!(size_of::<W>() == 8) };
    let mut found = _mm512_setzero_si512();
    // SAFETY: the wanted words are in `words`, as the caller promises, and are only read.
    unsafe {
        core::arch::asm!(
            "vpgatherqq {found} {{{wanted}}}, [{words} + 8 * {index}]",
            found = inout(zmm_reg) found,
            wanted = inout(kreg) wanted => _,
            words = in(reg) words.as_ptr(),
            index = in(zmm_reg) index,
            options(nostack, readonly, preserves_flags),
        );
    }
    found
}
