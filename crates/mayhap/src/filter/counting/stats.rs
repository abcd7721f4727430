//! The statistics of a counting filter: its fill, the number of its keys, and its current rate.

use super::{CounterBits, CountingBloomFilter, Lanes, with_lanes};
use crate::sizing::limits;
use crate::{Block, Digest, DigestFunction, Estimate, FilterParams, Health, Key, Layout};

impl CountingBloomFilter {
    /// The parameters of the plain filter with a bit for each counter
    /// ([`CountingBloomFilter::to_blocked`]), which has the same rate: n, p, k = 8, and `num_bits`
    /// as the number of counters.
    pub const fn params(&self) -> &FilterParams {
        &self.params
    }

    /// How keys become digests.
    pub const fn digest_function(&self) -> &DigestFunction {
        &self.digest_function
    }

    /// The digest of a key, for querying several filters with the same digest function at the cost
    /// of one hash.
    #[inline]
    pub fn digest<K: Key + ?Sized>(&self, key: &K) -> Digest {
        self.digest_function.digest(key)
    }

    /// The counters: lane `i` of a block holds 16 counters of 4 bits or 8 of 8 bits, the first one
    /// lowest.
    pub fn blocks(&self) -> &[Block] {
        self.blocks.as_ref()
    }

    /// The bits of a counter.
    pub const fn counter_bits(&self) -> CounterBits {
        match self.params.layout() {
            Layout::Blocked64 => CounterBits::Eight,
            _ => CounterBits::Four,
        }
    }

    /// The number of counters.
    pub const fn num_counters(&self) -> u64 {
        self.params.num_bits()
    }

    /// The bits of all counters.
    pub const fn num_bits(&self) -> u64 {
        self.num_bytes() * 8
    }

    /// Bytes of memory that the counters take.
    pub const fn num_bytes(&self) -> u64 {
        super::num_blocks(&self.params) * 64
    }

    /// k: the counters of a key, one in each lane.
    pub const fn num_hashes(&self) -> u32 {
        self.params.num_hashes()
    }

    /// Insertions less removals that returned `true`; a key that was inserted twice counts twice.
    ///
    /// As long as only keys that were inserted are removed, it is the number of copies in the
    /// filter: never lower, since copies stuck in saturated counters still count.
    pub const fn inserted_items(&self) -> u64 {
        self.inserted_items
    }

    /// The share of counters that are not 0. Reads every block.
    pub fn fill_ratio(&self) -> f64 {
        self.num_occupied() as f64 / self.num_counters() as f64
    }

    /// The number of counters that are saturated and stay so until [`CountingBloomFilter::clear`].
    /// Reads every block.
    pub fn saturated_counters(&self) -> u64 {
        with_lanes!(self, L => L::count_saturated(self.blocks.as_ref()))
    }

    /// The number of distinct keys estimated from the counters that are not 0, with a 99 %
    /// interval. Reads every block.
    pub fn estimated_items(&self) -> Estimate {
        Estimate::from_ones(&self.params, self.num_occupied())
    }

    /// The predicted false-positive probability with `items` distinct keys present.
    ///
    /// `p = Σ_j Binomial(j; n, 1/B) · (1 − (1 − 1/s)^j)^8` with B blocks and s = 16 (4 bits) or 8
    /// (8 bits) counters per lane ([`crate::sizing::blocked`]). Removed keys no longer count,
    /// unless they left saturated counters.
    pub fn expected_fpp(&self, items: u64) -> f64 {
        self.params.expected_fpp(items)
    }

    /// The *current* false-positive probability, exact for these counters: the mean over blocks of
    /// the product over lanes of the share of counters that are not 0, plus digest collisions.
    /// Reads every block.
    pub fn estimated_fpp(&self) -> f64 {
        let fpp = with_lanes!(self, L => L::fpp(self.blocks.as_ref()));
        limits::with_collisions_of(fpp, || self.estimated_items().rounded())
    }

    /// Whether the filter still keeps its promise, by [`CountingBloomFilter::estimated_items`].
    /// Reads every block.
    pub fn health(&self) -> Health {
        self.estimated_items().health(self.params.expected_items())
    }

    pub(crate) fn num_occupied(&self) -> u64 {
        with_lanes!(self, L => L::count_occupied(self.blocks.as_ref()))
    }
}
