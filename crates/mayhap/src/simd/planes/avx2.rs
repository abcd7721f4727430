//! Four planes are a register; the parity of a word by its half bytes.
#![expect(unsafe_code, reason = "vector intrinsics; detection proves the CPU has them")]

use super::kernel::{Lines, PlaneKernel, PlaneTask};
#[allow(clippy::wildcard_imports, reason = "a list of intrinsics says nothing")]
use core::arch::x86_64::*;

struct Avx2;

pub(super) fn is_available() -> bool {
    has_features!("avx2", "bmi1", "bmi2", "popcnt")
}

#[target_feature(enable = "avx2,bmi1,bmi2,popcnt")]
pub(super) fn run<T: PlaneTask>(task: T) -> T::Output {
    task.run::<Avx2>()
}

impl PlaneKernel for Avx2 {
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
#[target_feature(enable = "avx2")]
fn agrees(words: &[u64], lines: Lines, shift: u32, coefficients: u64, fingerprint: u32) -> bool {
    lines.check(words);
    let planes = lines.planes;
    let [low, high] = [lines.low, lines.high].map(|at| &words[at..][..planes]);
    let mut sums = sums(low, high, shift, coefficients);
    if planes > 4 {
        sums |= self::sums(&low[4..], &high[4..], shift, coefficients) << 4;
    }
    (sums ^ fingerprint) << (u32::BITS - planes as u32) == 0
}

/// The sum of the slots of up to four planes, a bit each; of others it is 0.
#[inline]
#[target_feature(enable = "avx2")]
fn sums(low: &[u64], high: &[u64], shift: u32, coefficients: u64) -> u32 {
    let count = |shift: u32| _mm_cvtsi64_si128(shift.into());
    // A shift by 64 gives 0 here.
    let slots = _mm256_or_si256(
        _mm256_srl_epi64(load(low), count(shift)),
        _mm256_sll_epi64(load(high), count(64 - shift)),
    );
    let chosen = _mm256_and_si256(slots, _mm256_set1_epi64x(coefficients.cast_signed()));
    // Of each of 16 half bytes, in both halves of the register.
    let parities = _mm256_set1_epi64x(0x0100_0001_0001_0100);
    let parities = _mm256_unpacklo_epi64(parities, _mm256_xor_si256(parities, _mm256_set1_epi8(1)));
    let half = _mm256_set1_epi8(0x0F);
    let even = _mm256_shuffle_epi8(parities, _mm256_and_si256(chosen, half));
    let odd = _mm256_and_si256(_mm256_srli_epi16::<4>(chosen), half);
    let of_bytes = _mm256_xor_si256(even, _mm256_shuffle_epi8(parities, odd));
    let of_words = _mm256_sad_epu8(of_bytes, _mm256_setzero_si256());
    _mm256_movemask_pd(_mm256_castsi256_pd(_mm256_slli_epi64::<63>(of_words))) as u32
}

/// The first four words, or as many as there are and zeros.
#[inline]
#[target_feature(enable = "avx2")]
fn load(words: &[u64]) -> __m256i {
    if let Some(words) = words.first_chunk::<4>() {
        // SAFETY: 4 words are 32 bytes; this load needs no alignment.
        return unsafe { _mm256_loadu_si256(words.as_ptr().cast()) };
    }
    let wanted = _mm256_cmpgt_epi64(
        _mm256_set1_epi64x((words.len() as u64).cast_signed()),
        _mm256_setr_epi64x(0, 1, 2, 3),
    );
    // SAFETY: the wanted words are those of the slice; no other word is read.
    unsafe { _mm256_maskload_epi64(words.as_ptr().cast(), wanted) }
}
