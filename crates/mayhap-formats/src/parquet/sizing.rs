//! The number of bytes of a filter.

use crate::limits::check_fpp;
use crate::{Error, Limits};
use mayhap::sizing::blocked::expected_fpp_of_lanes;

/// Bytes of a block, and of the smallest filter.
pub(super) const BLOCK_BYTES: u64 = 32;
/// The largest size that readers accept.
pub(super) const MAX_BYTES: u64 = 128 << 20;
/// Bits of a word; a block has eight.
const WORD_BITS: u64 = 32;

/// The rule for the number of blocks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum SplitBlockSize {
    /// The smallest power of two that keeps the promised rate, since Arrow for C++ reads no other
    /// sizes.
    #[default]
    PowerOfTwo,
    /// The fewest blocks that keep the promised rate.
    Smallest,
}

impl SplitBlockSize {
    /// Bytes of a filter with a rate of at most `target_fpp` once it has `items` distinct keys.
    ///
    /// Uses the exact model: the number of keys in a block is binomially distributed, and with j of
    /// them the answer is "maybe" for `(1 - (31/32)^j)^8` of the absent keys (Putze, Sanders &
    /// Singler 2007). Writers that ignore the uneven load of blocks exceed their target.
    ///
    /// # Errors
    ///
    /// [`Error::BadField`] for a p outside (0, 1); [`Error::TooLarge`] if 128 MiB, the largest size
    /// that readers accept, are not enough.
    ///
    /// # Examples
    ///
    /// ```
    /// use mayhap_formats::SplitBlockSize;
    ///
    /// assert_eq!(SplitBlockSize::Smallest.num_bytes(1_000_000, 0.01)?, 1_316_160);
    /// assert_eq!(SplitBlockSize::PowerOfTwo.num_bytes(1_000_000, 0.01)?, 2 << 20);
    /// # Ok::<(), mayhap_formats::Error>(())
    /// ```
    pub fn num_bytes(self, items: u64, target_fpp: f64) -> Result<u64, Error> {
        check_fpp("p", target_fpp)?;
        let keeps = |blocks| expected_fpp_of_lanes(blocks, WORD_BITS, 8, items) <= target_fpp;
        let max_blocks = MAX_BYTES / BLOCK_BYTES;
        if !keeps(max_blocks) {
            let field = "number of keys";
            let limit = largest(items, |n| {
                expected_fpp_of_lanes(max_blocks, WORD_BITS, 8, n) <= target_fpp
            });
            return Err(Error::TooLarge { field, limit, found: items });
        }
        // The rate falls with every additional block.
        let blocks = match self {
            Self::PowerOfTwo => {
                (0..22).map(|shift| 1 << shift).find(|&blocks| keeps(blocks)).unwrap_or(max_blocks)
            }
            Self::Smallest => max_blocks - largest(max_blocks - 1, |less| keeps(max_blocks - less)),
        };
        Ok(blocks * BLOCK_BYTES)
    }
}

/// The largest number up to `most` that meets the condition, if all smaller ones do; 0 meets it.
fn largest(most: u64, right: impl Fn(u64) -> bool) -> u64 {
    let (mut low, mut high) = (0, most.saturating_add(1));
    while high - low > 1 {
        let middle = low + (high - low) / 2;
        if right(middle) {
            low = middle;
        } else {
            high = middle;
        }
    }
    low
}

/// Bytes that parquet-mr's `new BlockSplitBloomFilter(optimalNumOfBits(items, target_fpp) / 8)`
/// has.
///
/// `-8 n / ln(1 - p^(1/8))` bits, at most 2^30; then `(bits + 255) & ~256`, which clears bit 8
/// instead of rounding up; at least 256 bits; then bytes up to a power of two.
///
/// # Errors
///
/// [`Error::BadField`] for a p outside of (0, 1); [`Error::TooLarge`] by the limits.
///
/// # Examples
///
/// ```
/// use mayhap_formats::{Limits, parquet_mr_num_bytes};
/// assert_eq!(parquet_mr_num_bytes(1_000, 0.01, &Limits::default())?, 2_048);
/// # Ok::<(), mayhap_formats::Error>(())
/// ```
pub fn parquet_mr_num_bytes(items: u64, target_fpp: f64, limits: &Limits) -> Result<u64, Error> {
    let bytes = u64::from(parquet_mr_num_bits(items, target_fpp)?) / 8;
    let bytes = bytes.clamp(BLOCK_BYTES, MAX_BYTES).next_power_of_two();
    limits.check_bits("number of bits", bytes * 8)?;
    Ok(bytes)
}

/// parquet-mr's `BlockSplitBloomFilter.optimalNumOfBits`: see [`parquet_mr_num_bytes`].
///
/// # Errors
///
/// [`Error::BadField`] for a p outside of (0, 1).
pub fn parquet_mr_num_bits(items: u64, target_fpp: f64) -> Result<u32, Error> {
    check_fpp("p", target_fpp)?;
    let bits = -8.0 * items as f64 / libm::log(1.0 - libm::pow(target_fpp, 1.0 / 8.0));
    let most = (MAX_BYTES * 8) as u32;
    // Like `(int)` of a double, which saturates.
    let bits = bits as i32;
    let bits = if bits < 0 || bits as u32 > most { most } else { bits as u32 };
    Ok((((bits + 255) & !256).max(256)).min(most))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_block_less_breaks_the_promise() {
        for (items, fpp) in [(1, 0.5), (8, 0.01), (1_000, 0.01), (50_000, 1e-4), (3_000_000, 0.2)] {
            let blocks = SplitBlockSize::Smallest.num_bytes(items, fpp).unwrap() / BLOCK_BYTES;
            let rate = |blocks| expected_fpp_of_lanes(blocks, WORD_BITS, 8, items);
            assert!(rate(blocks) <= fpp, "{items} {fpp}");
            assert!(blocks == 1 || rate(blocks - 1) > fpp, "{items} {fpp}: {blocks} are too many");
            let power = SplitBlockSize::PowerOfTwo.num_bytes(items, fpp).unwrap() / BLOCK_BYTES;
            assert_eq!(power, blocks.next_power_of_two());
        }
    }

    #[test]
    fn more_keys_than_the_largest_filter_holds_are_refused_with_the_number_it_holds() {
        let error = SplitBlockSize::Smallest.num_bytes(u64::MAX, 0.01).unwrap_err();
        let Error::TooLarge { limit, .. } = error else { panic!("{error}") };
        assert_eq!(SplitBlockSize::Smallest.num_bytes(limit, 0.01), Ok(MAX_BYTES));
        assert!(SplitBlockSize::Smallest.num_bytes(limit + 1, 0.01).is_err());
    }

    #[test]
    fn parquet_mr_clears_bit_8_where_it_means_to_round_up() {
        assert_eq!(parquet_mr_num_bits(32, 0.01), Ok(564));
        assert_eq!(parquet_mr_num_bits(10, 1e-6), Ok(663));
    }
}
