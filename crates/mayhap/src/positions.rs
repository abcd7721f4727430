//! Digest → positions: plain arithmetic, the same for every kernel, file and language.

use crate::sizing::{MAX_NUM_BITS, MAX_NUM_HASHES, check_num_hashes, check_whole_blocks};
use crate::{Digest, Error, Layout};

/// `floor(a · b / 2^64)`: maps 64 random bits evenly onto `0..b` without a division.
#[inline(always)]
pub(crate) const fn mulhi(a: u64, b: u64) -> u64 {
    if cfg!(target_family = "wasm") {
        mulhi_in_parts(a, b)
    } else {
        ((a as u128 * b as u128) >> 64) as u64
    }
}

/// Same as `mulhi`, from products of 32 bits: WebAssembly has no wider ones, and there the product
/// of two `u128` is a call that writes its result into memory.
#[inline(always)]
const fn mulhi_in_parts(a: u64, b: u64) -> u64 {
    const LOW: u64 = u32::MAX as u64;
    let (a_high, a_low, b_high, b_low) = (a >> 32, a & LOW, b >> 32, b & LOW);
    let middle = a_high * b_low + ((a_low * b_low) >> 32);
    let carry = a_low * b_high + (middle & LOW);
    a_high * b_high + (middle >> 32) + (carry >> 32)
}

/// The multipliers of `standard`'s probes: 1 first, then `splitmix64(i) | 1`.
///
/// Odd, so that each product is a permutation of the digests; random, so that no probe is a simple
/// function of two others, as every probe is in double hashing.
pub(crate) const PROBE_MULTIPLIERS: [u64; MAX_NUM_HASHES as usize] = {
    let mut multipliers = [1; MAX_NUM_HASHES as usize];
    let mut i = 1;
    while i < multipliers.len() {
        multipliers[i] = splitmix64(i as u64) | 1;
        i += 1;
    }
    multipliers
};

/// Steele, Lea & Flood 2014, *Fast Splittable Pseudorandom Number Generators*: output i from 0.
pub(crate) const fn splitmix64(i: u64) -> u64 {
    let z = i.wrapping_add(1).wrapping_mul(0x9E37_79B9_7F4A_7C15);
    let z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    let z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    z ^ (z >> 31)
}

/// Bit position of probe `i` in a `standard` filter of `num_bits`: `mulhi(digest · A_i, m)`.
#[inline(always)]
pub(crate) const fn standard(digest: Digest, multiplier: u64, num_bits: u64) -> u64 {
    mulhi(digest.get().wrapping_mul(multiplier), num_bits)
}

/// Odd multipliers from which `blocked` takes its in-block bits: the first for k = 4 and 8, both
/// for k = 16.
///
/// The first is 2^64 / φ, rounded to an odd number (Knuth, *The Art of Computer Programming*,
/// volume 3, 6.4, and the increment of splitmix64). The second is the multiplier of the published
/// mixer degski64. Neither is the result of a search; the evidence for them is that the measured
/// rates for every k agree with a model in which block and lanes are independent (`tests/rates`).
/// Frozen, since files depend on them.
pub(crate) const LANE_MULTIPLIERS: [u64; 2] = [0x9E37_79B9_7F4A_7C15, 0xD6E8_FEB8_6659_FD93];

/// The right shift of a product for lane `i`'s 6 bits, which are taken from the top.
pub(crate) const LANE_SHIFTS: [u32; 8] = [58, 52, 46, 40, 34, 28, 22, 16];

/// The block of a digest: `mulhi(digest, num_blocks)`, from the digest's top bits.
#[inline(always)]
pub(crate) const fn block(digest: Digest, num_blocks: u64) -> u64 {
    mulhi(digest.get(), num_blocks)
}

/// How far to shift a product right for the slot in word `i`'s lane. With k = 4 a lane is two words
/// and a slot 7 bits.
pub(crate) const fn word_shifts<const K: u32>() -> [u32; 8] {
    if K == 4 { [57, 57, 50, 50, 43, 43, 36, 36] } else { LANE_SHIFTS }
}

/// The number of slots of a lane: 64, or with k = 4 the slots of two words.
pub(crate) const fn lane_slots<const K: u32>() -> u64 {
    if K == 4 { 128 } else { 64 }
}

/// The bit in word `word` of a block for a product of the digest and a lane multiplier; 0 if k = 4
/// and the bit is in the lane's other word.
#[inline(always)]
pub(crate) const fn word_bit<const K: u32>(product: u64, word: usize) -> u64 {
    let slot = product >> word_shifts::<K>()[word] & (lane_slots::<K>() - 1);
    if K == 4 {
        let is_here = slot / 64 == word as u64 % 2;
        (is_here as u64) << (slot % 64)
    } else {
        1 << slot
    }
}

