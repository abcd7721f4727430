//! `standard`: k bits anywhere in m.

use super::{Layout, LayoutKind, sealed};
use crate::bits::{Block, Storage, block};
use crate::sizing::estimated_fpp;
use crate::sync::{AtomicU64, Ordering};
use crate::{Digest, FilterParams, InstructionSet, positions, simd};

/// The `standard` layout: the classic Bloom filter, any m ≥ 64 and k from 1 to 32.
///
/// Probe `i` is bit `mulhi(digest · A_i, m)` with its own odd multiplier `A_i`, instead of double
/// hashing. A query touches up to k cache lines, 2 on average for an absent key.
#[derive(Debug, Clone, Copy)]
pub struct Standard {
    probes: simd::Probes,
}

/// The number of keys whose cache lines are requested together.
const GROUP: usize = 32;
/// The probes of the first round for each key; the others are requested only if these answer
/// "maybe".
const FIRST_PROBES: usize = 2;

impl Standard {
    #[inline(always)]
    fn multipliers(&self) -> &'static [u64] {
        &positions::PROBE_MULTIPLIERS[..self.probes.num_hashes() as usize]
    }

    #[inline(always)]
    fn position(&self, digest: Digest, multiplier: u64) -> (usize, u64) {
        let position = positions::standard(digest, multiplier, self.probes.num_bits());
        ((position / 64) as usize, 1 << (position % 64))
    }

    #[inline(always)]
    fn prefetch_all<T>(&self, words: &[T], digest: Digest, multipliers: &[u64]) {
        for &multiplier in multipliers {
            simd::prefetch(words, self.position(digest, multiplier).0);
        }
    }

    /// Queries keys whose lines are not in the cache: the lines of the first probes are requested a
    /// group ahead, the others where these answer "maybe".
    fn contains_far<W: simd::Word>(&self, words: &[W], digests: &[Digest], found: &mut [u64]) {
        let multipliers = self.multipliers();
        let (first, rest) = multipliers.split_at(FIRST_PROBES.min(multipliers.len()));
        let mut groups = digests.chunks(GROUP);
        let mut next = groups.next();
        for &digest in next.unwrap_or_default() {
            self.prefetch_all(words, digest, first);
        }
        let mut start = 0;
        while let Some(group) = next {
            next = groups.next();
            for &digest in next.unwrap_or_default() {
                self.prefetch_all(words, digest, first);
            }
            let mut maybe = 0u64;
            for (i, &digest) in group.iter().enumerate() {
                maybe |= u64::from(self.probes.has_each(words, digest, first)) << i;
            }
            let survivors = maybe;
            for_each_one(survivors, |i| self.prefetch_all(words, group[i], rest));
            for_each_one(survivors, |i| {
                maybe &= !(u64::from(!self.probes.has_each(words, group[i], rest)) << i);
            });
            found[start / 64] |= maybe << (start % 64);
            start += GROUP;
        }
    }
}

#[inline(always)]
fn for_each_one(mut bits: u64, mut f: impl FnMut(usize)) {
    while bits != 0 {
        f(bits.trailing_zeros() as usize);
        bits &= bits - 1;
    }
}

impl sealed::Sealed for Standard {}

impl LayoutKind for Standard {
    const LAYOUT: Layout = Layout::Standard;

    fn new(params: &FilterParams) -> Self {
        Self { probes: simd::Probes::new(params.num_bits(), params.num_hashes()) }
    }

    fn limit_kernel(&mut self, params: &FilterParams, most: InstructionSet) {
        self.probes = simd::Probes::up_to(params.num_bits(), params.num_hashes(), most);
    }

    fn kernel_name(&self) -> &'static str {
        self.probes.kernel_name()
    }

    #[inline(always)]
    fn contains(&self, blocks: &[Block], digest: Digest) -> bool {
        self.probes.contains(block::words(blocks), digest)
    }

    #[inline(always)]
    fn insert(&self, blocks: &mut [Block], digest: Digest) -> bool {
        self.probes.insert(block::words_mut(blocks), digest)
    }

    #[inline(always)]
    fn insert_counted(&self, blocks: &mut [Block], digest: Digest) -> u32 {
        let words = block::words_mut(blocks);
        let mut set = 0;
        for &multiplier in self.multipliers() {
            let (word, bit) = self.position(digest, multiplier);
            let word = &mut words[word];
            set += u32::from(*word & bit == 0);
            *word |= bit;
        }
        set
    }

    #[inline(always)]
    fn prefetch(&self, blocks: &[Block], digest: Digest) {
        self.prefetch_all(block::words(blocks), digest, self.multipliers());
    }

    fn contains_batch(&self, blocks: &[Block], digests: &[Digest], found: &mut [u64]) {
        let words = block::words(blocks);
        if !self.probes.is_near() {
            return self.contains_far(words, digests, found);
        }
        for (group, found) in digests.chunks(64).zip(found) {
            *found |= self.probes.contains_group(words, group);
        }
    }

    fn insert_batch(&self, blocks: &mut [Block], digests: &[Digest], new: &mut [u64]) {
        let words = block::words_mut(blocks);
        for (i, group) in digests.chunks(GROUP).enumerate() {
            if !self.probes.is_near() {
                for &digest in group {
                    self.prefetch_all(words, digest, self.multipliers());
                }
            }
            let start = i * GROUP;
            new[start / 64] |= self.probes.insert_group(words, group) << (start % 64);
        }
    }

    #[inline]
    fn contains_shared(&self, words: &[AtomicU64], digest: Digest) -> bool {
        self.probes.contains_shared(words, digest)
    }

    fn contains_batch_shared(&self, words: &[AtomicU64], digests: &[Digest], found: &mut [u64]) {
        if !self.probes.is_near() {
            return self.contains_far(words, digests, found);
        }
        for (group, found) in digests.chunks(64).zip(found) {
            *found |= self.probes.contains_shared_group(words, group);
        }
    }

    #[inline]
    fn insert_shared(&self, words: &[AtomicU64], digest: Digest) -> bool {
        let mut new = 0;
        for &multiplier in self.multipliers() {
            let (word, bit) = self.position(digest, multiplier);
            // ORDERING: Relaxed. A bit carries no data but itself and never returns to 0 while the
            // filter is shared, so no other memory has to become visible with it. `fetch_or` is one
            // read-modify-write: of two threads that set a bit, exactly one sees it clear before.
            if words[word].load(Ordering::Relaxed) & bit == 0 {
                new |= bit & !words[word].fetch_or(bit, Ordering::Relaxed);
            }
        }
        new != 0
    }

    #[inline]
    fn prefetch_shared<const WRITE: bool>(&self, words: &[AtomicU64], digest: Digest) {
        for &multiplier in self.multipliers() {
            let (word, _) = self.position(digest, multiplier);
            if WRITE { simd::prefetch_write(words, word) } else { simd::prefetch(words, word) }
        }
    }

    /// (X/m)^k with X set bits: exact for these contents.
    fn fpp_of(&self, params: &FilterParams, blocks: &impl Storage) -> f64 {
        estimated_fpp(blocks.count_ones(), params.num_bits(), params.num_hashes())
    }
}
