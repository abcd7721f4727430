//! The statistics of a filter: its fill, the number of its keys, and its current rate.

use super::{Estimate, Filter, Health};
use crate::bits::Storage;
use crate::layout::LayoutKind;
use crate::sizing::limits;

impl<L: LayoutKind, S: Storage> Filter<L, S> {
    /// X, the number of bits that are set. Reads every block.
    ///
    /// # Examples
    ///
    /// ```
    /// let mut filter =
    ///     mayhap::BlockedBloomFilter::builder().expected_items(100).target_fpp(0.01).build()?;
    /// filter.insert("one key");
    /// assert_eq!(filter.count_ones(), u64::from(filter.params().num_hashes()));
    /// # Ok::<(), mayhap::Error>(())
    /// ```
    pub fn count_ones(&self) -> u64 {
        self.blocks.count_ones()
    }

    /// The share of bits that are set, X/m. Reads every block.
    pub fn fill_ratio(&self) -> f64 {
        self.count_ones() as f64 / self.params.num_bits() as f64
    }

    /// The number of distinct keys estimated from the set bits, with a 99 % interval. Reads every
    /// block.
    ///
    /// # Examples
    ///
    /// ```
    /// let builder = mayhap::BloomFilter::builder().expected_items(10_000).target_fpp(0.01);
    /// let mut filter = builder.build()?;
    /// filter.insert_batch(&(0..5_000u64).collect::<Vec<_>>());
    /// let estimate = filter.estimated_items();
    /// assert!(estimate.low < 5_000.0 && 5_000.0 < estimate.high);
    /// assert!(estimate.high - estimate.low < 200.0);
    /// # Ok::<(), mayhap::Error>(())
    /// ```
    pub fn estimated_items(&self) -> Estimate {
        Estimate::from_ones(&self.params, self.count_ones())
    }

    /// The number of distinct keys inserted, with a 99 % interval: from [`Filter::inserted_items`]
    /// and the swallowed keys or from the bits, whichever is more precise
    /// ([`Estimate::distinct`]). Reads every block.
    ///
    /// From the bits once the count was derived from them: by a union, by
    /// [`Filter::settle_inserted_items`], or while the filter was shared. A file does not record
    /// that; of a filter loaded from one it is known until further keys are inserted.
    ///
    /// # Examples
    ///
    /// ```
    /// let builder = mayhap::BlockedBloomFilter::builder().expected_items(10_000).target_fpp(0.01);
    /// let mut filter = builder.build()?;
    /// filter.insert_batch(&(0..100_000u64).collect::<Vec<_>>());
    /// let distinct = filter.distinct_items();
    /// assert!(filter.inserted_items() < 35_000);
    /// assert!(distinct.low < 100_000.0 && 100_000.0 < distinct.high);
    /// # Ok::<(), mayhap::Error>(())
    /// ```
    pub fn distinct_items(&self) -> Estimate {
        if self.is_settled {
            return self.estimated_items();
        }
        Estimate::distinct(&self.params, self.inserted_items, self.count_ones())
    }

    /// The insertions that the filter would have answered "new" for the keys estimated from its
    /// bits.
    pub(super) fn inserted_by_bits(&self) -> u64 {
        self.params.inserted_by_ones(self.count_ones())
    }

    /// The predicted false-positive probability with `items` distinct keys inserted
    /// ([`crate::sizing::expected_fpp`]).
    pub fn expected_fpp(&self, items: u64) -> f64 {
        self.params.expected_fpp(items)
    }

    /// The *current* false-positive probability, from the bits themselves. Reads every block.
    ///
    /// Exact for these contents, whatever their origin: `standard` (X/m)^k; `blocked` the mean over
    /// blocks of the product over lanes of (ones/64)^(k/8), or of ones/128 for k = 4. Digest
    /// collisions (n / 2^64, with n estimated from the bits) are added. A value well above
    /// [`Filter::expected_fpp`] of the estimated items means that the keys were not random (a
    /// pollution attack, or digests that are not hashes).
    ///
    /// # Examples
    ///
    /// ```
    /// let builder = mayhap::BlockedBloomFilter::builder().expected_items(100).target_fpp(0.01);
    /// let mut filter = builder.build()?;
    /// assert_eq!(filter.estimated_fpp(), 0.0);
    /// filter.insert_batch(&(0..100_000u64).collect::<Vec<_>>());
    /// assert!(filter.estimated_fpp() > 0.999); // overfilled, and it says so
    /// # Ok::<(), mayhap::Error>(())
    /// ```
    pub fn estimated_fpp(&self) -> f64 {
        limits::with_collisions_of(self.fpp_of_bits(), || self.estimated_items().rounded())
    }

    /// [`Filter::estimated_fpp`] without digest collisions: what the bits alone give. Reads every
    /// block.
    ///
    /// # Examples
    ///
    /// ```
    /// let mut filter: mayhap::BloomFilter =
    ///     mayhap::BloomFilter::builder().expected_items(10).target_fpp(1e-17).build()?;
    /// filter.insert("a");
    /// assert!(filter.fpp_of_bits() < filter.estimated_fpp());
    /// # Ok::<(), mayhap::Error>(())
    /// ```
    pub fn fpp_of_bits(&self) -> f64 {
        self.layout.fpp_of(&self.params, &self.blocks)
    }

    /// Whether the filter still keeps its promise, by [`Filter::inserted_items`] and by
    /// [`Filter::estimated_items`], whichever is worse ([`Health::of_filter`]): over capacity only
    /// if the whole interval is. Reads every block; if the number of items is known,
    /// [`Health::of`] needs no reading.
    pub fn health(&self) -> Health {
        Health::of_filter(&self.params, self.inserted_items, &self.estimated_items())
    }
}
