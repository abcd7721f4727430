//! `blocked`: all bits of a key in one 512-bit block, one cache line.

use super::{Layout, LayoutKind, sealed};
use crate::bits::{Block, Storage};
use crate::sync::AtomicU64;
use crate::{Digest, FilterParams, InstructionSet, positions, simd};

/// The `blocked` layout: 8 lanes of 64 bits, one bit per lane per 8 hashes; for k = 4, one bit in
/// each of 4 lanes of 128 bits.
///
/// A query touches one cache line. Block = `mulhi(digest, num_blocks)`; lane `i`'s bit is six
/// (seven) bits of `digest · 0x9E3779B97F4A7C15` from the top, and for k = 16 a second one of
/// `digest · 0xD6E8FEB86659FD93` (`crates/mayhap/NATIVE-FORMAT.md`).
#[derive(Debug, Clone, Copy)]
pub struct Blocked {
    backend: simd::Backend,
    /// k: 4, 8 or 16.
    num_hashes: u32,
    pairs: Option<simd::Pairs>,
}

impl sealed::Sealed for Blocked {}

impl LayoutKind for Blocked {
    const LAYOUT: Layout = Layout::Blocked;

    fn new(params: &FilterParams) -> Self {
        let num_hashes = params.num_hashes();
        let backend = simd::Backend::detect(num_hashes);
        Self { backend, num_hashes, pairs: simd::Pairs::detect() }
    }

    fn limit_kernel(&mut self, params: &FilterParams, most: InstructionSet) {
        self.backend = simd::Backend::up_to(params.num_hashes(), most);
    }

    fn kernel_name(&self) -> &'static str {
        self.backend.name()
    }

    #[inline(always)]
    fn contains(&self, blocks: &[Block], digest: Digest) -> bool {
        self.backend.contains(blocks, digest)
    }

    #[inline(always)]
    fn insert(&self, blocks: &mut [Block], digest: Digest) -> bool {
        self.backend.insert(blocks, digest)
    }

    #[inline(always)]
    fn insert_counted(&self, blocks: &mut [Block], digest: Digest) -> u32 {
        let index = positions::block(digest, blocks.len() as u64) as usize;
        let mut set = 0;
        for (lane, bits) in blocks[index].0.iter_mut().zip(self.mask(digest)) {
            set += (bits & !*lane).count_ones();
            *lane |= bits;
        }
        set
    }

    #[inline(always)]
    fn prefetch(&self, blocks: &[Block], digest: Digest) {
        simd::prefetch(blocks, positions::block(digest, blocks.len() as u64) as usize);
    }

    fn contains_batch(&self, blocks: &[Block], digests: &[Digest], found: &mut [u64]) {
        self.backend.contains_batch(blocks, digests, found);
    }

    fn insert_batch(&self, blocks: &mut [Block], digests: &[Digest], new: &mut [u64]) {
        self.backend.insert_batch(blocks, digests, new);
    }

    #[inline]
    fn contains_shared(&self, words: &[AtomicU64], digest: Digest) -> bool {
        self.backend.contains_shared(words, digest)
    }

    #[inline]
    fn contains_shared_group(&self, words: &[AtomicU64], digests: &[Digest]) -> u64 {
        self.backend.contains_shared_group(words, digests)
    }

    #[inline]
    fn insert_shared(&self, words: &[AtomicU64], digest: Digest) -> bool {
        self.backend.insert_shared(words, digest, self.pairs)
    }

    #[inline]
    fn prefetch_shared<const WRITE: bool>(&self, words: &[AtomicU64], digest: Digest) {
        let index = positions::block(digest, words.len() as u64 / 8) as usize * 8;
        if WRITE { simd::prefetch_write(words, index) } else { simd::prefetch(words, index) }
    }

    /// Exact for these contents: the mean over blocks of the product over lanes of
    /// `(ones / 64)^(k/8)`, or for k = 4 of `ones / 128`.
    fn fpp_of(&self, _params: &FilterParams, blocks: &impl Storage) -> f64 {
        let num_blocks = blocks.num_blocks();
        let sum: f64 = simd::with_popcount(
            #[inline(always)]
            || {
                let mut sum = 0.0;
                for i in 0..num_blocks {
                    let ones = blocks.block(i).0.map(u64::count_ones);
                    sum += match self.num_hashes {
                        4 => {
                            let lanes = ones.as_chunks::<2>().0.iter();
                            share(lanes.map(|[a, b]| a + b), 1 << 28) // 128^4
                        }
                        8 => share(ones, 1 << 48), // 64^8
                        _ => share(ones, 1 << 48) * share(ones, 1 << 48),
                    };
                }
                sum
            },
        );
        sum / num_blocks as f64
    }
}

