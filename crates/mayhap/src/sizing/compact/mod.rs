//! The size and rate of a compact filter: a multiset of fingerprints in buckets of 1024 bits.
//!
//! A fingerprint is a number below `U = F · B · 2^r`: one of F front buckets, one of B runs in
//! it, and r bits of remainder. An absent key is answered "maybe" if its fingerprint is one of
//! the at most n that are there, so `p = 1 − (1 − 1/U)^n` exactly, at any load and after any
//! removals.
//!
//! A bucket has a bit for each run and r + 1 bits for each slot. Front buckets are filled to more
//! than their slots on average, and what does not fit, 4 to 9 % of the keys, goes to buckets of
//! higher levels, each of which serves 10, 40, 160 or 640 front buckets, and from there, at most
//! one key in 3,000, to the attic, a sorted list. `overflow.rs` computes the distribution of what
//! each level passes on; the load of the front buckets is the highest, up to 1.05 keys per slot, at
//! which the attic overflows with a probability below 1e-9.

mod overflow;

use super::{check_items, check_target};
use crate::Error;

/// Bits of a bucket: two cache lines.
pub const BUCKET_BITS: u32 = 1024;

/// The most bits of its index: one line.
pub(crate) const INDEX_BITS: u32 = BUCKET_BITS / 2;

/// Front buckets that share a bucket of each level above them.
pub(crate) const FRONTS: [u64; NUM_LEVELS] = [1, 10, 40, 160, 640];

/// Levels of buckets.
pub(crate) const NUM_LEVELS: usize = 5;

/// The lowest `target_fpp`.
pub const MIN_TARGET_FPP: f64 = 1e-12;

/// The largest rate that a filter is sized for: above it, buckets of higher levels have too few
/// slots for what large front buckets leave over, and there are few bits to gain.
const MAX_SIZED_FPP: f64 = 0.06;

/// Keys of a front bucket at the design load, on average, in thousandths of its slots: the highest
/// that keeps [`MAX_OVERFLOW`].
const LOADS: core::ops::RangeInclusive<u32> = 500..=1050;

/// The probability with which a filter may be full before it has n keys.
const MAX_OVERFLOW: f64 = 1e-9;

/// The largest number of fingerprints, U: a multiple of 2^-64 is then a 16th of one at most.
const MAX_FINGERPRINTS: u64 = 1 << 60;

/// The most front buckets, so that a filter has at most about 2^56 bits, as all others.
const MAX_FRONTS: u64 = super::MAX_NUM_BITS / BUCKET_BITS as u64;

/// The widest remainder, so that it can be read from an unaligned word.
const MAX_REMAINDER_BITS: u32 = 56;

/// Runs, remainders and slots of the buckets of one level.
///
/// Bits 0 to `runs + slots` are an index, the remainders follow it. For each run, in order, the
/// index has a 1 for each key and then a 0.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) struct Shape {
    pub(crate) runs: u32,
    pub(crate) remainder_bits: u32,
    pub(crate) slots: u32,
}

impl Shape {
    /// A bucket of this many runs, with as many slots as fit.
    const fn new(runs: u32, remainder_bits: u32) -> Option<Self> {
        if runs == 0 || runs >= INDEX_BITS || remainder_bits > MAX_REMAINDER_BITS {
            return None;
        }
        let (slots, in_index) = ((BUCKET_BITS - runs) / (remainder_bits + 1), INDEX_BITS - runs);
        let slots = if slots < in_index { slots } else { in_index };
        if slots == 0 { None } else { Some(Self { runs, remainder_bits, slots }) }
    }

    /// The bucket for fingerprints of this many values that has the most slots, and of those the
    /// one with the fewest runs.
    fn with_most_slots(values: u128) -> Option<Self> {
        (0..=MAX_REMAINDER_BITS)
            .filter_map(|bits| {
                let runs = u32::try_from(values.div_ceil(1 << bits)).ok()?;
                Self::new(runs, bits)
            })
            .max_by_key(|shape| (shape.slots, shape.remainder_bits))
    }
}

/// Parameters of a [`crate::CompactFilter`], checked.
///
/// # Examples
///
/// ```
/// use mayhap::sizing::compact::CompactParams;
///
/// let params = CompactParams::for_items(10_000_000, 1e-6)?;
/// assert!((0.9e-6..1e-6).contains(&params.expected_fpp(10_000_000)));
/// assert_eq!(params.num_bytes(), 30_047_808); // 24.0 bits a key; standard: 28.8, without removal
/// # Ok::<(), mayhap::Error>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct CompactParams {
    expected_items: u64,
    target_fpp: f64,
    num_fronts: u64,
    shapes: [Shape; NUM_LEVELS],
}

