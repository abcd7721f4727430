//! Estimates of the number of keys in a filter: from the set bits, and from the insertions that
//! were new.

use crate::sizing::distinct::{Intake, Z_99};
use crate::sizing::standard::fill_moments;
use crate::{FilterParams, Layout};

/// An estimated number of distinct keys with its 99 % confidence interval.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Estimate {
    /// The most likely number; infinite for a full filter, whose bits give no more information.
    pub items: f64,
    /// The lower end of the interval.
    pub low: f64,
    /// The upper end of the interval.
    pub high: f64,
}

impl FilterParams {
    /// The insertions that a filter with these parameters would have answered "new" for the keys
    /// estimated from `ones` set bits: C of [`crate::sizing::distinct`] for
    /// [`Estimate::from_ones`], rounded. It does not depend on the order of insertions.
    ///
    /// # Examples
    ///
    /// ```
    /// let builder = mayhap::BlockedBloomFilter::builder().expected_items(1_000).target_fpp(0.01);
    /// let mut filter = builder.build()?;
    /// filter.insert_batch(&(0..1_000u64).collect::<Vec<_>>());
    /// let by_ones = filter.params().inserted_by_ones(filter.count_ones());
    /// assert!(by_ones.abs_diff(filter.inserted_items()) < 20);
    /// # Ok::<(), mayhap::Error>(())
    /// ```
    pub fn inserted_by_ones(&self, ones: u64) -> u64 {
        libm::round(Intake::of(self).counted(Estimate::from_ones(self, ones).items)) as u64
    }
}

impl Estimate {
    /// The estimate from `distinct` different fingerprints of `num_fingerprints`: the bits of a
    /// filter with k = 1.
    pub(crate) fn from_fingerprints(num_fingerprints: u64, distinct: u64) -> Self {
        Self::from_probes(num_fingerprints as f64, 1.0, distinct)
    }

    /// The estimate from `ones` of m bits, k of which each key chose.
    fn from_probes(m: f64, k: f64, ones: u64) -> Self {
        let log_clear = k * libm::log1p(-1.0 / m);
        Self::from_fill(ones, m as u64, log_clear, |items| {
            let (_, fill_deviation) = fill_moments(m, k * items);
            // dE[X/m]/dn = (1 − X/m) · k/m
            fill_deviation / ((1.0 - ones as f64 / m) * k / m)
        })
    }

    /// The estimate from `ones` set bits in a filter with these parameters.
    ///
    /// `standard`: n = ln(1 − X/m) / (k · ln(1 − 1/m)) (Swamidass & Baldi 2007). The blocked
    /// layouts: n = ln(1 − X/m) / ln(1 − (1 − (1 − 1/s)^(k/L)) / B), with B blocks of L lanes of s
    /// bits.
    ///
    /// # Examples
    ///
    /// ```
    /// use mayhap::{AnyFilter, Estimate};
    /// let mut filter = AnyFilter::builder().expected_items(100).target_fpp(0.01).build()?;
    /// filter.insert("key");
    /// let estimate = Estimate::from_ones(filter.params(), 8);
    /// assert_eq!(estimate, filter.estimated_items());
    /// assert_eq!(estimate.rounded(), 1);
    /// # Ok::<(), mayhap::Error>(())
    /// ```
    pub fn from_ones(params: &FilterParams, ones: u64) -> Self {
        let m = params.num_bits() as f64;
        let k = f64::from(params.num_hashes());
        match params.layout() {
            Layout::Standard => Self::from_probes(m, k, ones),
            layout @ (Layout::Blocked | Layout::Blocked128 | Layout::Blocked64) => {
                let num_blocks = params.num_bits() / layout.block_bits();
                let lane_bits = layout.lane_bits(params.num_hashes());
                let lanes = [layout.block_bits() / lane_bits, lane_bits];
                Self::from_lanes(num_blocks, lanes, params.num_hashes(), ones)
            }
        }
    }

    /// The estimate from the insertions that a filter with these parameters answered "new": their
    /// number plus the keys that it swallowed ([`crate::sizing::distinct`]).
    ///
    /// More precise than [`Estimate::from_ones`] unless a filter is overfilled several times.
    /// `inserted` never exceeds the true number, so it is the lower end if nothing better is known.
    ///
    /// # Examples
    ///
    /// ```
    /// use mayhap::{BlockedBloomFilter, Estimate};
    /// let builder = BlockedBloomFilter::builder().expected_items(10_000).target_fpp(0.1);
    /// let mut filter = builder.build()?;
    /// filter.insert_batch(&(0..20_000u64).collect::<Vec<_>>());
    /// let estimate = Estimate::from_inserted(filter.params(), filter.inserted_items());
    /// assert!(filter.inserted_items() < 17_700); // the others were taken for repeats
    /// assert!(estimate.low < 20_000.0 && 20_000.0 < estimate.high);
    /// assert!(estimate.high - estimate.low < 500.0);
    /// # Ok::<(), mayhap::Error>(())
    /// ```
    pub fn from_inserted(params: &FilterParams, inserted: u64) -> Self {
        Self::of_intake(&Intake::of(params), inserted)
    }

