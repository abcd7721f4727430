//! A block as 8 lanes of counters: 16 of 4 bits or 8 of 8 bits in a word.
//!
//! Everything is arithmetic on whole lanes. A counter at its maximum ("saturated") means "this many
//! or more": it is neither raised nor lowered, since its true value is unknown.

use crate::bits::Block;
use crate::positions::{LANE_MULTIPLIERS, lane_slot};
use crate::{Digest, simd};

/// Counters of `BITS` bits, 4 or 8.
pub(super) struct Lanes<const BITS: u32>;

impl<const BITS: u32> Lanes<BITS> {
    pub(super) const MAX: u64 = (1 << BITS) - 1;
    /// The lowest bit of every counter.
    const ONES: u64 = u64::MAX / Self::MAX;
    /// Every second counter, so that sums have room above each.
    const EVEN: u64 = if BITS == 4 { 0x0F0F_0F0F_0F0F_0F0F } else { 0x00FF_00FF_00FF_00FF };

    /// The bit offset of the digest's counter in lane `lane`, for the digest's product.
    #[inline(always)]
    fn shift(product: u64, lane: usize) -> u32 {
        if BITS == 4 {
            lane_slot::<4>(product, lane) * 4
        } else {
            lane_slot::<3>(product, lane) * 8
        }
    }

    #[inline(always)]
    fn product(digest: Digest) -> u64 {
        digest.get().wrapping_mul(LANE_MULTIPLIERS[0])
    }

    /// The smallest of the digest's counters.
    #[inline(always)]
    pub(super) fn min(block: &Block, digest: Digest) -> u64 {
        let product = Self::product(digest);
        let counters = (0..8).map(|i| block.0[i] >> Self::shift(product, i) & Self::MAX);
        counters.fold(Self::MAX, u64::min)
    }

    /// Raises the digest's counters; whether one of them was 0.
    #[inline(always)]
    pub(super) fn insert(block: &mut Block, digest: Digest) -> bool {
        let product = Self::product(digest);
        let mut new = false;
        for (i, lane) in block.0.iter_mut().enumerate() {
            let shift = Self::shift(product, i);
            let counter = *lane >> shift & Self::MAX;
            new |= counter == 0;
            *lane += u64::from(counter != Self::MAX) << shift;
        }
        new
    }

    /// If none of the digest's counters is 0, decrements the unsaturated ones; returns whether any
    /// was decremented.
    ///
    /// All lanes are always written, unchanged if the key is absent: no branch depends on the
    /// counters.
    #[inline(always)]
    pub(super) fn remove(block: &mut Block, digest: Digest) -> bool {
        let product = Self::product(digest);
        let (mut present, mut lowered) = (true, 0);
        let decrements: [u64; 8] = core::array::from_fn(|i| {
            let shift = Self::shift(product, i);
            let counter = block.0[i] >> shift & Self::MAX;
            present &= counter != 0;
            let decrement = u64::from(counter != Self::MAX) << shift;
            lowered |= decrement;
            decrement
        });
        let all = u64::from(present).wrapping_neg();
        for (lane, decrement) in block.0.iter_mut().zip(decrements) {
            *lane -= decrement & all;
        }
        lowered & all != 0
    }

    /// The lowest bit of every counter that is not 0.
    #[inline(always)]
    fn occupied(lane: u64) -> u64 {
        let mut bits = lane;
        let mut width = BITS / 2;
        while width > 0 {
            bits |= bits >> width;
            width /= 2;
        }
        bits & Self::ONES
    }

    /// The lowest bit of every saturated counter.
    #[inline(always)]
    fn saturated(lane: u64) -> u64 {
        !Self::occupied(!lane) & Self::ONES
    }

    /// The sums of the counters of two lanes, `MAX` where they are larger.
    #[inline(always)]
    fn saturating_add(left: u64, right: u64) -> u64 {
        let half = |left: u64, right: u64| {
            let sums = (left & Self::EVEN) + (right & Self::EVEN);
            // Bit BITS of a sum marks it as too large; all lower bits are derived from it.
            let over = sums >> BITS & Self::EVEN & Self::ONES;
            (sums | (over * Self::MAX)) & Self::EVEN
        };
        half(left, right) | half(left >> BITS, right >> BITS) << BITS
    }

    /// Adds the counters of `theirs` to `ours`.
    pub(super) fn add(ours: &mut Block, theirs: &Block) {
        for (lane, other) in ours.0.iter_mut().zip(theirs.0) {
            *lane = Self::saturating_add(*lane, other);
        }
    }

    /// The number of counters in the blocks that are not 0.
    pub(super) fn count_occupied(blocks: &[Block]) -> u64 {
        count(blocks, Self::occupied)
    }

    /// The number of saturated counters in the blocks.
    pub(super) fn count_saturated(blocks: &[Block]) -> u64 {
        count(blocks, Self::saturated)
    }

