//! Descriptions and measurements of a filter.

use mayhap::{ClockJumps, Estimate, FilterParams};

/// The properties of a filter that are known without reading its bits.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Info {
    /// Its capacity at creation, or that of its layers if that is more.
    pub capacity: u64,
    /// Bytes of memory.
    pub num_bytes: u64,
    /// Number of layers, which Redis calls the number of filters.
    pub layers: u64,
    /// Positions per key; 0 if a file does not record it, or each layer has its own.
    pub num_hashes: u32,
    /// Keys that were new.
    pub items: u64,
    /// Distinct keys that were inserted, including those counted as repeats, if its count allows an
    /// estimate; else [`Info::items`].
    pub distinct_items: u64,
    /// `EXPANSION` at its creation; `None` if it does not grow.
    pub expansion: Option<u32>,
    /// The promised rate.
    pub target_fpp: f64,
    /// The rate now, as predicted from the number of distinct keys.
    pub expected_fpp: f64,
    /// Whether it has more keys than its capacity, so that its rate is above the promised one, or a
    /// window of time forgets the oldest keys early.
    pub over_capacity: bool,
    /// Keys that a window forgot before their time, to make room for others; `None` for kinds other
    /// than windows of time.
    pub forgotten_early: Option<u64>,
    /// How often it cleared itself since the start of the server; `None` for kinds that do not.
    pub clears: Option<u64>,
    /// How often the clock was set back since the start of the server; `None` for kinds other than
    /// windows.
    pub clock_jumps: Option<ClockJumps>,
    /// `scalable`, `blocked` or `standard` (one that does not grow, by its layout), `counting`,
    /// `compact`, `window`, `clearing`, `fuse` or `ribbon` (frozen), `redisbloom`, `mapped`,
    /// `matrix`, or the name of a format.
    pub kind: &'static str,
    /// Whether a secret key is needed to create its digests.
    pub keyed: bool,
    /// Whether nothing can be inserted.
    pub read_only: bool,
}

/// Measurements of the bits of a filter.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Measured {
    /// The share of bits that are set.
    pub fill_ratio: f64,
    /// The rate now. If it is far above [`Info::expected_fpp`], keys were chosen to fill the
    /// filter.
    pub estimated_fpp: f64,
    /// Whether more bits are set than its keys explain, by more than five standard deviations: the
    /// keys were chosen. Scalable, plain and clearing filters only; the others forget keys, remove
    /// them or hash in their own way, so that a number of keys does not explain their bits.
    pub fill_alarm: Option<bool>,
}

/// A layer of a filter; if the filter does not grow, the filter itself.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct LayerInfo {
    /// Number of bytes of its bits.
    pub num_bytes: u64,
    /// Number of its bits.
    pub num_bits: u64,
    /// Positions per key; 0 if a file does not record it.
    pub num_hashes: u32,
    /// Keys that it is sized for.
    pub capacity: u64,
    /// Keys that were new when they were inserted into it.
    pub items: u64,
    /// Its share of the promised rate: its rate when it is full.
    pub target_fpp: f64,
}

/// Chance alone raises the alarm once in 3.5 million independent measurements.
const ALARM_DEVIATIONS: f64 = 5.0;

impl Info {
    /// One layer that does not grow, with as many distinct keys as were new, and rates of 0.
    pub(super) fn new(kind: &'static str, items: u64, num_bytes: u64) -> Self {
        Self { kind, items, distinct_items: items, num_bytes, layers: 1, ..Self::default() }
    }

    /// With the numbers of a plain filter that counted these items.
    pub(super) fn plain(
        kind: &'static str,
        params: &FilterParams,
        items: u64,
        num_bytes: u64,
    ) -> Self {
        let distinct_items = params.distinct_items(items);
        Self {
            capacity: params.expected_items(),
            num_hashes: params.num_hashes(),
            distinct_items,
            target_fpp: params.target_fpp(),
            expected_fpp: params.expected_fpp(distinct_items),
            ..Self::new(kind, items, num_bytes)
        }
    }
}

impl Measured {
    /// Of a filter whose number of keys does not explain its bits.
    pub(super) const fn new(fill_ratio: f64, estimated_fpp: f64) -> Self {
        Self { fill_ratio, estimated_fpp, fill_alarm: None }
    }
}

impl LayerInfo {
    /// The only layer of a filter.
    pub(super) const fn of(info: &Info) -> Self {
        Self {
            num_bytes: info.num_bytes,
            num_bits: info.num_bytes.saturating_mul(8),
            num_hashes: info.num_hashes,
            capacity: info.capacity,
            items: info.items,
            target_fpp: info.target_fpp,
        }
    }
}

/// Whether the bits indicate more keys than `came`, beyond chance.
pub(super) fn is_overfull(estimate: &Estimate, came: u64) -> bool {
    let came = came as f64;
    // For a few keys that share no bit the formula is off by less than one. A filter without a
    // clear bit indicates infinitely many.
    estimate.items.is_infinite() && came < estimate.low
        || estimate.items - ALARM_DEVIATIONS * estimate.deviation() > came + 1.0
}