    /// The more precise of the two: [`Estimate::from_inserted`], or [`Estimate::from_ones`] if it
    /// has the smaller deviation, as for a filter that is overfilled several times, or contradicts
    /// the count. Also if the count is that of the bits ([`FilterParams::inserted_by_ones`]), as
    /// after a union: it was derived from them and is no more precise.
    /// [`crate::Filter::distinct_items`] of a filter whose set bits are already counted.
    ///
    /// # Examples
    ///
    /// ```
    /// use mayhap::{BlockedBloomFilter, Estimate};
    /// let builder = BlockedBloomFilter::builder().expected_items(10_000).target_fpp(0.1);
    /// let mut filter = builder.build()?;
    /// filter.insert_batch(&(0..5_000u64).collect::<Vec<_>>());
    /// let (params, inserted) = (filter.params(), filter.inserted_items());
    /// let ones = filter.count_ones();
    /// assert_eq!(Estimate::distinct(params, inserted, ones), filter.distinct_items());
    /// // Half of the keys were merged in, so the count is wrong and the bits decide.
    /// let by_bits = Estimate::from_ones(params, ones);
    /// assert_eq!(Estimate::distinct(params, inserted / 2, ones), by_bits);
    /// # Ok::<(), mayhap::Error>(())
    /// ```
    pub fn distinct(params: &FilterParams, inserted: u64, ones: u64) -> Self {
        let by_bits = Self::from_ones(params, ones);
        let by_count = Self::from_inserted(params, inserted);
        let is_better = by_count.overlaps(&by_bits)
            && by_count.deviation() < by_bits.deviation()
            && inserted != params.inserted_by_ones(ones);
        if is_better { by_count } else { by_bits }
    }

    pub(crate) fn of_intake(intake: &Intake, inserted: u64) -> Self {
        let (counted, (items, deviation)) =
            (inserted as f64, intake.distinct_with_deviation(inserted as f64));
        let low = (items - Z_99 * deviation).max(counted);
        // Infinity minus infinity is not a number.
        let low = if low.is_nan() { counted } else { low };
        Self { items, low, high: items + Z_99 * deviation }
    }

    /// The standard deviation, which is the distance from `items` to `high` divided by 2.58;
    /// infinite for a full filter.
    pub fn deviation(&self) -> f64 {
        if self.items.is_infinite() { self.items } else { (self.high - self.items) / Z_99 }
    }

    /// Whether both may be estimates of the same number of keys.
    pub(crate) fn overlaps(&self, other: &Self) -> bool {
        self.low <= other.high && other.low <= self.high
    }

    /// The estimate from `ones` set bits in blocks of `lanes` lanes of 64 bits.
    pub(crate) fn from_lane_ones(num_blocks: u64, lanes: u32, num_hashes: u32, ones: u64) -> Self {
        Self::from_lanes(num_blocks, [lanes.into(), 64], num_hashes, ones)
    }

    /// The estimate from `ones` set bits in blocks of the given number of lanes of s bits.
    ///
    /// All k/lanes throws of a key into a lane go into one block, so a key leaves a bit clear with
    /// probability 1 − (1 − (1 − 1/s)^(k/lanes)) / B. If the throws were treated as independent, n
    /// would be 0.8 % too low for k = 16.
    fn from_lanes(num_blocks: u64, lanes: [u64; 2], num_hashes: u32, ones: u64) -> Self {
        let blocks = num_blocks as f64;
        let [num_lanes, lane_bits] = lanes;
        let passes = f64::from(num_hashes / num_lanes as u32);
        let clear_in_block = libm::pow(1.0 - 1.0 / lane_bits as f64, passes);
        let log_clear = libm::log1p(-(1.0 - clear_in_block) / blocks);
        let num_bits = num_blocks * num_lanes * lane_bits;
        Self::from_fill(ones, num_bits, log_clear, |items| {
            blocked_deviation(blocks, [num_lanes as f64, lane_bits as f64], passes, items)
        })
    }

    /// n = ln(1 − X/m) / `log_clear`, the logarithm of the probability that a key leaves a bit
    /// clear.
    fn from_fill(
        ones: u64,
        num_bits: u64,
        log_clear: f64,
        deviation: impl FnOnce(f64) -> f64,
    ) -> Self {
        let m = num_bits as f64;
        if ones >= num_bits {
            let low = -libm::log(m) / log_clear;
            return Self { items: f64::INFINITY, low, high: f64::INFINITY };
        }
        let items = libm::log1p(-(ones as f64 / m)) / log_clear;
        let deviation = deviation(items);
        let low = (items - Z_99 * deviation).max(0.0);
        Self { items, low, high: items + Z_99 * deviation }
    }

    /// The health of a filter sized for `expected_items` with this estimate: over capacity only if
    /// the whole interval is, so that a filter with exactly its items is not.
    pub fn health(&self, expected_items: u64) -> Health {
        match Health::of(self.items, expected_items) {
            Health::OverCapacity => Health::of(self.low, expected_items).max(Health::NearCapacity),
            health => health,
        }
    }