    /// The mean over blocks of the product over lanes of the share of counters that are not 0.
    pub(super) fn fpp(blocks: &[Block]) -> f64 {
        let sum: f64 = simd::with_popcount(
            #[inline(always)]
            || {
                let mut sum = 0.0;
                for block in blocks {
                    let mut product = 1u64;
                    for lane in block.0 {
                        product *= u64::from(Self::occupied(lane).count_ones());
                    }
                    sum += product as f64;
                }
                sum
            },
        );
        let answers = libm::pow(f64::from(64 / BITS), 8.0);
        sum / answers / blocks.len() as f64
    }

    /// One bit for each counter of a block, in order: the first 128 or 64 bits of the result.
    pub(super) fn to_bits(block: &Block) -> u128 {
        let lane_bits = 64 / BITS;
        let lanes = block.0.iter().rev();
        lanes.fold(0, |bits, &lane| bits << lane_bits | u128::from(Self::gather(lane)))
    }

    /// `occupied`, with its bits packed together.
    #[inline(always)]
    fn gather(lane: u64) -> u64 {
        let bits = Self::occupied(lane);
        if BITS == 4 {
            let pairs = (bits | bits >> 3) & 0x0303_0303_0303_0303;
            let fours = (pairs | pairs >> 6) & 0x000F_000F_000F_000F;
            let eights = (fours | fours >> 12) & 0x0000_00FF_0000_00FF;
            (eights | eights >> 24) & 0xFFFF
        } else {
            let pairs = (bits | bits >> 7) & 0x0003_0003_0003_0003;
            let fours = (pairs | pairs >> 14) & 0x0000_000F_0000_000F;
            (fours | fours >> 28) & 0xFF
        }
    }
}

fn count(blocks: &[Block], flags: impl Fn(u64) -> u64) -> u64 {
    simd::with_popcount(
        #[inline(always)]
        || {
            let mut count = 0;
            for block in blocks {
                for lane in block.0 {
                    count += u64::from(flags(lane).count_ones());
                }
            }
            count
        },
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn counters<const BITS: u32>(lane: u64) -> impl Iterator<Item = u64> {
        (0..64 / BITS).map(move |i| lane >> (i * BITS) & Lanes::<BITS>::MAX)
    }

    /// Lanes with many zeros and many saturated counters.
    fn lane() -> impl Strategy<Value = u64> {
        (any::<[u64; 4]>()).prop_map(|[a, b, c, d]| match a % 4 {
            0 => a,
            1 => b & c & d,
            2 => b | c | d,
            _ => (b & c & 0xF0F0_F00F_FF00_000F) | (d & 0x0F00_0FF0_00FF_F000),
        })
    }

    fn check<const BITS: u32>(left: u64, right: u64) -> Result<(), TestCaseError> {
        let max = Lanes::<BITS>::MAX;
        let sums = counters::<BITS>(left).zip(counters::<BITS>(right));
        let expected: alloc::vec::Vec<u64> = sums.map(|(a, b)| (a + b).min(max)).collect();
        let sum = Lanes::<BITS>::saturating_add(left, right);
        prop_assert!(counters::<BITS>(sum).eq(expected), "{left:x} + {right:x} = {sum:x}");
        let flags = |test: fn(u64) -> bool| {
            let counters = counters::<BITS>(left).enumerate();
            counters.fold(0, |flags, (i, counter)| flags | u64::from(test(counter)) << i)
        };
        let occupied = flags(|counter| counter != 0);
        prop_assert_eq!(Lanes::<BITS>::gather(left), occupied);
        prop_assert_eq!(Lanes::<BITS>::occupied(left).count_ones(), occupied.count_ones());
        let full = flags(if BITS == 4 { |c| c == 15 } else { |c| c == 255 });
        prop_assert_eq!(Lanes::<BITS>::saturated(left).count_ones(), full.count_ones());
        let block = Block([left, 0, 0, right, 0, 0, 0, right]);
        let bits = Lanes::<BITS>::to_bits(&block);
        for (i, lane) in block.0.iter().enumerate() {
            let found = bits >> (i as u32 * 64 / BITS) & ((1 << (64 / BITS)) - 1);
            prop_assert_eq!(found, u128::from(Lanes::<BITS>::gather(*lane)));
        }
        Ok(())
    }

    proptest! {
        #![proptest_config(ProptestConfig {
            cases: if cfg!(miri) { 4 } else { 2000 },
            rng_seed: proptest::test_runner::RngSeed::Fixed(5),
            failure_persistence: None,
            ..ProptestConfig::default()
        })]

        #[test]
        fn whole_lanes_do_what_counters_one_by_one_do(left in lane(), right in lane()) {
            check::<4>(left, right)?;
            check::<8>(left, right)?;
        }
    }
}
