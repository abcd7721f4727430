//! `blocked128` and `blocked64`: the plain forms of counting filters, with one bit for each
//! counter.

use super::{Layout, LayoutKind, sealed};
use crate::bits::{Block, Storage, block};
use crate::sync::{AtomicU64, Ordering};
use crate::{Digest, FilterParams, InstructionSet, positions, simd};

/// The `blocked128` layout: 8 lanes of 16 bits, one bit per lane.
pub type Blocked128 = NarrowBlocked<2>;
/// The `blocked64` layout: 8 lanes of 8 bits, one bit per lane.
pub type Blocked64 = NarrowBlocked<1>;

/// Blocks of `WORDS` words, 2 for [`Blocked128`] and 1 for [`Blocked64`]: 8 lanes with one bit of a
/// key each, k = 8.
///
/// A query touches one cache line. Block = `mulhi(digest, num_blocks)`; lane `i`'s bit is 4 (3)
/// bits of `digest · 0x9E3779B97F4A7C15` from the top, so it is the same slot as in a counting
/// filter with 4-bit (8-bit) counters. The load of narrow blocks varies more than that of wide
/// ones, so these layouts need more bits than `blocked` and are never a default.
#[derive(Debug, Clone, Copy)]
pub struct NarrowBlocked<const WORDS: usize> {
    num_blocks: u64,
}

/// The number of keys per group; lines are requested one group ahead.
const GROUP: usize = 64;

impl<const WORDS: usize> NarrowBlocked<WORDS> {
    /// Lanes in a word, and bits in a lane.
    const WORD_LANES: usize = 8 / WORDS;
    const LANE_BITS: u32 = 8 * WORDS as u32;

    #[inline(always)]
    fn mask(digest: Digest) -> [u64; WORDS] {
        let product = digest.get().wrapping_mul(positions::LANE_MULTIPLIERS[0]);
        core::array::from_fn(|word| {
            (0..Self::WORD_LANES).fold(0, |bits, i| {
                let lane = word * Self::WORD_LANES + i;
                let slot = if WORDS == 2 {
                    positions::lane_slot::<4>(product, lane)
                } else {
                    positions::lane_slot::<3>(product, lane)
                };
                bits | 1 << (i as u32 * Self::LANE_BITS + slot)
            })
        })
    }

    /// The first word of a digest's block.
    #[inline(always)]
    fn start(self, digest: Digest) -> usize {
        positions::block(digest, self.num_blocks) as usize * WORDS
    }

    #[inline(always)]
    fn has_all(self, words: &[u64], digest: Digest) -> bool {
        let start = self.start(digest);
        let words = words[start..start + WORDS].iter();
        words.zip(Self::mask(digest)).fold(0, |missing, (word, bits)| missing | (bits & !word)) == 0
    }

    #[inline(always)]
    fn set_all(self, words: &mut [u64], digest: Digest) -> u32 {
        let start = self.start(digest);
        let mut set = 0;
        for (word, bits) in words[start..start + WORDS].iter_mut().zip(Self::mask(digest)) {
            set += (bits & !*word).count_ones();
            *word |= bits;
        }
        set
    }

    /// Calls `answer(i, digest)` for each digest, with its line requested 64 to 128 keys earlier.
    #[inline(always)]
    fn for_each_digest<B>(
        self,
        blocks: &mut B,
        view: impl Fn(&B) -> &[Block],
        digests: &[Digest],
        mut answer: impl FnMut(&mut B, usize, Digest),
    ) {
        let fits_cache = simd::fits_cache(view(blocks).len());
        let mut later = digests.iter();
        let mut prefetch = |blocks: &B, keys| {
            if !fits_cache {
                for &digest in later.by_ref().take(keys) {
                    self.prefetch(view(blocks), digest);
                }
            }
        };
        prefetch(blocks, GROUP);
        for (group_index, group) in digests.chunks(GROUP).enumerate() {
            prefetch(blocks, GROUP);
            for (i, &digest) in group.iter().enumerate() {
                answer(blocks, group_index * GROUP + i, digest);
            }
        }
    }
}

impl<const WORDS: usize> sealed::Sealed for NarrowBlocked<WORDS> {}