impl CompactParams {
    /// The smallest filter that holds `expected_items` copies of keys at `target_fpp` or less.
    ///
    /// # Errors
    ///
    /// [`Error::ZeroItems`]; [`Error::FppOutOfRange`] unless `0 < target_fpp < 1`;
    /// [`Error::FppUnreachable`] below 1e-12, or where there would be more than 2^60 fingerprints.
    pub fn for_items(expected_items: u64, target_fpp: f64) -> Result<Self, Error> {
        check_target(expected_items, target_fpp)?;
        let lowest_fpp =
            (expected_items as f64 / MAX_FINGERPRINTS as f64 * 2.0).max(MIN_TARGET_FPP);
        let unreachable = Error::FppUnreachable { target_fpp, lowest_fpp };
        if target_fpp < lowest_fpp {
            return Err(unreachable);
        }
        for load in LOADS.rev().step_by(10) {
            let Some((keys, front)) = densest(load, target_fpp.min(MAX_SIZED_FPP)) else {
                continue;
            };
            let num_fronts = libm::ceil(expected_items as f64 / keys) as u64;
            let (runs, bits) = (front.runs, front.remainder_bits);
            let params = Self::new(num_fronts, runs, bits, expected_items, target_fpp)?;
            if overflow::attic_overflow(&params) < MAX_OVERFLOW {
                return Ok(params);
            }
        }
        Err(unreachable)
    }

    /// The filter of `num_bytes` at most with the lowest rate for `expected_items`. Its
    /// `target_fpp` is the predicted rate, 1e-12 at least.
    ///
    /// # Errors
    ///
    /// [`Error::ZeroItems`]; [`Error::OutOfRange`] if no filter for them is that small.
    pub fn for_bytes(num_bytes: u64, expected_items: u64) -> Result<Self, Error> {
        check_items(expected_items)?;
        let fits = |fpp: f64| {
            Self::for_items(expected_items, fpp)
                .ok()
                .filter(|params| params.num_bytes() <= num_bytes)
        };
        // Bisection on the logarithm of p; the size falls with it but for steps of whole buckets.
        let (mut low, mut high) = (libm::log(MIN_TARGET_FPP), libm::log(MAX_SIZED_FPP));
        let Some(mut best) = fits(MAX_SIZED_FPP) else {
            let min = Self::for_items(expected_items, MAX_SIZED_FPP)?.num_bytes();
            let parameter = "num_bytes";
            return Err(Error::OutOfRange { parameter, min, max: u64::MAX, found: num_bytes });
        };
        for _ in 0..50 {
            let middle = low.midpoint(high);
            match fits(libm::exp(middle)) {
                Some(params) => (best, high) = (params, middle),
                None => low = middle,
            }
        }
        best.with_target_fpp(best.expected_fpp(expected_items).max(MIN_TARGET_FPP))
    }

    /// The filter of `num_bytes` at most that holds the most keys at `target_fpp`.
    ///
    /// # Errors
    ///
    /// Same as [`CompactParams::for_items`]; [`Error::OutOfRange`] if not even one key fits.
    pub fn largest(num_bytes: u64, target_fpp: f64) -> Result<Self, Error> {
        let one = Self::for_items(1, target_fpp)?;
        if one.num_bytes() > num_bytes {
            let (parameter, min) = ("num_bytes", one.num_bytes());
            return Err(Error::OutOfRange { parameter, min, max: u64::MAX, found: num_bytes });
        }
        let (mut best, mut low, mut high) = (one, 1, num_bytes.saturating_mul(8));
        while low < high {
            let items = low.midpoint(high).max(low + 1);
            match Self::for_items(items, target_fpp) {
                Ok(params) if params.num_bytes() <= num_bytes => (best, low) = (params, items),
                _ => high = items - 1,
            }
        }
        Ok(best)
    }

