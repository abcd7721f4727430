//! The statistics of a compact filter: its fill, the number of its keys, and its current rate.

use super::table::{MAX_COPIES, Table};
use super::{CompactFilter, CompactParams};
use crate::simd::{BucketKernel, BucketTask, with_buckets};
use crate::{Digest, DigestFunction, Estimate, Health, Key};

impl CompactFilter {
    /// n, p and the numbers of its buckets.
    pub const fn params(&self) -> &CompactParams {
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

    /// Bytes of memory.
    pub const fn num_bytes(&self) -> u64 {
        self.params.num_bytes()
    }

    /// The copies that are stored: insertions less removals that returned `true`, without copies
    /// beyond the 15th of a fingerprint.
    pub const fn inserted_items(&self) -> u64 {
        self.inserted_items
    }

    /// The share of n that is stored.
    pub fn fill_ratio(&self) -> f64 {
        self.inserted_items as f64 / self.params.expected_items() as f64
    }

    /// Different fingerprints that are stored: keys, less those that share one. Reads every bucket.
    pub fn distinct_fingerprints(&self) -> u64 {
        self.census().distinct
    }

    /// Fingerprints with 15 copies, which stay until [`CompactFilter::clear`]. Reads every bucket.
    pub fn stuck(&self) -> u64 {
        self.census().stuck
    }

    /// The number of distinct keys estimated from the different fingerprints, with a 99 % interval.
    /// Reads every bucket.
    pub fn estimated_items(&self) -> Estimate {
        let all = self.params.num_fingerprints();
        Estimate::from_fingerprints(all, self.distinct_fingerprints())
    }

    /// The predicted false-positive probability with `items` distinct keys present:
    /// `1 − (1 − 1/U)^items`, exactly.
    pub fn expected_fpp(&self, items: u64) -> f64 {
        self.params.expected_fpp(items)
    }

    /// The *current* false-positive probability, exact: the share of fingerprints that are stored.
    /// Reads every bucket.
    pub fn estimated_fpp(&self) -> f64 {
        self.distinct_fingerprints() as f64 / self.params.num_fingerprints() as f64
    }

    /// Whether the filter still keeps its promise: for one that grows, by its rate.
    pub fn health(&self) -> Health {
        let (items, params) = (self.inserted_items, &self.params);
        match self.grows {
            true if params.expected_fpp(items) > params.target_fpp() => Health::OverCapacity,
            true => Health::Ok,
            false => Health::of(items as f64, params.expected_items()),
        }
    }

    /// Calls `each` with every fingerprint that is stored and its copies, ascending: its number
    /// below [`CompactParams::num_fingerprints`].
    ///
    /// # Examples
    ///
    /// ```
    /// use mayhap::CompactFilter;
    /// let mut filter = CompactFilter::builder().expected_items(9).target_fpp(1e-6).build()?;
    /// filter.insert_batch(&["a", "b", "b"])?;
    /// let mut found = Vec::new();
    /// filter.for_each_fingerprint(|number, copies| found.push((number, copies)));
    /// assert_eq!(found.iter().map(|(_, copies)| copies).sum::<u32>(), 3);
    /// assert!(found.is_sorted() && found.len() == 2);
    /// # Ok::<(), mayhap::Error>(())
    /// ```
    pub fn for_each_fingerprint(&self, mut each: impl FnMut(u64, u32)) {
        let mut last = None;
        self.for_each_copy(|number| {
            last = match last {
                Some((same, copies)) if same == number => Some((same, copies + 1)),
                before => {
                    if let Some((number, copies)) = before {
                        each(number, copies);
                    }
                    Some((number, 1))
                }
            };
        });
        if let Some((number, copies)) = last {
            each(number, copies);
        }
    }

    pub(super) fn for_each_copy(&self, each: impl FnMut(u64)) {
        with_buckets(ForEach { table: &self.table, body: self.body(), each });
    }

    pub(super) fn is_sound(&self) -> bool {
        let sound = with_buckets(IsSound { table: &self.table, body: self.body() });
        let mut copies = 0;
        if sound {
            self.for_each_copy(|_| copies += 1);
        }
        sound && copies == self.inserted_items
    }

    fn census(&self) -> Census {
        let mut census = Census { distinct: 0, stuck: 0 };
        self.for_each_fingerprint(|_, copies| {
            census.distinct += 1;
            census.stuck += u64::from(copies >= MAX_COPIES);
        });
        census
    }
}

struct Census {
    distinct: u64,
    stuck: u64,
}

struct ForEach<'a, E> {
    table: &'a Table,
    body: &'a [u64],
    each: E,
}

impl<E: FnMut(u64)> BucketTask for ForEach<'_, E> {
    type Output = ();

    #[inline(always)]
    fn run<K: BucketKernel>(self) {
        self.table.for_each::<K>(self.body, self.each);
    }
}

struct IsSound<'a> {
    table: &'a Table,
    body: &'a [u64],
}

impl BucketTask for IsSound<'_> {
    type Output = bool;

    #[inline(always)]
    fn run<K: BucketKernel>(self) -> bool {
        self.table.is_sound::<K>(self.body)
    }
}