    /// The estimate as a whole number, `u64::MAX` if infinite.
    pub fn rounded(&self) -> u64 {
        libm::round(self.items) as u64
    }
}

/// The standard deviation of the estimate from blocks of the given number of lanes of s bits, with
/// `passes` throws per lane and key.
///
/// Keys per block are Poisson(λ) with a fixed sum; with Y the ones of a block and J its keys,
/// Var X = B (E[Var(Y|J)] + Var(E[Y|J]) − Cov(Y, J)² / λ), all closed forms of E[q^J] =
/// e^(−λ(1−q)).
fn blocked_deviation(num_blocks: f64, [lanes, s]: [f64; 2], passes: f64, items: f64) -> f64 {
    let lambda = items / num_blocks;
    if lambda == 0.0 {
        return 0.0;
    }
    let bits = lanes * s;
    let mean_power = |q: f64| libm::exp(-lambda * (1.0 - q));
    let (q1, q2) = (libm::pow(1.0 - 1.0 / s, passes), libm::pow(1.0 - 2.0 / s, passes));
    let within =
        lanes * (s * (s - 1.0) * mean_power(q2) + s * mean_power(q1) - s * s * mean_power(q1 * q1));
    let between = bits * bits * (mean_power(q1 * q1) - mean_power(q1) * mean_power(q1));
    let covariance = bits * lambda * (1.0 - q1) * mean_power(q1);
    let variance = num_blocks * (within + between - covariance * covariance / lambda);
    // dE[X]/dn = bits (1 − q1) e^(−λ(1−q1))
    libm::sqrt(variance.max(0.0)) / (bits * (1.0 - q1) * mean_power(q1))
}

/// Whether a filter still keeps its promise.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Health {
    /// Below 80 % of `expected_items`.
    Ok,
    /// From 80 % to 100 %: the promise holds; time to plan a larger filter.
    NearCapacity,
    /// More than `expected_items`: the rate is above `target_fpp`.
    OverCapacity,
}

impl Health {
    /// The health of a filter sized for `expected_items` that holds `items`.
    pub fn of(items: f64, expected_items: u64) -> Self {
        let load = items / expected_items as f64;
        if load > 1.0 {
            Self::OverCapacity
        } else if load >= 0.8 {
            Self::NearCapacity
        } else {
            Self::Ok
        }
    }

    /// The health of a filter with these parameters that answered "new" for `inserted` keys: by the
    /// number of distinct keys inserted, and over capacity only beyond
    /// [`FilterParams::inserted_when_full`].
    ///
    /// # Examples
    ///
    /// ```
    /// use mayhap::{Health, Layout, sizing};
    /// let params = sizing::for_items(Layout::Standard, 1_000_000, 0.1)?;
    /// // 970,021 of a million distinct keys are counted, 420 more at most, within chance.
    /// assert_eq!(Health::of_inserted(&params, 970_500), Health::OverCapacity);
    /// assert_eq!(Health::of_inserted(&params, 970_400), Health::NearCapacity);
    /// assert_eq!(Health::of_inserted(&params, 780_000), Health::Ok);
    /// # Ok::<(), mayhap::Error>(())
    /// ```
    pub fn of_inserted(params: &FilterParams, inserted: u64) -> Self {
        Self::of_intake(&Intake::of(params), inserted, params.expected_items())
    }

    /// The health of a plain filter with these parameters, by its count of insertions answered
    /// "new" and by its bits, whichever is worse: bits may be set whose insertion was never
    /// counted. This is the answer of [`crate::Filter::health`].
    ///
    /// # Examples
    ///
    /// ```
    /// use mayhap::{Estimate, Health, Layout, sizing};
    /// let params = sizing::for_items(Layout::Standard, 1_000, 0.01)?;
    /// let bits_of = |items: f64| Estimate { items, low: items - 9.0, high: items + 9.0 };
    /// assert_eq!(Health::of_filter(&params, 790, &bits_of(795.0)), Health::Ok);
    /// assert_eq!(Health::of_filter(&params, 790, &bits_of(805.0)), Health::NearCapacity);
    /// assert_eq!(Health::of_filter(&params, 0, &bits_of(1_010.0)), Health::OverCapacity);
    /// # Ok::<(), mayhap::Error>(())
    /// ```
    pub fn of_filter(params: &FilterParams, inserted: u64, by_bits: &Estimate) -> Self {
        Self::of_inserted(params, inserted).max(by_bits.health(params.expected_items()))
    }

    pub(crate) fn of_intake(intake: &Intake, inserted: u64, expected_items: u64) -> Self {
        match Self::of(intake.distinct(inserted as f64), expected_items) {
            Self::OverCapacity if inserted <= intake.inserted_when_full(expected_items) => {
                Self::NearCapacity
            }
            health => health,
        }
    }

    /// `ok`, `near capacity` or `over capacity`.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Ok => "ok",
            Self::NearCapacity => "near capacity",
            Self::OverCapacity => "over capacity",
        }
    }
}
