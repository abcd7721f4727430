//! The numbers of a set that are known without reading its bits.

use crate::fullness::{Forgotten, MIN_RATE_STEP, RATE_STEPS};
use crate::room::near_full;
use mayhap::Estimate;

/// The numbers of a set into which keys are inserted in one way ([`mayhap::set::Repeats`]); none of
/// them needs its bits.
#[derive(Debug, Clone, Copy)]
pub struct Numbers {
    /// Bytes of memory.
    pub num_bytes: u64,
    /// Distinct keys that it was created for, or starts with; 0 where that is not known.
    pub expected_items: u64,
    /// Distinct keys after which it is full; `None` if it never is.
    pub capacity: Option<u64>,
    /// Whether it takes nothing beyond its capacity, not even keys that are there already.
    pub is_hard: bool,
    /// The [`KeySet::items`](crate::KeySet::items) at which it is full.
    pub full_at: Option<u64>,
    /// The [`KeySet::items`](crate::KeySet::items) at which four fifths of its keys are in.
    pub warn_at: Option<u64>,
    /// [`KeySet::items`](crate::KeySet::items).
    pub items: u64,
    /// An estimate of the distinct keys inserted, from the count. `None` where the count cannot
    /// tell.
    pub distinct_items: Option<Estimate>,
    /// Keys that were forgotten before their time so far, of a kind that does so rather than answer
    /// wrongly more often.
    pub forgotten: Option<Forgotten>,
    /// The rate that was promised; NaN where that is not known.
    pub target_fpp: f64,
    /// The rate predicted from the keys inserted.
    pub expected_fpp: f64,
    /// Keys of a step in which the rate changes little.
    pub rate_step: u64,
}

impl Numbers {
    /// The numbers of a set that holds `items` keys of its `capacity`, with its rates: as promised,
    /// and as predicted.
    pub(crate) fn of(
        (items, capacity): (u64, Option<u64>),
        num_bytes: u64,
        (target_fpp, expected_fpp): (f64, f64),
    ) -> Self {
        let expected_items = capacity.unwrap_or(0);
        Self {
            num_bytes,
            expected_items,
            capacity,
            is_hard: false,
            full_at: capacity,
            warn_at: capacity.map(near_full),
            items,
            distinct_items: None,
            forgotten: None,
            target_fpp,
            expected_fpp,
            rate_step: rate_step(expected_items),
        }
    }

    /// The distinct keys inserted, as far as is known.
    pub fn keys(&self) -> u64 {
        self.distinct_items.map_or(self.items, |came| came.rounded())
    }
}

impl From<mayhap::set::Numbers> for Numbers {
    /// The numbers of a filter of our own into which no key is inserted that is there; when it is
    /// full is computed apart.
    fn from(numbers: mayhap::set::Numbers) -> Self {
        let counts = (numbers.inserted_items, numbers.capacity);
        let rates = (numbers.target_fpp, numbers.expected_fpp);
        Self {
            expected_items: numbers.expected_items,
            distinct_items: Some(numbers.distinct_items),
            rate_step: rate_step(numbers.expected_items),
            ..Self::of(counts, numbers.num_bytes, rates)
        }
    }
}

/// The keys of a step in which the rate of a set for this many changes little.
fn rate_step(expected_items: u64) -> u64 {
    (expected_items / RATE_STEPS).max(MIN_RATE_STEP)
}
