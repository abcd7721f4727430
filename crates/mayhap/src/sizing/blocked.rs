//! The rate model of `blocked`, `blocked128` and `blocked64`: n keys thrown into blocks of 8 lanes
//! of s = 64, 16 or 8 bits, or for k = 4 of 4 lanes of 128. It is also the model of counting
//! filters, with counters in place of bits.
//!
//! | k of `blocked` | bits per key at 20 % | 10 % | 5 % | 3 % | 1 % | 0.1 % | 1e-4 | 1e-5 |
//! |---|---|---|---|---|---|---|---|---|
//! | 4 | 3.64 | 4.89 | 6.33 | 7.56 | 10.79 | 21.56 | 42.10 | 83.54 |
//! | 8 | 4.76 | 5.88 | 7.05 | 7.96 | 10.10 | 15.72 | 23.61 | 34.98 |
//! | 16 | 6.95 | 8.21 | 9.45 | 10.36 | 12.40 | 17.15 | 22.88 | 30.01 |
//!
//! So k = 4 is the best for rates of 1.86 % and above, and k = 16 for 1.8e-4 and below.
//!
//! The number j of keys in a block is Binomial(n, 1/B) (Poisson with λ = n/B = 8 s n/m as B grows),
//! and given j the lanes are independent, so p is the mean over j of the rate of a block with j
//! keys (Putze, Sanders & Singler 2007, *Cache-, Hash- and Space-Efficient Bloom Filters*). Blocks
//! with many keys have the most weight: the textbook formula ignores them and gives too small a
//! size (1.29 % for a target of 1 %).

use super::search::{fewest, fewest_of};
use super::{MAX_NUM_BITS, with_digest_collisions};
use crate::{Error, Layout};
use alloc::vec::Vec;
use core::cell::RefCell;

/// The largest number of lanes in a block: a smaller k has a lane for each bit.
const LANES: u32 = 8;
/// Above this many keys per block every lane is full to the precision of an `f64`.
const FULL_BLOCK_ITEMS: f64 = 8192.0;
/// Terms this much smaller than the sum do not affect it.
const NEGLIGIBLE: f64 = 1e-20;

/// The false-positive probability of `num_blocks` blocks of `blocked` with `items` distinct keys.
///
/// `p = Σ_j Binomial(j; n, 1/B) · f(j)^8`, where f(j) is the probability that a lane with j keys
/// answers "maybe": 1 − (63/64)^j for k = 8; for k = 16, where each key throws twice into a lane
/// and two bits are tested, 1/64 · (1 − q1) + 63/64 · (1 − 2·q1 + q2) with q1 = (63/64)^(2j) and q2
/// = (62/64)^(2j). For k = 4, with 4 lanes of 128 bits, it is the mean of (1 − (127/128)^j)^4.
/// Digest collisions (n / 2^64) are added.
///
/// # Examples
///
/// ```
/// use mayhap::sizing::blocked::expected_fpp;
/// assert_eq!(expected_fpp(10, 8, 0), 0.0);
/// // 10.10 bits a key for 1 %.
/// assert!((expected_fpp(19_726, 8, 1_000_000) - 0.01).abs() < 1e-5);
/// ```
pub fn expected_fpp(num_blocks: u64, num_hashes: u32, items: u64) -> f64 {
    expected_fpp_of_lanes(num_blocks, Layout::Blocked.lane_bits(num_hashes), num_hashes, items)
}

/// Like [`expected_fpp`], for lanes of s = `lane_bits`: s replaces 64 in its formulas. Parquet's
/// split-block filters have 8 lanes of 32 bits. Blocks with k < 8 have k lanes, like the groups of
/// a [`crate::BloomMatrix`], and `f(j)` is raised to the power k.
pub fn expected_fpp_of_lanes(num_blocks: u64, lane_bits: u64, num_hashes: u32, items: u64) -> f64 {
    if items == 0 || num_blocks == 0 {
        return if items == 0 { 0.0 } else { 1.0 };
    }
    fpp_of_blocks(num_blocks, items, block_fpp(lane_bits as f64, num_hashes))
}

/// The rate of at least one block with at least one key, from that of a block by its keys.
fn fpp_of_blocks(num_blocks: u64, items: u64, in_block: impl Fn(f64) -> f64) -> f64 {
    let mean = items as f64 / num_blocks as f64;
    let fpp = if mean > FULL_BLOCK_ITEMS || num_blocks == 1 {
        in_block(mean)
    } else {
        mean_over_blocks(items as f64, num_blocks as f64, in_block)
    };
    with_digest_collisions(fpp, items)
}

