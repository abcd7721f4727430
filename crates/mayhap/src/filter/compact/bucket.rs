//! A bucket: an index of runs and, behind it, remainders, in 1024 bits.
//!
//! For each run, in order, the index has a 1 for each key and then a 0, so that an empty bucket is
//! all zeros, and the start of a run is found by selecting a 0. Remainders are in the order of the
//! index, and ascend within a run: the fingerprints of a bucket are sorted.

use crate::simd::{BucketKernel, Fronts, Place, Words};
use crate::sizing::compact::{INDEX_BITS, Shape};

/// Words that may have bits of the index.
const INDEX_WORDS: usize = INDEX_BITS as usize / 64;

/// Bits that a load of a word at any bit has for sure.
const SURE_BITS: u32 = 57;

/// The shape of the buckets of a level, with what follows from it.
#[derive(Debug, Clone, Copy)]
pub(super) struct Frame {
    shape: Shape,
    /// Bits of the index, and words that have some of them.
    index_bits: u32,
    index_words: u32,
    /// The bits of the last of these words that belong to the index.
    last_index_mask: u64,
    /// The lowest bit of each remainder in a word, and how many a word has.
    ones: u64,
    in_word: u32,
}

/// A fingerprint in a bucket, as a run and a remainder.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Local {
    pub(super) run: u32,
    pub(super) remainder: u64,
}

/// The keys of a run.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Run {
    /// The bit of the index at which it starts.
    bit: u32,
    /// Its first slot.
    slot: u32,
    len: u32,
    /// Keys of the whole bucket.
    pub(super) keys: u32,
}

impl Run {
    /// The run with its length.
    #[inline(always)]
    pub(super) fn with_len(self, words: &Words) -> Self {
        Self { len: ones_from(words, self.bit), ..self }
    }
}

impl Frame {
    pub(super) const fn new(shape: Shape) -> Self {
        let index_bits = shape.runs + shape.slots;
        let width = if shape.remainder_bits == 0 { SURE_BITS } else { shape.remainder_bits };
        let (mut ones, mut in_word) = (0, 0);
        while (in_word + 1) * width <= SURE_BITS {
            ones |= 1 << (in_word * width);
            in_word += 1;
        }
        let last = index_bits % 64;
        Self {
            shape,
            index_bits,
            index_words: index_bits.div_ceil(64),
            last_index_mask: if last == 0 { u64::MAX } else { (1 << last) - 1 },
            ones,
            in_word,
        }
    }

    /// What front buckets of this shape are queried with.
    pub(super) const fn fronts(&self, num_fronts: u64) -> Fronts {
        Fronts {
            buckets: num_fronts,
            fingerprints: (self.shape.runs as u64) << self.shape.remainder_bits,
            index_bits: self.index_bits,
            remainder_bits: self.shape.remainder_bits,
            slots: self.shape.slots,
            ones: self.ones,
            in_word: self.in_word,
        }
    }

    pub(super) const fn slots(&self) -> u32 {
        self.shape.slots
    }

    /// The number of a fingerprint within its bucket.
    pub(super) const fn number(&self, local: Local) -> u64 {
        ((local.run as u64) << self.shape.remainder_bits) | local.remainder
    }

    /// The inverse of [`Frame::number`].
    pub(super) const fn local(&self, number: u64) -> Local {
        let bits = self.shape.remainder_bits;
        Local { run: (number >> bits) as u32, remainder: number & ((1 << bits) - 1) }
    }

    /// The run of this number.
    #[inline(always)]
    pub(super) fn run<K: BucketKernel>(&self, words: &Words, run: u32) -> Run {
        let (bit, zeros) = K::find_run(first_half(words), self.index_bits, run);
        let keys = self.index_bits - zeros;
        Run { bit, slot: bit - run, len: ones_from(words, bit), keys }
    }

    /// Calls `each` with the number of each key of a group, and its run, whose keys are not counted
    /// yet: [`Run::with_len`] does.
    #[inline(always)]
    pub(super) fn find_runs<K: BucketKernel>(
        &self,
        fronts: &[Words],
        front: &[usize],
        run: &[u32],
        mut each: impl FnMut(usize, Run),
    ) {
        K::find_runs(
            fronts,
            front,
            self.index_bits,
            run,
            #[inline(always)]
            |i, bit, zeros| {
                each(i, Run { bit, slot: bit - run[i], len: 0, keys: self.index_bits - zeros });
            },
        );
    }

    /// Whether a remainder is in the run.
    #[inline(always)]
    pub(super) fn contains(&self, words: &Words, run: Run, remainder: u64) -> bool {
        if run.len <= self.in_word {
            return self.equal_fields(word_at(words, self.bit_of(run.slot)), run.len, remainder)
                != 0;
        }
        self.rank_in_slots(words, run, remainder).1 != 0
    }

    /// The remainders of a run that are smaller than this one, and those that equal it.
    #[inline(always)]
    pub(super) fn rank(&self, words: &Words, run: Run, remainder: u64) -> (u32, u32) {
        if run.len <= self.in_word && self.shape.remainder_bits > 0 {
            let word = word_at(words, self.bit_of(run.slot));
            let smaller = self.smaller_fields(word, run.len, remainder).count_ones();
            (smaller, self.equal_fields(word, run.len, remainder).count_ones())
        } else {
            self.rank_in_slots(words, run, remainder)
        }
    }

