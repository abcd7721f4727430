//! The definition: word by word.

use super::kernel::{BucketKernel, IndexWords, Place, Words};

pub(super) struct Scalar;

impl BucketKernel for Scalar {
    #[inline(always)]
    fn find_run(index: &IndexWords, index_bits: u32, run: u32) -> (u32, u32) {
        find_run(index, index_bits, run, select)
    }

    #[inline(always)]
    fn insert(words: &mut Words, place: Place, remainder: u64) {
        let Place { index_bit, index_bits, remainder_bit, remainder_bits } = place;
        shift_up(words, index_bit, index_bits, 1);
        words[index_bit as usize / 64] |= 1 << (index_bit % 64);
        if remainder_bits == 0 {
            return;
        }
        shift_up(words, remainder_bit, 1024, remainder_bits);
        let (word, shift) = (remainder_bit as usize / 64, remainder_bit % 64);
        words[word] |= remainder << shift;
        if let Some(next) = words.get_mut(word + 1) {
            // Twice, since a shift by 64 is none.
            *next |= remainder >> 1 >> (63 - shift);
        }
    }

    #[inline(always)]
    fn remove(words: &mut Words, place: Place) {
        shift_down(words, place.index_bit, place.index_bits, 1);
        if place.remainder_bits > 0 {
            shift_down(words, place.remainder_bit, 1024, place.remainder_bits);
        }
    }
}

/// [`BucketKernel::find_run`] by a way to select a bit of a word.
#[inline(always)]
pub(super) fn find_run(
    index: &IndexWords,
    index_bits: u32,
    run: u32,
    select: impl Fn(u64, u32) -> u32,
) -> (u32, u32) {
    // Zeros before each word; the run starts behind zero `run - 1`.
    let (mut zeros, mut word, mut before) = (0, 0, 0);
    let last = (index_bits - 1) / 64;
    for (i, bits) in index[..last as usize].iter().enumerate() {
        zeros += bits.count_zeros();
        if zeros < run {
            (word, before) = (i + 1, zeros);
        }
    }
    let of_index = u64::MAX >> (63 - (index_bits - 1) % 64);
    zeros += (!index[last as usize] & of_index).count_ones();
    let bit = match run.checked_sub(before + 1) {
        Some(zero) => word as u32 * 64 + select(!index[word], zero) + 1,
        None => 0,
    };
    (bit, zeros)
}

/// The position of the set bit that `n` others precede, by sums over bytes (Vigna 2008, *Broadword
/// Implementation of Rank/Select Queries*): which byte, and then its bits one by one.
#[inline(always)]
pub(super) fn select(word: u64, n: u32) -> u32 {
    const ONES: u64 = 0x0101_0101_0101_0101;
    let pairs = word - ((word >> 1) & (ONES * 0x55));
    let fours = (pairs & (ONES * 0x33)) + ((pairs >> 2) & (ONES * 0x33));
    // Byte i has the set bits of bytes 0 to i.
    let sums = ((fours + (fours >> 4)) & (ONES * 0x0F)).wrapping_mul(ONES);
    // The highest bit of byte i is set if its sum is at most n.
    let at_most = ((u64::from(n) * ONES) | (ONES << 7)).wrapping_sub(sums) & (ONES << 7);
    let byte = at_most.count_ones() * 8;
    let before = ((sums << 8) >> byte) as u32 & 0xFF;
    let mut bits = (word >> byte) & 0xFF;
    for _ in before..n {
        bits &= bits - 1;
    }
    byte + bits.trailing_zeros()
}

/// The bits below this one in a word, all from 64 on.
pub(super) const fn below(bit: u32) -> u64 {
    if bit < 64 { (1 << bit) - 1 } else { u64::MAX }
}

/// Moves the bits `from..to` up by `by`, below 64: zeros come in, and the highest are lost.
#[inline(always)]
fn shift_up(words: &mut Words, from: u32, to: u32, by: u32) {
    let (first, last) = (from as usize / 64, (to as usize - 1) / 64);
    let (below_from, below_to) = (below(from % 64), below((to - 1) % 64 + 1));
    let (low, high) = (words[first] & below_from, words[last] & !below_to);
    words[first] &= !below_from;
    for i in (first + 1..=last).rev() {
        words[i] = words[i] << by | words[i - 1] >> (64 - by);
    }
    words[first] = words[first] << by | low;
    words[last] = words[last] & below_to | high;
}

/// Moves the bits `from + by..to` down by `by`, below 64: zeros come in.
#[inline(always)]
fn shift_down(words: &mut Words, from: u32, to: u32, by: u32) {
    let (first, last) = (from as usize / 64, (to as usize - 1) / 64);
    let (below_from, below_to) = (below(from % 64), below((to - 1) % 64 + 1));
    let (low, high) = (words[first] & below_from, words[last] & !below_to);
    words[last] &= below_to;
    for i in first..last {
        words[i] = words[i] >> by | words[i + 1] << (64 - by);
    }
    words[last] >>= by;
    // What moved below `from` within its word makes way for what was there.
    words[first] = words[first] & !below_from | low;
    words[last] |= high;
}