/// The bits of a digest in word `word` of its block.
#[inline(always)]
pub(crate) fn word_bits<const K: u32>(digest: Digest, word: usize) -> u64 {
    LANE_MULTIPLIERS[..if K == 16 { 2 } else { 1 }].iter().fold(0, |bits, multiplier| {
        bits | word_bit::<K>(digest.get().wrapping_mul(*multiplier), word)
    })
}

/// The mask of a digest in its block: with k = 4 one bit in every two words, otherwise one or two
/// in each word.
#[inline(always)]
pub(crate) fn block_mask<const K: u32>(digest: Digest) -> [u64; 8] {
    core::array::from_fn(|word| word_bits::<K>(digest, word))
}

/// The slot in lane `lane`, out of `1 << SLOT_BITS`, for a product of the digest and a lane
/// multiplier: `SLOT_BITS` bits per lane, from the top.
#[inline(always)]
pub(crate) const fn lane_slot<const SLOT_BITS: u32>(product: u64, lane: usize) -> u32 {
    (product >> (64 - SLOT_BITS * (lane as u32 + 1))) as u32 & ((1 << SLOT_BITS) - 1)
}

/// Bit `i` of a digest in a filter with these parameters, in the order of the formulas.
///
/// The definition for callers that keep the bits elsewhere; filters have loops of their own.
#[inline]
pub(crate) fn position(
    layout: Layout,
    num_bits: u64,
    num_hashes: u32,
    digest: Digest,
    i: usize,
) -> u64 {
    if layout == Layout::Standard {
        return standard(digest, PROBE_MULTIPLIERS[i], num_bits);
    }
    let lane_bits = layout.lane_bits(num_hashes);
    let block_bits = layout.block_bits();
    let lanes = (block_bits / lane_bits) as usize;
    let (pass, lane) = (i / lanes, i % lanes);
    let product = digest.get().wrapping_mul(LANE_MULTIPLIERS[pass]);
    let slot = match lane_bits {
        8 => lane_slot::<3>(product, lane),
        16 => lane_slot::<4>(product, lane),
        64 => lane_slot::<6>(product, lane),
        _ => lane_slot::<7>(product, lane),
    };
    block(digest, num_bits / block_bits) * block_bits + lane as u64 * lane_bits + u64::from(slot)
}

