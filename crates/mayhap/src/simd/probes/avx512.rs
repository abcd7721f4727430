//! AVX-512: 8 positions in one register, their words by scalar loads, as in `avx2.rs`. The compiler
//! makes gathers of some of them, which cannot be made of the loads of a shared filter.

use super::kernel::{Kernel, Range, Word, bit, group, kernels};
use crate::Digest;
use crate::positions::PROBE_MULTIPLIERS;
use crate::simd::limit::{InstructionSet, allows};
#[allow(clippy::wildcard_imports, reason = "a list of intrinsics says nothing")]
use core::arch::x86_64::*;

kernels!("avx512");

/// Whether this CPU has AVX-512 F and DQ, and BMI.
pub(super) fn is_available() -> bool {
    allows(InstructionSet::Avx512) && has_features!("avx512f", "avx512dq", "bmi1", "bmi2")
}

/// Positions of probes `first` to `first + 7`: `mulhi(digest · A_i, m)` in each lane, for m below
/// 2^32.
#[inline]
#[target_feature(enable = "avx512f,avx512dq,bmi1,bmi2")]
fn positions(digest: Digest, first: usize, num_bits: u32) -> [u64; 8] {
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
/// As [`Kernel`], as all functions here.
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
    group(digests, |digest| unsafe { contains::<W, K>(words, digest, range) })
}
