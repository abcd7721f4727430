//! The number of distinct keys inserted into a filter, from the number that it answered "new".
//!
//! A new key for which the answer is "maybe" sets no bit and is not counted: the filter *swallows*
//! it. So if a filter counted c keys, more were inserted, T = c + the swallowed ones, and its bits,
//! and with them its rate, correspond to T keys. With p(t) the rate after t distinct keys,
//!
//! ```text
//! E[c] = C(T) = Σ (1 − p(t)) over t < T
//! ```
//!
//! exactly: key t meets the bits of all t keys before it, since the swallowed ones would have set
//! only bits that are already set. `mean.rs` sums the layouts' models in closed form and inverts C,
//! `spread.rs` computes the deviation of c from C(T).
//!
//! Terms: `inserted` is c, the insertions answered "new"; `distinct` is T. Capacities
//! ([`FilterParams::expected_items`]) and rates ([`FilterParams::expected_fpp`]) refer to T.
//!
//! ```
//! use mayhap::{Layout, sizing};
//!
//! let params = sizing::for_items(Layout::Blocked, 10_000, 0.01)?;
//! // Ten times the distinct keys that it was made for: it counts a third of them.
//! let counted = params.expected_inserted(100_000);
//! assert!((34_200.0..34_300.0).contains(&counted));
//! assert!(params.distinct_items(counted as u64).abs_diff(100_000) < 500);
//! # Ok::<(), mayhap::Error>(())
//! ```

mod mean;
mod spread;
#[cfg(test)]
mod tests;

use super::FilterParams;
use crate::Layout;

/// The 99.5th percentile of the standard normal distribution: 99 % are within this many σ.
pub(crate) const Z_99: f64 = 2.575_829_303_548_901;

/// Up to this many swallowed keys, the interval reaches down to none.
const NEGLIGIBLE: f64 = 4.0;

/// The model of the bits that keys occupy.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Cells {
    /// k bits anywhere in m.
    Standard { num_bits: f64, num_hashes: u32 },
    /// `passes` bits into each lane of one of the blocks.
    Lanes { num_blocks: f64, lanes: u32, lane_bits: f64, passes: u32 },
}

/// A filter as far as the number of its keys is concerned: cells, or several sets of them that hold
/// the same keys and must all answer "maybe".
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Intake {
    cells: Cells,
    parts: u32,
}

impl Intake {
    /// `standard`; or a window's column of this many rows.
    pub(crate) const fn standard(num_bits: u64, num_hashes: u32) -> Self {
        Self { cells: Cells::Standard { num_bits: num_bits as f64, num_hashes }, parts: 1 }
    }

    /// Blocks of this many lanes.
    pub(crate) const fn lanes(num_blocks: u64, lanes: u32, lane_bits: u64, k: u32) -> Self {
        let (num_blocks, lane_bits) = (num_blocks as f64, lane_bits as f64);
        let cells = Cells::Lanes { num_blocks, lanes, lane_bits, passes: k / lanes };
        Self { cells, parts: 1 }
    }

    /// A plain filter.
    pub(crate) const fn of(params: &FilterParams) -> Self {
        let (layout, k) = (params.layout(), params.num_hashes());
        if matches!(layout, Layout::Standard) {
            return Self::standard(params.num_bits(), k);
        }
        let (block, lane) = (layout.block_bits(), layout.lane_bits(k));
        Self::lanes(params.num_bits() / block, (block / lane) as u32, lane, k)
    }

    /// Several plain filters that hold the same keys, such as a layer of a chain.
    pub(crate) const fn of_parts(part: &FilterParams, parts: u32) -> Self {
        Self { parts, ..Self::of(part) }
    }

    /// The count at which a filter for `items` distinct keys is full: where it is certain (99 %)
    /// that this many have been inserted.
    pub(crate) fn inserted_when_full(&self, items: u64) -> u64 {
        let distinct = items as f64;
        if self.swallowed(distinct) < NEGLIGIBLE {
            return items;
        }
        let most = self.counted(distinct) + Z_99 * self.deviation(distinct);
        // The count never exceeds the number of insertions.
        (libm::ceil(most) as u64).min(items)
    }

    /// The number of distinct keys inserted for a given count, and its standard deviation; both
    /// infinite if all bits are set.
    pub(crate) fn distinct_with_deviation(&self, counted: f64) -> (f64, f64) {
        let distinct = self.distinct(counted);
        if distinct.is_infinite() {
            return (distinct, distinct);
        }
        (distinct, self.deviation(distinct) / (1.0 - self.fpp(distinct)))
    }
}

impl FilterParams {
    /// The mean number of `distinct` distinct keys that a filter, empty at first, answers "new": C
    /// of [`crate::sizing::distinct`].
    ///
    /// # Examples
    ///
    /// ```
    /// use mayhap::{FilterParams, Layout};
    /// // 64 bits, k = 1: 64 keys set 64 · (1 − (63/64)^64) of them.
    /// let params = FilterParams::new(Layout::Standard, 64, 1, 10, 0.2)?;
    /// assert!((params.expected_inserted(64) - 40.64).abs() < 0.01);
    /// # Ok::<(), mayhap::Error>(())
    /// ```
    pub fn expected_inserted(&self, distinct: u64) -> f64 {
        Intake::of(self).counted(distinct as f64)
    }

    /// The mean number of distinct keys inserted into a filter that answered "new" for `inserted`
    /// of them: the inverse of [`FilterParams::expected_inserted`]. [`u64::MAX`] if that count is
    /// reached only when all bits are set.
    ///
    /// Takes microseconds. [`crate::Estimate::from_inserted`] also has the interval.
    ///
    /// # Examples
    ///
    /// ```
    /// use mayhap::{Layout, sizing};
    /// let params = sizing::for_items(Layout::Standard, 1_000_000, 0.1)?;
    /// assert_eq!(params.distinct_items(1_000), 1_000);
    /// assert_eq!(params.distinct_items(970_022), 1_000_000); // it swallowed 29,978
    /// assert_eq!(params.distinct_items(5_000_000), u64::MAX);
    /// # Ok::<(), mayhap::Error>(())
    /// ```
    pub fn distinct_items(&self, inserted: u64) -> u64 {
        libm::round(Intake::of(self).distinct(inserted as f64)) as u64
    }

    /// The number of insertions answered "new" at which the filter is full: where it is certain (99
    /// %) that `expected_items` distinct keys have been inserted; at most `expected_items`.
    ///
    /// So a filter sized for exactly the keys that arrive is not reported as full before the last
    /// of them, and the excess of a full one is 2.6 standard deviations of the number it swallowed.
    ///
    /// # Examples
    ///
    /// ```
    /// use mayhap::{Layout, sizing};
    /// let params = |fpp| sizing::for_items(Layout::Standard, 1_000_000, fpp);
    /// assert_eq!(params(1e-6)?.inserted_when_full(), 1_000_000);
    /// assert_eq!(params(0.1)?.inserted_when_full(), 970_440); // 970,021 in the mean
    /// # Ok::<(), mayhap::Error>(())
    /// ```
    pub fn inserted_when_full(&self) -> u64 {
        self.inserted_when_holding(self.expected_items())
    }

    /// Like [`FilterParams::inserted_when_full`], for a filter that is considered full with `items`
    /// distinct keys, whatever it was sized for.
    pub fn inserted_when_holding(&self, items: u64) -> u64 {
        Intake::of(self).inserted_when_full(items)
    }
}