/// The rate of a block, by the number of its keys.
fn block_fpp(lane_bits: f64, num_hashes: u32) -> impl Fn(f64) -> f64 {
    let log_miss = libm::log1p(-1.0 / lane_bits);
    let log_miss_both = libm::log1p(-2.0 / lane_bits);
    move |items| {
        let lane = if num_hashes <= LANES {
            -libm::expm1(items * log_miss)
        } else {
            // 1 − q1 and 1 − q2; 1 − 2·q1 + q2 is twice the one less the other.
            let one = -libm::expm1(2.0 * items * log_miss);
            let either = -libm::expm1(2.0 * items * log_miss_both);
            one / lane_bits + (2.0 * one - either).max(0.0) * (1.0 - 1.0 / lane_bits)
        };
        let lane = lane.clamp(0.0, 1.0);
        (0..num_hashes.min(LANES)).fold(1.0, |all, _| all * lane)
    }
}

/// `Σ_j Binomial(j; n, 1/B) g(j)`, by the ratio of neighbouring terms from the mode outward:
/// without factorials, so no digits are lost at n = 1e13.
pub(super) fn mean_over_blocks(n: f64, num_blocks: f64, g: impl Fn(f64) -> f64) -> f64 {
    let odds = 1.0 / (num_blocks - 1.0);
    let mode = libm::floor((n + 1.0) / num_blocks).min(n);
    let (mut weights, mut sum) = (1.0, g(mode));
    let (mut weight, mut j) = (1.0, mode);
    // A block's rate grows with its keys up to 1, so here a term is at most its weight, and below
    // the mode its share of the sum is at most its weight.
    while j < n && weight > NEGLIGIBLE * sum {
        weight *= (n - j) / (j + 1.0) * odds;
        j += 1.0;
        weights += weight;
        sum += weight * g(j);
    }
    (weight, j) = (1.0, mode);
    while j > 0.0 && weight > NEGLIGIBLE {
        weight *= j / ((n - j + 1.0) * odds);
        j -= 1.0;
        weights += weight;
        sum += weight * g(j);
    }
    sum / weights
}

/// The k (4, 8 or 16) with the lowest rate for this many blocks and items; the lowest k if rates
/// are equal.
pub fn best_num_hashes(num_blocks: u64, items: u64) -> u32 {
    let fpp = |k| expected_fpp(num_blocks, k, items);
    [8, 16].into_iter().fold(4, |best, k| if fpp(k) < fpp(best) { k } else { best })
}

/// A function of whole numbers that is computed once for each of them: a search evaluates the rate
/// of a block with j keys at each size that it tries, and would spend most of its time there.
fn once_each(g: impl Fn(f64) -> f64) -> impl Fn(f64) -> f64 {
    let known = RefCell::new(Vec::new());
    move |j| {
        let mut known = known.borrow_mut();
        let i = j as usize;
        if i as f64 != j || i > FULL_BLOCK_ITEMS as usize {
            return g(j);
        }
        if known.len() <= i {
            known.resize(i + 1, f64::NAN);
        }
        if known[i].is_nan() {
            known[i] = g(j);
        }
        known[i]
    }
}

/// The fewest bits for n items at p or less in a layout with blocks, and the k out of `num_hashes`
/// that needs them; the lowest if several do.
pub(super) fn solve_bits(
    layout: Layout,
    num_hashes: &[u32],
    items: u64,
    target_fpp: f64,
) -> Result<(u64, u32), Error> {
    let block_bits = layout.block_bits();
    let limit = MAX_NUM_BITS / block_bits;
    solve_blocks_up_to(limit, layout, num_hashes, items, target_fpp)
}

/// Like [`solve_bits`], but in at most `limit` blocks, which is refused as soon as these do not
/// suffice.
pub(super) fn solve_blocks_up_to(
    limit: u64,
    layout: Layout,
    num_hashes: &[u32],
    items: u64,
    target_fpp: f64,
) -> Result<(u64, u32), Error> {
    let block_bits = layout.block_bits();
    // No layout needs fewer bits than the ideal standard filter.
    let ideal = super::standard::ideal_num_bits(items, target_fpp);
    let low = (ideal / block_bits as f64) as u64;
    let too_large = Error::TooLarge { field: "num_bits", limit: MAX_NUM_BITS, found: ideal as u64 };
    if low > limit {
        return Err(too_large);
    }
    let blocks = |k, at_most: u64| {
        let in_block = once_each(block_fpp(layout.lane_bits(k) as f64, k));
        let fpp = |blocks| fpp_of_blocks(blocks, items, &in_block);
        if at_most < MAX_NUM_BITS / block_bits && fpp(at_most.max(1)) > target_fpp {
            return None;
        }
        fewest(low.max(1), at_most, target_fpp, fpp)
    };
    let likely = likely_num_hashes(num_hashes, target_fpp);
    let (blocks, k) = fewest_of(num_hashes, likely, limit, blocks).ok_or(too_large)?;
    Ok((blocks * block_bits, k))
}

/// The k out of these that needs the fewest bits for many keys: see the table above.
fn likely_num_hashes(num_hashes: &[u32], target_fpp: f64) -> u32 {
    let best = match target_fpp {
        _ if target_fpp >= 0.0186 => 4,
        _ if target_fpp > 1.8e-4 => 8,
        _ => 16,
    };
    if num_hashes.contains(&best) { best } else { num_hashes.first().copied().unwrap_or(best) }
}