    /// [`Frame::rank`] one by one.
    fn rank_in_slots(&self, words: &Words, run: Run, remainder: u64) -> (u32, u32) {
        let mut rank = (0, 0);
        for slot in run.slot..run.slot + run.len {
            let other = self.remainder(words, slot);
            rank.0 += u32::from(other < remainder);
            rank.1 += u32::from(other == remainder);
        }
        rank
    }

    /// The highest bits of those of the first `len` remainders of a word that equal this one.
    #[inline(always)]
    fn equal_fields(&self, word: u64, len: u32, remainder: u64) -> u64 {
        let bits = self.shape.remainder_bits;
        if bits == 0 {
            return below(len);
        }
        let high = self.ones << (bits - 1);
        let low = high - self.ones;
        let difference = word ^ remainder.wrapping_mul(self.ones);
        // Without their highest bits the fields add without a carry into each other.
        !((difference & low).wrapping_add(low) | difference) & high & below(len * bits)
    }

    /// The highest bits of those of the first `len` remainders of a word that are smaller.
    #[inline(always)]
    fn smaller_fields(&self, word: u64, len: u32, remainder: u64) -> u64 {
        let bits = self.shape.remainder_bits;
        let high = self.ones << (bits - 1);
        let others = remainder.wrapping_mul(self.ones);
        // A highest bit stays where the rest of the field is not smaller.
        let not_smaller = (word | high).wrapping_sub(others & !high);
        (!word & others | !(word ^ others) & !not_smaller) & high & below(len * bits)
    }

    /// Whether the bucket is full, and nothing is behind the run.
    #[inline(always)]
    pub(super) const fn ends_last(&self, run: Run) -> bool {
        run.slot + run.len == self.shape.slots
    }

    /// Whether a fingerprint that is not in the bucket may be in one of the next level: the bucket
    /// is full, and all its fingerprints are smaller, or equal.
    #[inline(always)]
    pub(super) fn may_be_above(&self, words: &Words, run: Run, remainder: u64) -> bool {
        self.ends_last(run)
            && (run.len == 0 || self.remainder(words, self.shape.slots - 1) <= remainder)
    }

    /// Inserts a remainder into a run of a bucket that is not full, behind the `smaller` ones.
    #[inline(always)]
    pub(super) fn insert_at<K: BucketKernel>(
        &self,
        words: &mut Words,
        run: Run,
        smaller: u32,
        remainder: u64,
    ) {
        debug_assert!(run.keys < self.shape.slots, "a bucket with room");
        K::insert(words, self.place(run.bit + smaller, run.slot + smaller), remainder);
    }

    /// The place of the key of this bit of the index and this slot.
    #[inline(always)]
    const fn place(&self, index_bit: u32, slot: u32) -> Place {
        let (index_bits, remainder_bits) = (self.index_bits, self.shape.remainder_bits);
        let remainder_bit = index_bits + slot * remainder_bits;
        Place { index_bit, index_bits, remainder_bit, remainder_bits }
    }

    /// [`Frame::insert_at`] where it belongs.
    pub(super) fn insert<K: BucketKernel>(&self, words: &mut Words, run: Run, remainder: u64) {
        let (smaller, _) = self.rank(words, run, remainder);
        self.insert_at::<K>(words, run, smaller, remainder);
    }

    /// Removes the remainder of a run behind the `smaller` ones.
    #[inline(always)]
    pub(super) fn remove_at<K: BucketKernel>(&self, words: &mut Words, run: Run, smaller: u32) {
        K::remove(words, self.place(run.bit + smaller, run.slot + smaller));
    }

    /// Removes the largest fingerprint of a full bucket.
    pub(super) fn pop_last<K: BucketKernel>(&self, words: &mut Words) -> Local {
        let slot = self.shape.slots - 1;
        let mut word = self.index_words as usize - 1;
        let mut bits = words[word] & self.last_index_mask;
        while bits == 0 {
            word -= 1;
            bits = words[word];
        }
        let bit = word as u32 * 64 + bits.ilog2();
        let last = Local { run: bit - slot, remainder: self.remainder(words, slot) };
        K::remove(words, self.place(bit, slot));
        last
    }

    /// The smallest fingerprint that is not below `low`.
    pub(super) fn first_from<K: BucketKernel>(&self, words: &Words, low: Local) -> Option<Local> {
        let run = self.run::<K>(words, low.run);
        let (smaller, _) = self.rank(words, run, low.remainder);
        if run.slot + smaller >= run.keys {
            return None;
        }
        let slot = run.slot + smaller;
        let remainder = self.remainder(words, slot);
        let bit = next_one(words, run.bit + smaller);
        Some(Local { run: bit - slot, remainder })
    }