impl<const WORDS: usize> LayoutKind for NarrowBlocked<WORDS> {
    const LAYOUT: Layout = match WORDS {
        1 => Layout::Blocked64,
        2 => Layout::Blocked128,
        _ => panic!("blocks have 1 or 2 words"),
    };

    fn new(params: &FilterParams) -> Self {
        Self { num_blocks: params.num_bits() / Self::LAYOUT.block_bits() }
    }

    /// There is only the scalar kernel.
    fn limit_kernel(&mut self, _: &FilterParams, _: InstructionSet) {}

    fn kernel_name(&self) -> &'static str {
        "scalar"
    }

    #[inline(always)]
    fn contains(&self, blocks: &[Block], digest: Digest) -> bool {
        self.has_all(block::words(blocks), digest)
    }

    #[inline(always)]
    fn insert(&self, blocks: &mut [Block], digest: Digest) -> bool {
        self.set_all(block::words_mut(blocks), digest) != 0
    }

    #[inline(always)]
    fn insert_counted(&self, blocks: &mut [Block], digest: Digest) -> u32 {
        self.set_all(block::words_mut(blocks), digest)
    }

    #[inline(always)]
    fn prefetch(&self, blocks: &[Block], digest: Digest) {
        simd::prefetch(block::words(blocks), self.start(digest));
    }

    fn contains_batch(&self, blocks: &[Block], digests: &[Digest], found: &mut [u64]) {
        self.for_each_digest(
            &mut { blocks },
            |blocks| blocks,
            digests,
            |blocks, i, digest| {
                found[i / 64] |= u64::from(self.contains(blocks, digest)) << (i % 64);
            },
        );
    }

    fn insert_batch(&self, blocks: &mut [Block], digests: &[Digest], new: &mut [u64]) {
        self.for_each_digest(
            &mut { blocks },
            |blocks| blocks,
            digests,
            |blocks, i, digest| {
                new[i / 64] |= u64::from(self.insert(blocks, digest)) << (i % 64);
            },
        );
    }

    #[inline]
    fn contains_shared(&self, words: &[AtomicU64], digest: Digest) -> bool {
        let start = self.start(digest);
        let words = words[start..start + WORDS].iter();
        // ORDERING: Relaxed. See `insert_shared`.
        words
            .zip(Self::mask(digest))
            .fold(0, |missing, (word, bits)| missing | (bits & !word.load(Ordering::Relaxed)))
            == 0
    }

    #[inline]
    fn insert_shared(&self, words: &[AtomicU64], digest: Digest) -> bool {
        let start = self.start(digest);
        let mut new = 0;
        for (word, bits) in words[start..start + WORDS].iter().zip(Self::mask(digest)) {
            // ORDERING: Relaxed. A bit carries no data but itself and never returns to 0 while the
            // filter is shared, so no other memory has to become visible with it. `fetch_or` is one
            // read-modify-write: of two threads that set a bit, exactly one sees it clear before.
            if bits & !word.load(Ordering::Relaxed) != 0 {
                new |= bits & !word.fetch_or(bits, Ordering::Relaxed);
            }
        }
        new != 0
    }

    #[inline]
    fn prefetch_shared<const WRITE: bool>(&self, words: &[AtomicU64], digest: Digest) {
        let start = self.start(digest);
        if WRITE { simd::prefetch_write(words, start) } else { simd::prefetch(words, start) }
    }

    /// Exact for these contents: the mean over blocks of the product over lanes of `ones / lane
    /// bits`.
    fn fpp_of(&self, _params: &FilterParams, blocks: &impl Storage) -> f64 {
        let lane_mask = (1u64 << Self::LANE_BITS) - 1;
        let mut sum = 0.0;
        for i in 0..blocks.num_blocks() {
            // The last 512 bits may be only partly in use; the product of zeros adds nothing.
            for words in blocks.block(i).0.chunks_exact(WORDS) {
                let lanes = words.iter().flat_map(|word| {
                    (0..Self::WORD_LANES)
                        .map(move |lane| word >> (lane as u32 * Self::LANE_BITS) & lane_mask)
                });
                // At most 16^8 = 2^32.
                let product: u64 = lanes.map(|lane| u64::from(lane.count_ones())).product();
                sum += product as f64;
            }
        }
        let answers = libm::pow(f64::from(Self::LANE_BITS), 8.0);
        sum / answers / self.num_blocks as f64
    }
}
