//! A bucket as two vectors of 8 words: zeros are counted in all words of the index at once, and
//! bits move in all words at once.

use super::bmi2::select;
use super::kernel::{BucketKernel, BucketTask, GROUP, IndexWords, Place, Words, index_of};
use core::arch::x86_64::{
    __m512i, _mm512_add_epi64, _mm512_alignr_epi64, _mm512_and_si512, _mm512_andnot_si512,
    _mm512_cmplt_epu64_mask, _mm512_loadu_si512, _mm512_maskz_permutexvar_epi8, _mm512_max_epi64,
    _mm512_or_si512, _mm512_popcnt_epi64, _mm512_sad_epu8, _mm512_set_epi64, _mm512_set1_epi64,
    _mm512_setzero_si512, _mm512_shldi_epi64, _mm512_shldv_epi64, _mm512_shrdi_epi64,
    _mm512_shrdv_epi64, _mm512_sllv_epi64, _mm512_storeu_si512, _mm512_sub_epi64,
    _mm512_ternarylogic_epi64,
};

struct Avx512;

pub(super) fn is_available() -> bool {
    super::bmi2::is_available()
        && has_features!("avx512f", "avx512bw", "avx512vbmi", "avx512vbmi2", "avx512vpopcntdq")
}

#[target_feature(enable = "avx512f,avx512bw,avx512vbmi,avx512vbmi2,avx512vpopcntdq")]
#[target_feature(enable = "avx512vl,avx2,bmi1,bmi2,popcnt,lzcnt")]
pub(super) fn run<T: BucketTask>(task: T) -> T::Output {
    task.run::<Avx512>()
}

impl BucketKernel for Avx512 {
    #[inline(always)]
    fn find_run(index: &IndexWords, index_bits: u32, run: u32) -> (u32, u32) {
        // SAFETY: this kernel is used in `run` alone, on a CPU that has the features.
        unsafe { select_run(index, &rank(index, below(index_bits, FIRST), run), index_bits, run) }
    }

    #[inline(always)]
    fn find_runs(
        fronts: &[Words],
        front: &[usize],
        index_bits: u32,
        run: &[u32],
        mut each: impl FnMut(usize, u32, u32),
    ) {
        // In two loops: a chain of vector instructions and one of scalar ones, of each of which
        // the processor has more at once than of both together.
        // SAFETY: as above.
        let mask = unsafe { below(index_bits, FIRST) };
        let ranked: [Ranked; GROUP] = core::array::from_fn(
            #[inline(always)]
            |i| match (front.get(i), run.get(i)) {
                // SAFETY: as above.
                (Some(&front), Some(&run)) => unsafe { rank(index_of(fronts, front), mask, run) },
                _ => Ranked([0; 8]),
            },
        );
        for (i, (ranked, (&front, &run))) in ranked.iter().zip(front.iter().zip(run)).enumerate() {
            let index = index_of(fronts, front);
            // SAFETY: as above.
            let (bit, zeros) = unsafe { select_run(index, ranked, index_bits, run) };
            each(i, bit, zeros);
        }
    }

    #[inline(always)]
    fn insert(words: &mut Words, place: Place, remainder: u64) {
        // SAFETY: as above.
        unsafe { insert(words, place, remainder) }
    }

    #[inline(always)]
    fn remove(words: &mut Words, place: Place) {
        // SAFETY: as above.
        unsafe { remove(words, place) }
    }
}

/// The zeros below each word of an index, but in place of those of the first, which are none, the
/// word with the zero before a run.
#[repr(align(64))]
struct Ranked(IndexWords);

#[target_feature(enable = "avx512f,avx512bw,avx512vbmi,avx512vpopcntdq,popcnt")]
#[inline]
fn rank(index: &IndexWords, mask: __m512i, run: u32) -> Ranked {
    let zeros = _mm512_popcnt_epi64(_mm512_andnot_si512(load(index), mask));
    // Word i becomes the counts of words 0 to i, a byte each, and then their sum.
    let lowest_bytes = _mm512_set1_epi64(0x3830_2820_1810_0800);
    let counts = _mm512_maskz_permutexvar_epi8(0xFF7F_3F1F_0F07_0301, lowest_bytes, zeros);
    let sums = _mm512_sad_epu8(counts, _mm512_setzero_si512());
    let before_run = _mm512_cmplt_epu64_mask(sums, _mm512_set1_epi64(run.into()));
    let mut ranked = Ranked([0; 8]);
    store(&mut ranked.0, _mm512_sub_epi64(sums, zeros));
    ranked.0[0] = before_run.count_ones().into();
    ranked
}

