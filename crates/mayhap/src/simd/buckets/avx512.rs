//! A bucket as two vectors of 8 words: zeros are counted in all words of the index at once, and
//! bits move in all words at once.

use super::bmi2::select;
use super::kernel::{BucketKernel, BucketTask, IndexWords, Place, Words};
use core::arch::x86_64::{
    __m128i, __m512i, _mm_cvtsi32_si128, _mm_cvtsi128_si64, _mm512_add_epi64, _mm512_alignr_epi64,
    _mm512_and_si512, _mm512_andnot_si512, _mm512_castsi512_si128, _mm512_cmplt_epu64_mask,
    _mm512_loadu_si512, _mm512_max_epi64, _mm512_or_si512, _mm512_permutexvar_epi64,
    _mm512_popcnt_epi64, _mm512_set_epi64, _mm512_set1_epi64, _mm512_setzero_si512,
    _mm512_sll_epi64, _mm512_slli_epi64, _mm512_sllv_epi64, _mm512_srl_epi64, _mm512_srli_epi64,
    _mm512_srlv_epi64, _mm512_storeu_si512, _mm512_sub_epi64, _mm512_ternarylogic_epi64,
};

struct Avx512;

pub(super) fn is_available() -> bool {
    super::bmi2::is_available() && has_features!("avx512f", "avx512vl", "avx512vpopcntdq")
}

#[target_feature(enable = "avx512f,avx512vl,avx512vpopcntdq,avx2,bmi1,bmi2,popcnt,lzcnt")]
pub(super) fn run<T: BucketTask>(task: T) -> T::Output {
    task.run::<Avx512>()
}

/// Calls of functions with the features of this kernel.
macro_rules! kernel {
    ($($name:ident($($argument:ident: $type:ty),*) $(-> $output:ty)?;)*) => {
        impl BucketKernel for Avx512 {
            $(
                #[inline(always)]
                fn $name($($argument: $type),*) $(-> $output)? {
                    // SAFETY: this kernel is used in `run` alone, on a CPU that has the features.
                    unsafe { $name($($argument),*) }
                }
            )*
        }
    };
}
kernel! {
    find_run(index: &IndexWords, index_bits: u32, run: u32) -> (u32, u32);
    insert(words: &mut Words, place: Place, remainder: u64);
    remove(words: &mut Words, place: Place);
}

#[target_feature(enable = "avx512f,avx512vl,avx512vpopcntdq,bmi2,popcnt")]
#[inline]
fn find_run(index: &IndexWords, index_bits: u32, run: u32) -> (u32, u32) {
    let zero = _mm512_setzero_si512();
    let zeros = _mm512_popcnt_epi64(_mm512_andnot_si512(load(index), below(index_bits, FIRST)));
    // Zeros up to and with each word.
    let sum = _mm512_add_epi64(zeros, _mm512_alignr_epi64::<7>(zeros, zero));
    let sum = _mm512_add_epi64(sum, _mm512_alignr_epi64::<6>(sum, zero));
    let sum = _mm512_add_epi64(sum, _mm512_alignr_epi64::<4>(sum, zero));
    let before_run = _mm512_cmplt_epu64_mask(sum, _mm512_set1_epi64(run.into()));
    let word = before_run.count_ones() & 7;
    let before = _mm512_alignr_epi64::<7>(sum, zero);
    let at = |lane: u32| {
        let lane = _mm512_permutexvar_epi64(_mm512_set1_epi64(lane.into()), before);
        _mm_cvtsi128_si64(_mm512_castsi512_si128(lane)) as u32
    };
    let all = _mm512_alignr_epi64::<7>(zero, sum);
    let all = _mm_cvtsi128_si64(_mm512_castsi512_si128(all)) as u32;
    let zero_in_word = run.wrapping_sub(at(word) + 1) & 63;
    let bit = word * 64 + select(!index[word as usize], zero_in_word) + 1;
    (if run == 0 { 0 } else { bit }, all)
}

#[target_feature(enable = "avx512f")]
#[inline]
fn insert(words: &mut Words, place: Place, remainder: u64) {
    let (first, second) = halves(words);
    let (low, high) = (insert_one(load(first), place), load(second));
    let bits = place.remainder_bits;
    if bits == 0 {
        return store(first, low);
    }
    let from = place.remainder_bit;
    let (by, rest) = shifts(bits);
    let below_low = _mm512_alignr_epi64::<7>(low, _mm512_setzero_si512());
    let below_high = _mm512_alignr_epi64::<7>(high, low);
    let insert = |old, lower, start| {
        let moved = _mm512_or_si512(_mm512_sll_epi64(old, by), _mm512_srl_epi64(lower, rest));
        let moved = _mm512_andnot_si512(below(from + bits, start), moved);
        let new = choose(below(from, start), old, moved);
        _mm512_or_si512(new, at_bit(remainder, from, start))
    };
    store(first, insert(low, below_low, FIRST));
    store(second, insert(high, below_high, SECOND));
}

