//! What a filter says of itself.

use mayhap::{ClockJumps, Estimate, FilterParams};

/// What is known of a filter without reading its bits.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Info {
    /// Keys that it was created to hold, or what its layers hold once there are more.
    pub capacity: u64,
    /// Bytes of memory.
    pub num_bytes: u64,
    /// Layers: what Redis calls the number of filters.
    pub layers: u64,
    /// Keys that were new.
    pub items: u64,
    /// Distinct keys that came, those that were taken for repeats too, where its count shows them;
    /// else [`Info::items`].
    pub distinct_items: u64,
    /// `EXPANSION` of its creation; `None` if it does not grow.
    pub expansion: Option<u32>,
    /// The promised rate.
    pub target_fpp: f64,
    /// The rate now, as predicted from the number of distinct keys.
    pub expected_fpp: f64,
    /// Whether it has more keys than it was created for, so that its rate is above the promised
    /// one, or a window of time forgets the oldest of its time early.
    pub over_capacity: bool,
    /// Keys that a window forgot before their time, since more came; `None` for kinds other than
    /// windows of time.
    pub forgotten_early: Option<u64>,
    /// How often it cleared itself since the server began; `None` for kinds that do not.
    pub clears: Option<u64>,
    /// How often the clock was set back since the server began; `None` for kinds other than
    /// windows.
    pub clock_jumps: Option<ClockJumps>,
    /// `scalable`, `blocked` or `standard` (one that does not grow, by its layout), `counting`,
    /// `window`, `clearing`, `redisbloom`, `mapped`, `matrix`, or the name of a format.
    pub kind: &'static str,
    /// Whether a secret key is needed to create its digests.
    pub keyed: bool,
    /// Whether nothing can be inserted.
    pub read_only: bool,
}

/// What the bits of a filter say.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Measured {
    /// The share of bits that are set.
    pub fill_ratio: f64,
    /// The rate now. Far above [`Info::expected_fpp`], the keys were chosen to fill the filter.
    pub estimated_fpp: f64,
    /// Whether more bits are set than its keys explain, by more than five standard deviations: the
    /// keys were chosen. Scalable, plain and clearing filters only; what others forget, take back
    /// or hash in their own way is not explained by a number of keys.
    pub fill_alarm: Option<bool>,
}

/// A layer of a filter; of one that does not grow, the filter.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct LayerInfo {
    /// Bytes of its bits.
    pub num_bytes: u64,
    /// Its bits.
    pub num_bits: u64,
    /// Positions of a key; 0 where a file does not say.
    pub num_hashes: u32,
    /// Keys that it is made for.
    pub capacity: u64,
    /// Keys that were new when they came to it.
    pub items: u64,
    /// Its share of the promised rate: what it has when it is full.
    pub target_fpp: f64,
}

/// Chance alone raises the alarm once in 3.5 million independent looks.
const ALARM_DEVIATIONS: f64 = 5.0;

impl Info {
    /// One layer that does not grow, with as many distinct keys as were new, and rates of 0.
    pub(super) const fn new(kind: &'static str, items: u64, num_bytes: u64) -> Self {
        Self {
            capacity: 0,
            num_bytes,
            layers: 1,
            items,
            distinct_items: items,
            expansion: None,
            target_fpp: 0.0,
            expected_fpp: 0.0,
            over_capacity: false,
            forgotten_early: None,
            clears: None,
            clock_jumps: None,
            kind,
            keyed: false,
            read_only: false,
        }
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
            distinct_items,
            target_fpp: params.target_fpp(),
            expected_fpp: params.expected_fpp(distinct_items),
            ..Self::new(kind, items, num_bytes)
        }
    }
}

impl LayerInfo {
    /// The only layer of a filter.
    pub(super) const fn of(info: &Info, num_hashes: u32) -> Self {
        Self {
            num_bytes: info.num_bytes,
            num_bits: info.num_bytes.saturating_mul(8),
            num_hashes,
            capacity: info.capacity,
            items: info.items,
            target_fpp: info.target_fpp,
        }
    }
}

/// Whether the bits speak of more keys than `came`, beyond what chance let them.
pub(super) fn is_overfull(estimate: &Estimate, came: u64) -> bool {
    let came = came as f64;
    // Of a few keys that share no bit the formula is off by less than one. A filter without a clear
    // bit speaks of infinitely many.
    estimate.items.is_infinite() && came < estimate.low
        || estimate.items - ALARM_DEVIATIONS * estimate.deviation() > came + 1.0
}
