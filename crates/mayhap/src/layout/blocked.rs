//! `blocked`: all bits of a key in one 512-bit block, one cache line.

use super::{Layout, LayoutKind, positions};
use crate::bits::{Block, Storage};
use crate::sync::{AtomicU64, Ordering};
use crate::{Digest, FilterParams, simd};

/// The `blocked` layout: 8 lanes of 64 bits, one bit per lane per 8 hashes.
///
/// A query touches one cache line. Block = `mulhi(digest, num_blocks)`; lane `i`'s bit is six bits
/// of `digest · 0x9E3779B97F4A7C15` from the top, and for k = 16 a second one of
/// `digest · 0xD6E8FEB86659FD93` (`docs/native-format.md`).
#[derive(Debug, Clone, Copy)]
pub struct Blocked {
    backend: simd::Backend,
    /// 1 for k = 8, 2 for k = 16.
    passes: u32,
    pairs: Option<simd::Pairs>,
}

impl LayoutKind for Blocked {
    const LAYOUT: Layout = Layout::Blocked;

    fn new(params: &FilterParams) -> Self {
        let passes = params.num_hashes() / 8;
        Self { backend: simd::Backend::detect(passes), passes, pairs: simd::Pairs::detect() }
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
        let mask = self.mask(digest);
        // ORDERING: Relaxed. See `insert_lanes`.
        Self::lanes(words, digest)
            .iter()
            .zip(mask)
            .fold(0, |missing, (lane, bits)| missing | (bits & !lane.load(Ordering::Relaxed)))
            == 0
    }

    #[inline]
    fn insert_shared(&self, words: &[AtomicU64], digest: Digest) -> bool {
        match (self.passes, self.pairs) {
            (1, Some(pairs)) => insert_pairs::<1>(pairs, words, digest),
            (_, Some(pairs)) => insert_pairs::<2>(pairs, words, digest),
            (1, None) => insert_lanes::<1>(words, digest),
            (_, None) => insert_lanes::<2>(words, digest),
        }
    }

    #[inline]
    fn prefetch_shared<const WRITE: bool>(&self, words: &[AtomicU64], digest: Digest) {
        let index = positions::block(digest, words.len() as u64 / 8) as usize * 8;
        if WRITE { simd::prefetch_write(words, index) } else { simd::prefetch(words, index) }
    }

    /// Exact for these contents: the mean over blocks of the product over lanes of
    /// `(ones / 64)^(k/8)`.
    fn fpp_of(&self, _params: &FilterParams, blocks: &impl Storage) -> f64 {
        let num_blocks = blocks.num_blocks();
        let sum: f64 = simd::with_popcount(
            #[inline(always)]
            || {
                let mut sum = 0.0;
                for i in 0..num_blocks {
                    let mut ones = 1.0;
                    for lane in blocks.block(i).0 {
                        ones *= f64::from(lane.count_ones());
                    }
                    let share = ones / (1u64 << 48) as f64; // 64^8
                    sum += if self.passes == 1 { share } else { share * share };
                }
                sum
            },
        );
        sum / num_blocks as f64
    }
}

/// Looks first, so that keys which are there cost no write to a line that others read, and then
/// sets all bits without a branch per lane.
#[inline(always)]
fn insert_pairs<const PASSES: usize>(
    pairs: simd::Pairs,
    words: &[AtomicU64],
    digest: Digest,
) -> bool {
    let bits = positions::block_mask::<PASSES>(digest);
    let lanes = Blocked::lanes(words, digest);
    // ORDERING: Relaxed, as in `insert_lanes`.
    let before: [u64; 8] = core::array::from_fn(|i| lanes[i].load(Ordering::Relaxed));
    let missing = bits.iter().zip(before).fold(0, |missing, (bits, lane)| missing | (bits & !lane));
    missing != 0 && pairs.fetch_or(lanes, before, bits) != 0
}

/// As [`insert_pairs`] with one locked instruction per lane, and only where a bit is missing: half
/// of the bits of a new key are set already.
#[inline(always)]
fn insert_lanes<const PASSES: usize>(words: &[AtomicU64], digest: Digest) -> bool {
    let mask = positions::block_mask::<PASSES>(digest);
    let lanes = Blocked::lanes(words, digest);
    let mut missing = 0u32;
    for (i, (lane, bits)) in lanes.iter().zip(mask).enumerate() {
        missing |= u32::from(bits & !lane.load(Ordering::Relaxed) != 0) << i;
    }
    let mut new = 0;
    while missing != 0 {
        let i = missing.trailing_zeros() as usize % 8;
        let bits = positions::lane_bits::<PASSES>(digest, i);
        // ORDERING: Relaxed. A bit carries no data but itself and never returns to 0 while the
        // filter is shared, so no other memory has to become visible with it. `fetch_or` is one
        // read-modify-write: of two threads that set a bit, exactly one sees it clear before.
        new |= bits & !lanes[i].fetch_or(bits, Ordering::Relaxed);
        missing &= missing - 1;
    }
    new != 0
}

impl Blocked {
    #[inline(always)]
    fn mask(&self, digest: Digest) -> [u64; 8] {
        match self.passes {
            1 => positions::block_mask::<1>(digest),
            _ => positions::block_mask::<2>(digest),
        }
    }

    #[inline(always)]
    fn lanes(words: &[AtomicU64], digest: Digest) -> &[AtomicU64; 8] {
        let (blocks, _) = words.as_chunks::<8>();
        &blocks[positions::block(digest, blocks.len() as u64) as usize]
    }
}
