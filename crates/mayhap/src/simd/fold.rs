//! Folding bits: each bit of the result is the OR of a run of adjacent ones.
#![cfg_attr(
    all(target_arch = "x86_64", not(any(loom, shuttle))),
    expect(unsafe_code, reason = "a call to a function with target features")
)]

#[cfg(all(target_arch = "x86_64", not(any(loom, shuttle))))]
use super::cpu::Detected;
#[cfg(all(target_arch = "x86_64", not(any(loom, shuttle))))]
use super::limit::{InstructionSet, allows};

/// The longest run of which every word has a beginning.
const WORD: usize = u64::BITS as usize;

/// Sets bit `j` of `out` to the OR of the bits `j · factor .. (j + 1) · factor` of `words`, which
/// ends with zeros: bits past its end are clear. Further words of `out` stay as they are.
pub(crate) fn fold_bits(words: &[u64], factor: u64, out: &mut [u64]) {
    match usize::try_from(factor) {
        Ok(1) => out.copy_from_slice(&words[..out.len()]),
        Ok(factor @ 2..=WORD) => fold_short(words, factor, out),
        _ => fold_long(words, factor, out),
    }
}

fn fold_short(words: &[u64], factor: usize, out: &mut [u64]) {
    #[cfg(all(target_arch = "x86_64", not(any(loom, shuttle))))]
    {
        static FOUND: Detected = Detected::nothing_yet();
        let has_bmi2 =
            || u8::from(allows(InstructionSet::Avx2) && has_features!("avx2", "bmi1", "bmi2"));
        if FOUND.get_or_find(has_bmi2) == 1 {
            // SAFETY: the CPU has these features.
            return unsafe { by_extraction(words, factor, out) };
        }
    }
    fold_runs(words, factor, out, extract);
}

#[cfg(all(target_arch = "x86_64", not(any(loom, shuttle))))]
#[target_feature(enable = "avx2,bmi1,bmi2")]
fn by_extraction(words: &[u64], factor: usize, out: &mut [u64]) {
    fold_runs(
        words,
        factor,
        out,
        #[inline(always)]
        |word, mask| core::arch::x86_64::_pext_u64(word, mask),
    );
}

/// The bits of `word` that `mask` selects, side by side: the definition of the instruction.
#[inline(always)]
fn extract(word: u64, mut mask: u64) -> u64 {
    let (mut bits, mut place) = (0, 0);
    while mask != 0 {
        bits |= (word >> mask.trailing_zeros() & 1) << place;
        place += 1;
        mask &= mask - 1;
    }
    bits
}

/// Words whose runs are ored together, by vector instructions, before their bits are extracted.
const CHUNK: usize = 512;

/// Runs of up to 64 bits: `factor` words are 64 runs, and each word has the beginning of at least
/// one. The bits of a run are ored into its first bit, then the first bits are extracted.
#[inline(always)]
fn fold_runs(
    words: &[u64],
    factor: usize,
    out: &mut [u64],
    extract: impl Fn(u64, u64) -> u64 + Copy,
) {
    // Of each word of a group: where runs begin, and how many have begun before.
    let mut starts = [(0u64, 0u32); WORD];
    let starts = &mut starts[..factor];
    for (i, (mask, place)) in starts.iter_mut().enumerate() {
        *place = (i * WORD).div_ceil(factor) as u32;
        let first = *place as usize * factor - i * WORD;
        *mask = (first..WORD).step_by(factor).fold(0, |mask, bit| mask | 1 << bit);
    }
    // No run goes from a group to the next one.
    let groups = CHUNK / factor;
    let mut runs = [0; CHUNK + 1];
    for (words, out) in words.chunks(groups * factor).zip(out.chunks_mut(groups)) {
        runs[..words.len()].copy_from_slice(words);
        runs[words.len()..].fill(0);
        or_runs(&mut runs, factor as u32);
        for (group, out) in runs.chunks(factor).zip(out) {
            *out = group
                .iter()
                .zip(&*starts)
                .fold(0, |bits, (&word, &(mask, place))| bits | extract(word, mask) << place);
        }
    }
}

/// Makes each bit the OR of the `length` bits from there on.
#[inline(always)]
fn or_runs(words: &mut [u64; CHUNK + 1], length: u32) {
    let mut done = 1;
    while done < length {
        // Twice as many, or as many as are left.
        let step = done.min(length - done);
        for i in 0..CHUNK {
            words[i] |= words[i] >> step | words[i + 1] << (u64::BITS - step);
        }
        done += step;
    }
}