    /// Calls `each` with every fingerprint, ascending.
    pub(super) fn for_each(&self, words: &Words, mut each: impl FnMut(Local)) {
        let mut slot = 0;
        for word in 0..self.index_words {
            let mut ones = self.index_word(words, word);
            while ones != 0 {
                let bit = word * 64 + ones.trailing_zeros();
                each(Local { run: bit - slot, remainder: self.remainder(words, slot) });
                slot += 1;
                ones &= ones - 1;
            }
        }
    }

    /// The bits of the index in one of its words.
    fn index_word(&self, words: &Words, word: u32) -> u64 {
        let is_last = word + 1 == self.index_words;
        words[word as usize] & if is_last { self.last_index_mask } else { u64::MAX }
    }

    /// Keys of the bucket.
    pub(super) fn keys(&self, words: &Words) -> u32 {
        (0..self.index_words).map(|word| self.index_word(words, word).count_ones()).sum()
    }

    /// Whether the bits are those of a bucket: its index has a 0 for each run, runs are sorted, and
    /// what is behind the last remainder is 0.
    pub(super) fn is_sound(&self, words: &Words) -> bool {
        let keys = self.keys(words);
        // First: remainders of more keys would be behind the bucket.
        if keys > self.shape.slots {
            return false;
        }
        let (mut last, mut sorted) = (None, true);
        self.for_each(words, |local| {
            let number = self.number(local);
            sorted &= local.run < self.shape.runs && last <= Some(number);
            last = Some(number);
        });
        let end = self.bit_of(keys);
        let from = (end / 64 + 1) as usize;
        sorted
            && words.iter().skip(from).all(|&word| word == 0)
            && words.get(from - 1).is_none_or(|word| word >> (end % 64) == 0)
    }

    #[inline(always)]
    fn bit_of(&self, slot: u32) -> u32 {
        self.index_bits + slot * self.shape.remainder_bits
    }

    #[inline(always)]
    fn remainder(&self, words: &Words, slot: u32) -> u64 {
        word_at(words, self.bit_of(slot)) & ((1 << self.shape.remainder_bits) - 1)
    }
}

/// At least 57 bits from this one on; what is behind the bucket is 0.
#[inline(always)]
fn word_at(words: &Words, bit: u32) -> u64 {
    // One load, of bytes in the order of the bits.
    if cfg!(target_endian = "little")
        && let Some(bytes) = bytemuck::bytes_of(words)[bit as usize / 8..].first_chunk()
    {
        return u64::from_ne_bytes(*bytes) >> (bit % 8);
    }
    whole_word_at(words, bit)
}

/// The 64 bits from this one on; what is behind the bucket is 0.
#[inline(always)]
fn whole_word_at(words: &Words, bit: u32) -> u64 {
    let (word, shift) = (bit as usize / 64, bit % 64);
    let low = words.get(word).map_or(0, |low| low >> shift);
    // Twice, since a shift by 64 is none.
    let high = words.get(word + 1).map_or(0, |high| high << 1 << (63 - shift));
    low | high
}

/// Ones from this bit on up to the next zero.
#[inline(always)]
fn ones_from(words: &Words, bit: u32) -> u32 {
    let ones = word_at(words, bit).trailing_ones();
    if ones < SURE_BITS { ones } else { ones_from_in_words(words, bit) }
}

#[cold]
fn ones_from_in_words(words: &Words, bit: u32) -> u32 {
    let mut ones = 0;
    loop {
        let more = whole_word_at(words, bit + ones).trailing_ones();
        ones += more;
        if more < 64 {
            return ones;
        }
    }
}

/// The first one from this bit on: there is one.
fn next_one(words: &Words, bit: u32) -> u32 {
    let mut from = bit;
    loop {
        match whole_word_at(words, from) {
            0 => from += 64,
            word => return from + word.trailing_zeros(),
        }
    }
}

/// The bits below this one in a word, all from 64 on.
#[inline(always)]
const fn below(bit: u32) -> u64 {
    if bit < 64 { (1 << bit) - 1 } else { u64::MAX }
}

/// The first half of a bucket, which has the whole index.
#[inline(always)]
fn first_half(words: &Words) -> &[u64; INDEX_WORDS] {
    words.first_chunk().expect("half of a bucket")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sizing::compact::{CompactParams, NUM_LEVELS};

    /// Bits from a damaged or forged file: those of a bucket are in order, and no others are taken.
    #[test]
    fn any_bits_are_judged_without_reading_behind_the_bucket() {
        for target_fpp in [0.04, 0.01, 1e-3, 1e-4, 1e-6, 1e-9, 1e-12] {
            let params = CompactParams::for_items(100_000, target_fpp).unwrap();
            for level in 0..NUM_LEVELS {
                let frame = Frame::new(params.shape(level));
                assert!(frame.is_sound(&Words::default()), "an empty bucket");
                assert!(!frame.is_sound(&[u64::MAX; size_of::<Words>() / 8]));
                let (mut random, mut words) = (7u64, Words::default());
                for round in 0..2_000 {
                    for word in &mut words {
                        random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
                        // Of all densities: an index with too many keys, and with few.
                        *word = random.rotate_right(29) | random.wrapping_mul(round % 3);
                    }
                    assert!(!frame.is_sound(&words), "level {level}, round {round}");
                }
            }
        }
    }
}