#[target_feature(enable = "avx512f")]
#[inline]
fn remove(words: &mut Words, place: Place) {
    let (first, second) = halves(words);
    let (low, high) = (remove_one(load(first), place), load(second));
    let (from, bits) = (place.remainder_bit, place.remainder_bits);
    if bits == 0 {
        return store(first, low);
    }
    let (by, rest) = shifts(bits);
    let above_low = _mm512_alignr_epi64::<1>(high, low);
    let above_high = _mm512_alignr_epi64::<1>(_mm512_setzero_si512(), high);
    let remove = |old, upper, start| {
        let moved = _mm512_or_si512(_mm512_srl_epi64(old, by), _mm512_sll_epi64(upper, rest));
        choose(below(from, start), old, moved)
    };
    store(first, remove(low, above_low, FIRST));
    store(second, remove(high, above_high, SECOND));
}

/// The first half with a 1 at the place, and the rest of the index one bit up.
#[target_feature(enable = "avx512f")]
#[inline]
fn insert_one(old: __m512i, place: Place) -> __m512i {
    let (from, to) = (place.index_bit, place.index_bits);
    let lower = _mm512_alignr_epi64::<7>(old, _mm512_setzero_si512());
    let moved = _mm512_or_si512(_mm512_slli_epi64::<1>(old), _mm512_srli_epi64::<63>(lower));
    // The bit of the place, which came from below it, is set anyway.
    let moves = _mm512_andnot_si512(below(from, FIRST), below(to, FIRST));
    _mm512_or_si512(choose(moves, moved, old), at_bit(1, from, FIRST))
}

/// The first half without the bit of the place, and the rest of the index one bit down.
#[target_feature(enable = "avx512f")]
#[inline]
fn remove_one(old: __m512i, place: Place) -> __m512i {
    let (from, to) = (place.index_bit, place.index_bits);
    // The last bit of the index receives nothing from beyond it.
    let inside = _mm512_and_si512(old, below(to, FIRST));
    let upper = _mm512_alignr_epi64::<1>(_mm512_setzero_si512(), inside);
    let moved = _mm512_or_si512(_mm512_srli_epi64::<1>(inside), _mm512_slli_epi64::<63>(upper));
    let moves = _mm512_andnot_si512(below(from, FIRST), below(to, FIRST));
    choose(moves, moved, old)
}

/// Shifts by this number of bits, and by the rest of a word.
#[target_feature(enable = "avx512f")]
#[inline]
fn shifts(bits: u32) -> (__m128i, __m128i) {
    let bits = bits.cast_signed();
    (_mm_cvtsi32_si128(bits), _mm_cvtsi32_si128(64 - bits))
}

/// The first bit of the first and the second half.
const FIRST: i64 = 0;
const SECOND: i64 = 512;

fn halves(words: &mut Words) -> (&mut IndexWords, &mut IndexWords) {
    let (halves, _) = words.as_chunks_mut();
    let [first, second] = halves else { unreachable!("16 words") };
    (first, second)
}

#[target_feature(enable = "avx512f")]
#[inline]
fn load(words: &IndexWords) -> __m512i {
    // SAFETY: 64 bytes are there; the load needs no alignment.
    unsafe { _mm512_loadu_si512(words.as_ptr().cast()) }
}

#[target_feature(enable = "avx512f")]
#[inline]
fn store(words: &mut IndexWords, value: __m512i) {
    // SAFETY: 64 bytes are there; the store needs no alignment.
    unsafe { _mm512_storeu_si512(words.as_mut_ptr().cast(), value) }
}

/// How far a bit is above the first of each word of a half.
#[target_feature(enable = "avx512f")]
#[inline]
fn distance(bit: u32, start: i64) -> __m512i {
    let starts = _mm512_set_epi64(448, 384, 320, 256, 192, 128, 64, 0);
    _mm512_sub_epi64(_mm512_set1_epi64(i64::from(bit) - start), starts)
}

/// The bits of a half that are below this one of the bucket.
#[target_feature(enable = "avx512f")]
#[inline]
fn below(bit: u32, start: i64) -> __m512i {
    // A shift by 64 or more leaves nothing.
    let by = _mm512_max_epi64(distance(bit, start), _mm512_setzero_si512());
    let ones = _mm512_set1_epi64(-1);
    _mm512_andnot_si512(_mm512_sllv_epi64(ones, by), ones)
}

/// A value from this bit on.
#[target_feature(enable = "avx512f")]
#[inline]
fn at_bit(value: u64, bit: u32, start: i64) -> __m512i {
    let (value, by) = (_mm512_set1_epi64(value.cast_signed()), distance(bit, start));
    // Distances below 0 are shifts by more than 63.
    let down = _mm512_sub_epi64(_mm512_setzero_si512(), by);
    _mm512_or_si512(_mm512_sllv_epi64(value, by), _mm512_srlv_epi64(value, down))
}

/// Bits of `yes` where `mask` is 1, of `no` elsewhere.
#[target_feature(enable = "avx512f")]
#[inline]
fn choose(mask: __m512i, yes: __m512i, no: __m512i) -> __m512i {
    _mm512_ternarylogic_epi64::<0xCA>(mask, yes, no)
}