/// The bit behind the zero before a run, and all zeros.
#[target_feature(enable = "bmi2,popcnt")]
#[inline]
fn select_run(index: &IndexWords, ranked: &Ranked, index_bits: u32, run: u32) -> (u32, u32) {
    let word = ranked.0[0] as usize & 7;
    // Of the first word that is 0, which is right.
    let before = ranked.0[word] as u32;
    let zero_in_word = run.wrapping_sub(before + 1) & 63;
    let bit = word as u32 * 64 + select(!index[word], zero_in_word) + 1;
    let last = !index[7] & super::scalar::below(index_bits.saturating_sub(448));
    (if run == 0 { 0 } else { bit }, ranked.0[7] as u32 + last.count_ones())
}

#[target_feature(enable = "avx512f,avx512vbmi2")]
#[inline]
fn insert(words: &mut Words, place: Place, remainder: u64) {
    let (first, second) = halves(words);
    let (low, high) = (load(first), load(second));
    let below_low = _mm512_alignr_epi64::<7>(low, _mm512_setzero_si512());
    let below_high = _mm512_alignr_epi64::<7>(high, low);
    let moves = index_moves(place);
    let new_low = choose(moves, _mm512_shldi_epi64::<1>(low, below_low), low);
    // The bit of the place, which came from below it, is set anyway.
    let bit = distance(place.index_bit, FIRST);
    let new_low = _mm512_or_si512(new_low, _mm512_sllv_epi64(_mm512_set1_epi64(1), bit));
    let (from, bits) = (place.remainder_bit, place.remainder_bits);
    if bits == 0 {
        return store(first, new_low);
    }
    // Rotated, it is right in the word in which it begins and in the next.
    let field = _mm512_set1_epi64(remainder.rotate_left(from).cast_signed());
    let by = _mm512_set1_epi64(bits.into());
    let insert = |old, unmoved, lower, start| {
        let distance = distance(from, start);
        let moved = _mm512_shldv_epi64(old, lower, by);
        let upper = choose(at_or_above(_mm512_add_epi64(distance, by)), moved, field);
        choose(at_or_above(distance), upper, unmoved)
    };
    store(first, insert(low, new_low, below_low, FIRST));
    store(second, insert(high, high, below_high, SECOND));
}

#[target_feature(enable = "avx512f,avx512vbmi2")]
#[inline]
fn remove(words: &mut Words, place: Place) {
    let (first, second) = halves(words);
    let (low, high) = (load(first), load(second));
    // The last bit of the index receives nothing from beyond it.
    let index = _mm512_and_si512(low, below(place.index_bits, FIRST));
    let above_index = _mm512_alignr_epi64::<1>(_mm512_setzero_si512(), index);
    let new_low = choose(index_moves(place), _mm512_shrdi_epi64::<1>(index, above_index), low);
    let (from, bits) = (place.remainder_bit, place.remainder_bits);
    if bits == 0 {
        return store(first, new_low);
    }
    let by = _mm512_set1_epi64(bits.into());
    let above_low = _mm512_alignr_epi64::<1>(high, low);
    let above_high = _mm512_alignr_epi64::<1>(_mm512_setzero_si512(), high);
    let remove = |old, unmoved, upper, start| {
        choose(at_or_above(distance(from, start)), _mm512_shrdv_epi64(old, upper, by), unmoved)
    };
    store(first, remove(low, new_low, above_low, FIRST));
    store(second, remove(high, high, above_high, SECOND));
}

/// The bits of the index that move: the one of the place and those behind it.
#[target_feature(enable = "avx512f")]
#[inline]
fn index_moves(place: Place) -> __m512i {
    let behind = at_or_above(distance(place.index_bit, FIRST));
    _mm512_and_si512(behind, below(place.index_bits, FIRST))
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

/// The bits from this distance on.
#[target_feature(enable = "avx512f")]
#[inline]
fn at_or_above(distance: __m512i) -> __m512i {
    // A shift by 64 or more leaves nothing.
    let by = _mm512_max_epi64(distance, _mm512_setzero_si512());
    _mm512_sllv_epi64(_mm512_set1_epi64(-1), by)
}

/// The bits of a half that are below this one of the bucket.
#[target_feature(enable = "avx512f")]
#[inline]
fn below(bit: u32, start: i64) -> __m512i {
    _mm512_andnot_si512(at_or_above(distance(bit, start)), _mm512_set1_epi64(-1))
}

/// Bits of `yes` where `mask` is 1, of `no` elsewhere.
#[target_feature(enable = "avx512f")]
#[inline]
fn choose(mask: __m512i, yes: __m512i, no: __m512i) -> __m512i {
    _mm512_ternarylogic_epi64::<0xCA>(mask, yes, no)
}