/// The product of the lanes' ones, divided by the product of their bits.
#[inline(always)]
fn share(ones: impl IntoIterator<Item = u32>, bits: u64) -> f64 {
    ones.into_iter().fold(1.0, |product, ones| product * f64::from(ones)) / bits as f64
}

impl Blocked {
    #[inline(always)]
    fn mask(&self, digest: Digest) -> [u64; 8] {
        match self.num_hashes {
            4 => positions::block_mask::<4>(digest),
            8 => positions::block_mask::<8>(digest),
            _ => positions::block_mask::<16>(digest),
        }
    }
}

#[cfg(all(test, not(any(loom, shuttle))))]
mod tests {
    use super::*;
    use crate::bits::{OwnedBlocks, SharedBlocks};
    use crate::sync::Ordering;
    use std::{println, vec::Vec};

    /// Small, so that most keys meet bits of others.
    const BLOCKS: u64 = 16;

    fn shared() -> SharedBlocks {
        SharedBlocks::new(OwnedBlocks::zeroed(BLOCKS).unwrap())
    }

    fn words(blocks: &SharedBlocks) -> Vec<u64> {
        // ORDERING: Relaxed. No other thread has these words.
        blocks.words().iter().map(|word| word.load(Ordering::Relaxed)).collect()
    }

    /// One by one, word by word and pair by pair: the same answers and the same bits.
    fn ways_to_insert_are_alike<const K: u32>() {
        let params = FilterParams::new(Layout::Blocked, BLOCKS * 512, K, 100, 0.01).unwrap();
        let layout = Blocked::new(&params);
        let without_pairs = Blocked { pairs: None, ..layout };
        let (mut one, by_words, by_pairs) =
            (OwnedBlocks::zeroed(BLOCKS).unwrap(), shared(), shared());
        let pairs = layout.pairs;
        println!("k = {K}: pairs {}", if pairs.is_some() { "compared" } else { "not here" });
        let (mut new, mut ones) = (0, 0);
        for i in 0..3_000u64 {
            // Each key twice, with others in between.
            let digest = Digest::new((i % 1_700 + 1).wrapping_mul(0x9E37_79B9_7F4A_7C15));
            let expected = layout.insert(one.as_mut(), digest);
            let found = without_pairs.insert_shared(by_words.words(), digest);
            assert_eq!(found, expected, "k = {K}, key {i}");
            if pairs.is_some() {
                let found = layout.insert_shared(by_pairs.words(), digest);
                assert_eq!(found, expected, "k = {K}, key {i}");
            }
            new += u64::from(expected);
        }
        let flat: Vec<u64> = one.as_ref().iter().flat_map(|block| block.0).collect();
        assert!(words(&by_words) == flat, "k = {K}");
        assert!(pairs.is_none() || words(&by_pairs) == flat, "k = {K}");
        ones += flat.iter().map(|word| u64::from(word.count_ones())).sum::<u64>();
        // All K of a first key, and for some keys only some.
        assert!(ones > u64::from(K) * 100 && new < 1_700 && ones < u64::from(K) * new, "k = {K}");
    }

    #[test]
    fn ways_to_insert_set_the_same_bits_and_say_the_same() {
        ways_to_insert_are_alike::<4>();
        ways_to_insert_are_alike::<8>();
        ways_to_insert_are_alike::<16>();
    }

    /// The first key of an empty filter sets all its K bits, however it is inserted.
    #[test]
    fn a_first_key_sets_k_bits() {
        fn first<const K: u32>() {
            for i in 1..500u64 {
                let digest = Digest::new(i.wrapping_mul(0xD6E8_FEB8_6659_FD93));
                let params = FilterParams::new(Layout::Blocked, BLOCKS * 512, K, 9, 0.1).unwrap();
                let (layout, blocks) = (Blocked::new(&params), shared());
                assert!(Blocked { pairs: None, ..layout }.insert_shared(blocks.words(), digest));
                let ones: u32 = words(&blocks).iter().map(|word| word.count_ones()).sum();
                let mask = positions::block_mask::<K>(digest);
                let expected: u32 = mask.iter().map(|word| word.count_ones()).sum();
                assert_eq!(ones, expected, "k = {K}, key {i}");
                // Two of the 16 may be one.
                assert!(expected == K || K == 16 && expected > 8, "k = {K}, key {i}");
            }
        }
        first::<4>();
        first::<8>();
        first::<16>();
    }
}