/// The bits that a digest has in an array of `num_bits`, in the order of the formulas: the same as
/// [`FilterParams::positions`](crate::FilterParams::positions), but also for arrays that are too
/// short for a filter, as in drawings and worked examples. Several may coincide in `standard`, and
/// in `blocked` with k = 16.
///
/// # Errors
///
/// [`Error::OutOfRange`] unless `num_bits` is from 1 to [`MAX_NUM_BITS`], in whole blocks, and the
/// layout has this k.
///
/// # Examples
///
/// ```
/// use mayhap::{DigestFunction, Layout};
/// let digest = DigestFunction::xxh3(0).digest("a");
/// assert!(mayhap::positions(Layout::Standard, 20, 3, digest)?.eq([18, 12, 9]));
/// // 18/20 of the array is 901/1000 of it: a position is a share of the length.
/// assert!(mayhap::positions(Layout::Standard, 1000, 3, digest)?.eq([901, 607, 487]));
/// # Ok::<(), mayhap::Error>(())
/// ```
pub fn positions(
    layout: Layout,
    num_bits: u64,
    num_hashes: u32,
    digest: Digest,
) -> Result<impl Iterator<Item = u64> + use<>, Error> {
    Error::check_range("num_bits", layout.block_bits()..=MAX_NUM_BITS, num_bits)?;
    check_whole_blocks(layout, num_bits)?;
    check_num_hashes(layout, num_hashes)?;
    Ok((0..num_hashes as usize).map(move |i| position(layout, num_bits, num_hashes, digest, i)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_product_in_parts_is_the_whole_one() {
        let edges = [0, 1, 2, u64::from(u32::MAX), 1 << 32, (1 << 32) + 1, u64::MAX - 1, u64::MAX];
        let random = (0..2_000).map(splitmix64);
        let all: alloc::vec::Vec<u64> = edges.into_iter().chain(random).collect();
        for &a in &all {
            for &b in all.iter().step_by(7).chain(&edges) {
                let whole = ((u128::from(a) * u128::from(b)) >> 64) as u64;
                assert_eq!(mulhi_in_parts(a, b), whole, "{a} · {b}");
            }
        }
    }

    #[test]
    fn slots_come_from_the_top_lane_after_lane() {
        let product = 0x0123_4567_89AB_CDEF;
        let nibbles: [u32; 8] = core::array::from_fn(|lane| lane_slot::<4>(product, lane));
        assert_eq!(nibbles, [0, 1, 2, 3, 4, 5, 6, 7]);
        let octets: [u32; 8] = core::array::from_fn(|lane| lane_slot::<3>(0o0123_4567 << 40, lane));
        assert_eq!(octets, [0, 1, 2, 3, 4, 5, 6, 7]);
        for (lane, shift) in LANE_SHIFTS.iter().enumerate() {
            assert_eq!(u64::from(lane_slot::<6>(product, lane)), product >> shift & 63);
        }
        let sevens: [u32; 4] = core::array::from_fn(|lane| lane_slot::<7>(product, lane));
        assert_eq!(sevens, [0, 0x48, 0x68, 0x56]);
        for (word, shift) in word_shifts::<4>().iter().enumerate() {
            assert_eq!(u64::from(sevens[word / 2]), product >> shift & 127);
        }
    }

    /// Index arithmetic past 2^32 bits and 2^32 blocks: positions need no memory.
    #[test]
    fn positions_reach_every_part_of_huge_filters() {
        let digests = (0..100_000u64).map(|i| Digest::new(splitmix64(i)));
        for size in [1 << 33, (1 << 33) + 1, 3 << 40, (1 << 56) - 1] {
            let mut eighths = [[0u32; 8]; 3];
            for digest in digests.clone() {
                let positions = [
                    standard(digest, 1, size),
                    standard(digest, PROBE_MULTIPLIERS[31], size),
                    block(digest, size),
                ];
                for (counts, position) in eighths.iter_mut().zip(positions) {
                    assert!(position < size);
                    counts[(u128::from(position) * 8 / u128::from(size)) as usize] += 1;
                }
            }
            // 12,500 expected, σ = 105.
            assert!(eighths.iter().flatten().all(|n| n.abs_diff(12_500) < 500), "{eighths:?}");
        }
        assert_eq!(standard(Digest::new(u64::MAX), 1, 1 << 40), (1 << 40) - 1);
        assert_eq!(block(Digest::new(1 << 63), 10_000_000_000), 5_000_000_000);
    }

    #[test]
    fn a_mask_has_one_bit_per_lane_and_pass() {
        for i in 0..1000 {
            let digest = Digest::new(splitmix64(i));
            let pairs = block_mask::<4>(digest);
            assert!(pairs.as_chunks::<2>().0.iter().all(|[a, b]| (a | b).is_power_of_two()));
            assert!(pairs.iter().filter(|&&word| word == 0).count() == 4);
            assert!(block_mask::<8>(digest).iter().all(|lane| lane.is_power_of_two()));
            assert!(block_mask::<16>(digest).iter().all(|lane| lane.count_ones() <= 2));
            let both = block_mask::<16>(digest);
            assert!(block_mask::<8>(digest).iter().zip(both).all(|(one, two)| one & two == *one));
        }
    }

    #[test]
    fn arrays_too_short_for_a_filter_have_positions_and_impossible_ones_are_refused() {
        for i in 0..1000 {
            let digest = Digest::new(splitmix64(i));
            for num_bits in 1..64 {
                let all = positions(Layout::Standard, num_bits, 5, digest).unwrap();
                assert!(all.map(|position| position < num_bits).eq([true; 5]));
            }
            for (layout, k) in [(Layout::Standard, 7), (Layout::Blocked, 16)] {
                let params = crate::FilterParams::new(layout, 5120, k, 100, 0.01).unwrap();
                assert!(positions(layout, 5120, k, digest).unwrap().eq(params.positions(digest)));
            }
        }
        let refused = |layout, num_bits, k| {
            let result = positions(layout, num_bits, k, Digest::new(7)).map(|_| ());
            matches!(result, Err(Error::OutOfRange { .. }))
        };
        assert!(refused(Layout::Standard, 0, 3) && refused(Layout::Standard, (1 << 56) + 1, 3));
        assert!(refused(Layout::Standard, 20, 0) && refused(Layout::Standard, 20, 33));
        assert!(refused(Layout::Blocked, 511, 8) && refused(Layout::Blocked, 513, 8));
        assert!(refused(Layout::Blocked, 512, 3) && refused(Layout::Blocked64, 64, 4));
        assert!(!refused(Layout::Blocked, 1024, 8) && !refused(Layout::Standard, 1 << 56, 32));
    }

    #[test]
    fn multipliers_are_odd_and_differ() {
        assert!(PROBE_MULTIPLIERS.iter().all(|m| m % 2 == 1));
        for (i, a) in PROBE_MULTIPLIERS.iter().enumerate() {
            assert!(PROBE_MULTIPLIERS[..i].iter().all(|b| a != b));
        }
        assert_eq!(splitmix64(0), 0xE220_A839_7B1D_CDAF); // the published first output for seed 0
    }
}
