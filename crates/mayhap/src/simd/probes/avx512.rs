//! AVX-512: 8 positions in one register, 8 words in one gather.

use super::kernel::{Kernel, Range};
use crate::Digest;
use crate::positions::PROBE_MULTIPLIERS;
use crate::simd::limit::{Level, allows};
#[allow(clippy::wildcard_imports, reason = "a list of intrinsics says nothing")]
use core::arch::x86_64::*;

pub(super) static KERNEL: Kernel = Kernel { name: "avx512", contains, contains_batch };

/// Whether this CPU has AVX-512 F and DQ, and BMI.
pub(super) fn is_available() -> bool {
    allows(Level::Avx512) && has_features!("avx512f", "avx512dq", "bmi1", "bmi2")
}

/// Positions of probes `first` to `first + 7`: `mulhi(digest · A_i, m)` in each lane.
#[inline]
#[target_feature(enable = "avx512f,avx512dq,bmi1,bmi2")]
fn positions(digest: Digest, first: usize, num_bits: u64) -> __m512i {
    let multipliers: &[u64; 8] = &PROBE_MULTIPLIERS.as_chunks().0[first / 8];
    // SAFETY: 8 words are 64 bytes; this load needs no alignment.
    let multipliers = unsafe { _mm512_loadu_si512(multipliers.as_ptr().cast()) };
    let digest = _mm512_set1_epi64(digest.get().cast_signed());
    let product = _mm512_mullo_epi64(digest, multipliers);
    let high = |lanes| _mm512_srli_epi64::<32>(lanes);
    let m_low = _mm512_set1_epi64(num_bits.cast_signed()); // `mul_epu32` looks at the low halves
    let low = high(_mm512_mul_epu32(product, m_low));
    let middle = _mm512_add_epi64(_mm512_mul_epu32(high(product), m_low), low);
    if num_bits >> 32 == 0 {
        return high(middle);
    }
    let m_high = high(m_low);
    let low_half = _mm512_set1_epi64(0xFFFF_FFFF);
    let other =
        _mm512_add_epi64(_mm512_mul_epu32(product, m_high), _mm512_and_si512(middle, low_half));
    let top = _mm512_add_epi64(_mm512_mul_epu32(high(product), m_high), high(middle));
    _mm512_add_epi64(top, high(other))
}

/// # Safety
///
/// As [`Kernel`]: `words` has at least `range.num_bits` bits.
#[inline]
#[target_feature(enable = "avx512f,avx512dq,bmi1,bmi2")]
unsafe fn contains(words: &[u64], digest: Digest, range: Range) -> bool {
    let mut missing = 0;
    // Without an early exit: a mispredicted branch costs as much as three gathers.
    for first in (0..range.num_hashes as usize).step_by(8) {
        let lanes = range.num_hashes as usize - first;
        let probes: __mmask8 = if lanes < 8 { (1 << lanes) - 1 } else { 0xFF };
        let positions = positions(digest, first, range.num_bits);
        let indices = _mm512_srli_epi64::<6>(positions);
        // SAFETY: positions are below `num_bits`, which the caller promises `words` to have.
        let found = unsafe {
            let nothing = _mm512_setzero_si512();
            _mm512_mask_i64gather_epi64::<8>(nothing, probes, indices, words.as_ptr().cast())
        };
        // A rotate takes its count modulo 64.
        let bits = _mm512_rolv_epi64(_mm512_set1_epi64(1), positions);
        missing |= _mm512_mask_testn_epi64_mask(probes, found, bits);
    }
    missing == 0
}

#[target_feature(enable = "avx512f,avx512dq,bmi1,bmi2")]
unsafe fn contains_batch(words: &[u64], digests: &[Digest], range: Range, found: &mut [u64]) {
    for (group, found) in digests.chunks(64).zip(found) {
        for (i, &digest) in group.iter().enumerate() {
            // SAFETY: as the caller promises.
            *found |= u64::from(unsafe { contains(words, digest, range) }) << i;
        }
    }
}
