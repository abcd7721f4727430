//! AVX2: 4 positions in one register, their words by scalar loads.
//!
//! Vectors keep the multiplications out of the scalar unit that also makes the digest: there is
//! one, and its queue of 24 on Zen 4 is shorter than the multiplications of two queries, so that
//! the next query could not begin before this one ended.

use super::kernel::{Kernel, Range, Word, bit, group, kernels};
use crate::Digest;
use crate::positions::PROBE_MULTIPLIERS;
use crate::simd::limit::{InstructionSet, allows};
#[allow(clippy::wildcard_imports, reason = "a list of intrinsics says nothing")]
use core::arch::x86_64::*;

kernels!("avx2");

/// Whether this CPU has AVX2 and BMI.
pub(in crate::simd) fn is_available() -> bool {
    allows(InstructionSet::Avx2) && has_features!("avx2", "bmi1", "bmi2")
}

/// Positions of probes `first` to `first + 3`: `mulhi(digest · A_i, m)` in each lane, for m below
/// 2^32.
#[inline]
#[target_feature(enable = "avx2,bmi1,bmi2")]
pub(in crate::simd) fn positions(digest: Digest, first: usize, num_bits: u32) -> [u64; 4] {
    let multipliers: &[u64; 4] = &PROBE_MULTIPLIERS.as_chunks().0[first / 4];
    // SAFETY: 4 words are 32 bytes; this load needs no alignment.
    let multipliers = unsafe { _mm256_loadu_si256(multipliers.as_ptr().cast()) };
    let digest = _mm256_set1_epi64x(digest.get().cast_signed());
    let high = |lanes| _mm256_srli_epi64::<32>(lanes);
    // The product's low 64 bits, and the high 64 of that by m, from halves: `mul_epu32` multiplies
    // the low ones.
    let cross = _mm256_add_epi64(
        _mm256_mul_epu32(digest, high(multipliers)),
        _mm256_mul_epu32(high(digest), multipliers),
    );
    let low = _mm256_mul_epu32(digest, multipliers);
    let product = _mm256_add_epi64(low, _mm256_slli_epi64::<32>(cross));
    let num_bits = _mm256_set1_epi64x(i64::from(num_bits));
    let low = high(_mm256_mul_epu32(product, num_bits));
    let positions = high(_mm256_add_epi64(_mm256_mul_epu32(high(product), num_bits), low));
    bytemuck::cast(positions)
}

/// # Safety
///
/// See [`Kernel`], as for all functions here.
#[inline]
#[target_feature(enable = "avx2,bmi1,bmi2")]
unsafe fn contains<W: Word, const K: usize>(words: &[W], digest: Digest, range: &Range) -> bool {
    let mut found = 1;
    for first in (0..K).step_by(4) {
        for position in positions(digest, first, range.num_bits as u32).into_iter().take(K - first)
        {
            // SAFETY: positions are below `num_bits`, which the caller promises `words` to have.
            found &= unsafe { bit(words, position) };
        }
    }
    found & 1 == 1
}

#[target_feature(enable = "avx2,bmi1,bmi2")]
unsafe fn contains_group<W: Word, const K: usize>(
    words: &[W],
    digests: &[Digest],
    range: &Range,
) -> u64 {
    // SAFETY: as the caller promises.
    group(digests, |digest| unsafe { contains::<W, K>(words, digest, range) })
}