/// Runs of more than 64 bits: a bit of each, from whole words but for the first and the last.
fn fold_long(words: &[u64], factor: u64, out: &mut [u64]) {
    let num_bits = words.len() as u64 * 64;
    out.fill(0);
    let mut start = 0;
    for i in 0..out.len() * WORD {
        if start >= num_bits {
            return;
        }
        let end = start.saturating_add(factor).min(num_bits);
        let (first, last) = ((start / 64) as usize, ((end - 1) / 64) as usize);
        let mut run = if first == last { 0 } else { words[first] >> (start % 64) };
        run |= words[last]
            & u64::MAX >> (63 - (end - 1) % 64)
            & if first == last { u64::MAX << (start % 64) } else { u64::MAX };
        if last > first + 1 {
            run |= words[first + 1..last].iter().fold(0, |run, word| run | word);
        }
        out[i / WORD] |= u64::from(run != 0) << (i % WORD);
        start = end;
    }
}

/// Sets each group of `W` words of `out` to the OR of `factor` adjacent groups of `words`. Further
/// groups of `out` stay as they are.
pub(crate) fn fold_groups<const W: usize>(words: &[u64], factor: u64, out: &mut [u64]) {
    let factor = usize::try_from(factor).unwrap_or(usize::MAX);
    let (groups, out) = (words.as_chunks::<W>().0, out.as_chunks_mut::<W>().0);
    super::on_this_cpu(
        #[inline(always)]
        || {
            for (groups, out) in groups.chunks(factor).zip(out) {
                let mut sum = [0; W];
                for group in groups {
                    for (sum, word) in sum.iter_mut().zip(group) {
                        *sum |= word;
                    }
                }
                *out = sum;
            }
        },
    );
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::positions::splitmix64;
    use alloc::vec;
    use alloc::vec::Vec;

    /// By the definition, bit by bit.
    fn folded(words: &[u64], factor: u64, len: usize) -> Vec<u64> {
        let mut out = vec![0; len];
        for bit in (0..words.len() as u64 * 64)
            .filter(|bit| words[*bit as usize / 64] >> (bit % 64) & 1 == 1)
        {
            let j = (bit / factor) as usize;
            out[j / 64] |= 1 << (j % 64);
        }
        out
    }

    #[test]
    fn every_run_is_ored_by_every_way() {
        let lengths: &[usize] = if cfg!(miri) { &[9] } else { &[1, 8, 63, 64, 65, 1000] };
        let step = if cfg!(miri) { 13 } else { 1 };
        for &len in lengths {
            // Sparse, so that some runs are empty.
            let word =
                |i| splitmix64(i) & splitmix64(i + 7) & splitmix64(i + 77) & splitmix64(i + 99);
            let words: Vec<u64> = (0..len as u64).map(word).collect();
            let more = [63, 64, 65, 191, 192, 193, 1000, 64 * len as u64, u64::MAX];
            for factor in (1..=130).step_by(step).chain(more) {
                let out_len = (len as u64 * 64).div_ceil(factor).div_ceil(64) as usize;
                let expected = folded(&words, factor, out_len);
                let mut out = vec![u64::MAX; out_len];
                fold_bits(&words, factor, &mut out);
                assert_eq!(out, expected, "{len} words by {factor}");
                if (2..=64).contains(&factor) {
                    out.fill(u64::MAX);
                    fold_runs(&words, factor as usize, &mut out, extract);
                    assert_eq!(out, expected, "{len} words by {factor}, without an instruction");
                }
            }
        }
    }

    #[test]
    fn groups_are_ored_in_order() {
        let words: Vec<u64> = (0..24).map(|i| 1 << i).collect();
        let mut out = [u64::MAX; 8];
        fold_groups::<8>(&words, 3, &mut out);
        assert_eq!(out, core::array::from_fn(|i| 0x0001_0101 << i));
        let mut out = [u64::MAX; 6];
        fold_groups::<2>(&words, 4, &mut out);
        assert_eq!(out[..2], [0x55, 0xAA]);
        assert_eq!(out[4..], [0x55_0000, 0xAA_0000]);
    }
}