    /// Parameters as a file has them.
    ///
    /// # Errors
    ///
    /// [`Error::ZeroItems`], [`Error::FppOutOfRange`]; [`Error::OutOfRange`] for numbers that no
    /// bucket or digest can have.
    pub fn new(
        num_fronts: u64,
        runs: u32,
        remainder_bits: u32,
        expected_items: u64,
        target_fpp: f64,
    ) -> Result<Self, Error> {
        check_items(expected_items)?;
        super::check_fpp(target_fpp)?;
        Error::check_range("num_fronts", 1..=MAX_FRONTS, num_fronts)?;
        let (bits, max) = (remainder_bits.into(), MAX_REMAINDER_BITS.into());
        Error::check_range("remainder_bits", 0..=max, bits)?;
        let Some(front) = Shape::new(runs, remainder_bits) else {
            let (parameter, found) = ("runs", runs.into());
            return Err(Error::OutOfRange { parameter, min: 1, max: 511, found });
        };
        let of_front = u128::from(runs) << remainder_bits;
        let (max, all) = (u128::from(MAX_FINGERPRINTS), of_front * u128::from(num_fronts));
        if all > max {
            let found = u64::try_from(all).unwrap_or(u64::MAX);
            let parameter = "num_fingerprints";
            return Err(Error::OutOfRange { parameter, min: 1, max: MAX_FINGERPRINTS, found });
        }
        let mut shapes = [front; NUM_LEVELS];
        for (shape, fronts) in shapes.iter_mut().zip(FRONTS).skip(1) {
            // Below 2^60 · 640 values: remainders of 60 bits and 2 runs would do, 56 and 640 · 16
            // would not.
            let values = of_front * u128::from(fronts.min(num_fronts));
            let found = Shape::with_most_slots(values);
            *shape = found.ok_or(Error::OutOfRange {
                parameter: "remainder_bits",
                min: 0,
                max: MAX_REMAINDER_BITS.into(),
                found: remainder_bits.into(),
            })?;
        }
        Ok(Self { expected_items, target_fpp, num_fronts, shapes })
    }

    /// The same filter for another rate that it is to keep.
    ///
    /// # Errors
    ///
    /// [`Error::FppOutOfRange`].
    pub fn with_target_fpp(self, target_fpp: f64) -> Result<Self, Error> {
        super::check_fpp(target_fpp)?;
        Ok(Self { target_fpp, ..self })
    }

    /// n: copies of keys that it is made for.
    pub const fn expected_items(&self) -> u64 {
        self.expected_items
    }

    /// p: the rate to keep up to n.
    pub const fn target_fpp(&self) -> f64 {
        self.target_fpp
    }

    /// F: buckets of the first level.
    pub const fn num_fronts(&self) -> u64 {
        self.num_fronts
    }

    /// B: runs of a front bucket.
    pub const fn runs(&self) -> u32 {
        self.shapes[0].runs
    }

    /// r: bits of a remainder in a front bucket.
    pub const fn remainder_bits(&self) -> u32 {
        self.shapes[0].remainder_bits
    }

    /// Slots of a front bucket.
    pub const fn slots(&self) -> u32 {
        self.shapes[0].slots
    }

    /// U: different fingerprints.
    pub const fn num_fingerprints(&self) -> u64 {
        self.num_fronts * self.front_fingerprints()
    }

    /// Different fingerprints of a front bucket.
    pub(crate) const fn front_fingerprints(&self) -> u64 {
        (self.runs() as u64) << self.remainder_bits()
    }

    pub(crate) const fn shape(&self, level: usize) -> Shape {
        self.shapes[level]
    }

    /// Buckets of a level.
    pub(crate) const fn num_buckets(&self, level: usize) -> u64 {
        self.num_fronts.div_ceil(FRONTS[level])
    }

    /// Entries that the attic has room for: one for 3,000 keys, and 31.
    pub(crate) const fn attic_capacity(&self) -> u64 {
        // With its length, whole blocks of 8 words.
        (self.expected_items / 3_000 + 32).next_multiple_of(8) - 1
    }

    /// Bytes of memory.
    pub const fn num_bytes(&self) -> u64 {
        let (mut buckets, mut level) = (0, 0);
        while level < NUM_LEVELS {
            buckets += self.num_buckets(level);
            level += 1;
        }
        buckets * (BUCKET_BITS as u64 / 8) + (self.attic_capacity() + 1) * 8
    }

    /// The exact rate with `items` different keys: `1 − (1 − 1/U)^items`.
    pub fn expected_fpp(&self, items: u64) -> f64 {
        -libm::expm1(items as f64 * libm::log1p(-1.0 / self.num_fingerprints() as f64))
    }
}

/// The front bucket with the most keys for a rate at this load, and their mean number.
fn densest(load: u32, target_fpp: f64) -> Option<(f64, Shape)> {
    let keys_of = |slots: u32| f64::from(slots * load) / 1000.0;
    let log2 = libm::floor(-libm::log2(target_fpp)) as u32;
    let widths = log2.saturating_sub(2).max(1)..=log2 + 1;
    widths
        .filter_map(|bits| {
            let fits = |slots: &u32| {
                let keys = keys_of(*slots);
                let runs = libm::ceil(keys / target_fpp / (1u64 << bits) as f64).max(1.0);
                let taken = runs + f64::from(*slots * (bits + 1));
                (taken <= f64::from(BUCKET_BITS)).then_some(runs as u32)
            };
            let slots = (1..BUCKET_BITS / (bits + 1)).rev().find(|slots| fits(slots).is_some())?;
            Some((keys_of(slots), Shape::new(fits(&slots)?, bits)?))
        })
        // Of equals the one with the wider remainder: its index is shorter.
        .max_by(|(a, _), (b, _)| a.total_cmp(b))
}
