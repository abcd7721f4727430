//! Eight planes are one register.
#![expect(unsafe_code, reason = "vector intrinsics; detection proves the CPU has them")]

use super::kernel::{Lines, PLANES, PlaneKernel, PlaneTask};
#[allow(clippy::wildcard_imports, reason = "a list of intrinsics says nothing")]
use core::arch::x86_64::*;

struct Avx512;

pub(super) fn is_available() -> bool {
    super::avx2::is_available() && has_features!("avx512f", "avx512vbmi2", "avx512vpopcntdq")
}

#[target_feature(enable = "avx512f,avx512vbmi2,avx512vpopcntdq,avx2,bmi1,bmi2,popcnt")]
pub(super) fn run<T: PlaneTask>(task: T) -> T::Output {
    task.run::<Avx512>()
}

impl PlaneKernel for Avx512 {
    #[inline(always)]
    fn agrees(
        words: &[u64],
        lines: Lines,
        shift: u32,
        coefficients: u64,
        fingerprint: u32,
    ) -> bool {
        // SAFETY: this kernel is used in `run` alone, on a CPU that has the features.
        unsafe { agrees(words, lines, shift, coefficients, fingerprint) }
    }
}

#[inline]
#[target_feature(enable = "avx512f,avx512vbmi2,avx512vpopcntdq")]
fn agrees(words: &[u64], lines: Lines, shift: u32, coefficients: u64, fingerprint: u32) -> bool {
    lines.check(words);
    let lanes = u8::MAX >> (PLANES - lines.planes);
    let [low, high] = [lines.low, lines.high].map(
        #[inline(always)]
        // SAFETY: as many words from there on as there are lanes are in the slice, as checked; no
        // other word is read.
        |at| unsafe { _mm512_maskz_loadu_epi64(lanes, words.as_ptr().add(at).cast()) },
    );
    let slots = _mm512_shrdv_epi64(low, high, _mm512_set1_epi64(shift.into()));
    let chosen = _mm512_and_si512(slots, _mm512_set1_epi64(coefficients.cast_signed()));
    let sums = _mm512_test_epi64_mask(_mm512_popcnt_epi64(chosen), _mm512_set1_epi64(1));
    (sums ^ fingerprint as u8) & lanes == 0
}
