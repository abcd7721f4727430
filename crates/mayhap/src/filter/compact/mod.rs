//! A filter from which keys can be removed, in little more memory than the set needs: fingerprints
//! in place of counters.
//!
//! `bucket.rs` is the arithmetic of a bucket, `table.rs` the order of all buckets, `batch.rs` the
//! batch calls, `stats.rs` the statistics, `builder.rs` how one is built, `native.rs` the file,
//! `concurrent.rs` one for many threads.

mod batch;
mod bucket;
mod builder;
#[cfg(any(feature = "std", loom, shuttle))]
mod concurrent;
mod native;
mod stats;
mod table;
#[cfg(test)]
mod tests;

pub use builder::CompactBuilder;
#[cfg(any(feature = "std", loom, shuttle))]
pub use concurrent::ConcurrentCompactFilter;

use crate::bits::{OwnedBlocks, block};
use crate::simd::{BucketKernel, BucketTask, with_buckets};
use crate::sizing::compact::CompactParams;
use crate::{Digest, DigestFunction, Error, Key};
use table::{Fingerprint, Full, Table};

/// A filter with removal in 9.4 bits a key at 1 %: a quotient filter whose rate can be chosen.
///
/// It holds a *multiset of fingerprints*: numbers below U, of which a digest has one,
/// `floor(digest · U / 2^64)`. A fingerprint is one of F front buckets of two adjacent cache
/// lines, a run in it, and a remainder. A bucket that is full keeps its smallest fingerprints; the
/// others are in buckets that several share, and at last in a short sorted list
/// ([`crate::sizing::compact`]). An absent key is answered "maybe" with `p = 1 − (1 − 1/U)^n`
/// exactly, at any load, and after any removals.
///
/// | p | bits per key, 10 k / 1 M / 10 M keys | [`crate::CountingBloomFilter`] | least |
/// |---|---|---|---|
/// | 1 % | 10.6 / 9.57 / 9.38 | 45.7 | 8.08 |
/// | 0.1 % | 14.8 / 13.2 / 13.0 | 77.6 | 11.4 |
/// | 1e-4 | 18.8 / 16.7 / 16.5 | 138 | 14.7 |
/// | 1e-6 | 27.4 / 24.5 / 24.0 | 291 | 21.4 |
///
/// (The least that any filter with removal takes is log2(1/p) + 1.44, by Kuszmaul & Walzer 2024,
/// *Space Lower Bounds for Dynamic Filters and Value-Dynamic Retrieval*.)
///
/// A query touches one pair of lines, and another for each level above the first: 1.1 pairs on
/// average at the design load. One thread writes or many read.
///
/// # What the copies mean
///
/// * **Every insertion stores a copy**, even that of a key that is already present: a key inserted
///   twice is present until it is removed twice. From 15 copies on an entry counts no more and is
///   never removed, so that no key is lost: [`CompactFilter::stuck`] counts them.
/// * **Removing a key that is surely absent** has no effect: `remove` returns `false`.
/// * **Removing a key that was never inserted but is answered "maybe"** takes a copy of another key
///   that has the same fingerprint: *that key is then answered "surely absent"*. Remove only keys
///   that are known to have been inserted, as often as they were.
/// * **[`CompactFilter::insert_absent`]** stores a key only if it is surely absent, so a key is
///   removed by one removal; but a key whose fingerprint another key has stored already stores
///   none, and is lost when that one is removed: with probability p for each key whose twin is
///   removed. Where keys are removed, use [`CompactFilter::insert`] for keys that come once.
/// * **Capacity**: up to n copies of distinct keys there is room with a probability of 1 − 1e-9.
///   Copies of the same keys are less even, and the filter may be full before: measured at 96 % of
///   n if each key is stored twice, 87 % if four times, 73 % if eight times and 58 % if fifteen
///   times (p = 1e-6, 10 M copies; at 1 % 98, 93, 85 and 74 %). An insertion for which there is no
///   room is an error and changes nothing, unless the filter [grows](CompactBuilder::grows).
///
/// # Examples
///
/// ```
/// use mayhap::CompactFilter;
///
/// let mut online = CompactFilter::builder().expected_items(100).target_fpp(0.001).build()?;
/// assert!(online.insert("ann")? && online.insert("ben")?);
/// assert!(!online.insert("ben")?); // not new: another copy
/// assert!(online.remove("ann"));
/// assert!(!online.contains("ann") && online.count("ben") == 2);
/// assert!(!online.remove("ann")); // refused: surely absent
/// # Ok::<(), mayhap::Error>(())
/// ```
#[derive(Debug)]
pub struct CompactFilter {
    blocks: OwnedBlocks,
    params: CompactParams,
    table: Table,
    digest_function: DigestFunction,
    /// Copies that are stored.
    inserted_items: u64,
    /// Whether it doubles itself when it is full, and up to which size.
    grows: bool,
    max_bytes: u64,
}

impl CompactFilter {
    /// Returns a builder for a filter.
    pub fn builder() -> CompactBuilder {
        CompactBuilder::new()
    }

    /// An empty filter of these parameters.
    ///
    /// # Errors
    ///
    /// [`Error::OutOfMemory`].
    pub fn empty(params: CompactParams, digest_function: DigestFunction) -> Result<Self, Error> {
        let blocks = OwnedBlocks::zeroed(params.num_bytes() / 64)?;
        Ok(Self::of_parts(params, digest_function, blocks, 0))
    }

    fn of_parts(
        params: CompactParams,
        digest_function: DigestFunction,
        blocks: OwnedBlocks,
        inserted_items: u64,
    ) -> Self {
        let (table, grows, max_bytes) = (Table::new(&params), false, u64::MAX);
        Self { blocks, params, table, digest_function, inserted_items, grows, max_bytes }
    }

    /// Stores a copy of a key; `true` if the key is new: surely not in the filter before.
    ///
    /// Every call stores a copy, whatever it returns, up to 15 of a fingerprint.
    ///
    /// # Errors
    ///
    /// [`Error::Full`], changing nothing.
    #[inline]
    pub fn insert<K: Key + ?Sized>(&mut self, key: &K) -> Result<bool, Error> {
        self.insert_digest(self.digest_function.digest(key))
    }

    /// Like [`CompactFilter::insert`], for a key that is already a digest.
    ///
    /// # Errors
    ///
    /// Same as [`CompactFilter::insert`].
    pub fn insert_digest(&mut self, digest: Digest) -> Result<bool, Error> {
        self.insert_fingerprint(self.table.fingerprint(digest))
    }

    fn insert_fingerprint(&mut self, at: Fingerprint) -> Result<bool, Error> {
        let number = self.table.number(at);
        loop {
            let at = self.table.of_number(number);
            let has_room = self.inserted_items < self.params.expected_items();
            let body = body_mut(&mut self.blocks);
            match with_buckets(Insert { body, table: &self.table, at, has_room }) {
                Ok(copies) => {
                    self.inserted_items += u64::from(copies < table::MAX_COPIES);
                    return Ok(copies == 0);
                }
                Err(full) => self.make_room(full)?,
            }
        }
    }

    /// Makes room for a key for which there is none.
    fn make_room(&mut self, _: Full) -> Result<(), Error> {
        if !self.grows || self.params.remainder_bits() == 0 {
            return Err(self.full());
        }
        Error::check_limit("filter bytes", self.max_bytes, self.num_bytes().saturating_mul(2))?;
        *self = self.doubled()?;
        Ok(())
    }

    fn full(&self) -> Error {
        Error::Full {
            expected_items: self.params.expected_items(),
            inserted_items: self.inserted_items,
        }
    }

    /// Stores a key if it is surely absent; `true` if it did.
    ///
    /// See [what the copies mean](CompactFilter#what-the-copies-mean) for what is lost where keys
    /// are removed.
    ///
    /// # Errors
    ///
    /// [`Error::Full`], changing nothing.
    #[inline]
    pub fn insert_absent<K: Key + ?Sized>(&mut self, key: &K) -> Result<bool, Error> {
        self.insert_absent_digest(self.digest_function.digest(key))
    }

    /// Like [`CompactFilter::insert_absent`], for a key that is already a digest.
    ///
    /// # Errors
    ///
    /// Same as [`CompactFilter::insert_absent`].
    pub fn insert_absent_digest(&mut self, digest: Digest) -> Result<bool, Error> {
        Ok(!self.contains_digest(digest) && self.insert_digest(digest)?)
    }

    /// Removes a copy of a key; `true` if it did. `false`, changing nothing, if the key is surely
    /// absent, or stays because there are 15 copies: then [`CompactFilter::contains`] still finds
    /// it.
    ///
    /// `true` for a key that was never inserted, or was removed more often than inserted, means
    /// damage: see [what the copies mean](CompactFilter#what-the-copies-mean).
    #[inline]
    #[must_use = "`false` says that the key was absent or stays, and nothing was removed"]
    pub fn remove<K: Key + ?Sized>(&mut self, key: &K) -> bool {
        self.remove_digest(self.digest_function.digest(key))
    }

    /// Like [`CompactFilter::remove`], for a key that is already a digest.
    #[must_use = "`false` says that the key was absent or stays, and nothing was removed"]
    pub fn remove_digest(&mut self, digest: Digest) -> bool {
        self.remove_fingerprint(self.table.fingerprint(digest))
    }

    fn remove_fingerprint(&mut self, at: Fingerprint) -> bool {
        let copies =
            with_buckets(Remove { body: body_mut(&mut self.blocks), table: &self.table, at });
        let removed = is_removable(copies);
        self.inserted_items = self.inserted_items.saturating_sub(u64::from(removed));
        removed
    }

    /// Whether the key may be present: `false` is certain, `true` is wrong with the filter's
    /// false-positive probability.
    #[inline]
    pub fn contains<K: Key + ?Sized>(&self, key: &K) -> bool {
        self.contains_digest(self.digest_function.digest(key))
    }

    /// Like [`CompactFilter::contains`], for a key that is already a digest.
    #[inline]
    pub fn contains_digest(&self, digest: Digest) -> bool {
        let at = self.table.fingerprint(digest);
        with_buckets(Contains { body: self.body(), table: &self.table, at })
    }

    /// The copies of the key's fingerprint: never fewer than the key has, as long as only keys are
    /// removed that were inserted, and up to 15, which means "this many or more".
    #[inline]
    pub fn count<K: Key + ?Sized>(&self, key: &K) -> u32 {
        self.count_digest(self.digest_function.digest(key))
    }

    /// Like [`CompactFilter::count`], for a key that is already a digest.
    pub fn count_digest(&self, digest: Digest) -> u32 {
        let at = self.table.fingerprint(digest);
        with_buckets(Count { body: self.body(), table: &self.table, at })
    }

    /// Forgets every key, and what was stuck.
    pub fn clear(&mut self) {
        body_mut(&mut self.blocks).fill(0);
        self.inserted_items = 0;
    }

    /// A copy of the filter.
    ///
    /// # Errors
    ///
    /// [`Error::OutOfMemory`].
    pub fn try_clone(&self) -> Result<Self, Error> {
        Ok(Self { blocks: OwnedBlocks::copy_of(self.blocks.as_ref())?, ..*self })
    }

    /// Whether it doubles itself when it is full.
    pub const fn grows(&self) -> bool {
        self.grows
    }

    /// From now on the filter doubles itself when it is full, or does not.
    pub fn set_grows(&mut self, grows: bool) {
        self.grows = grows;
    }

    /// Sets the limit beyond which it does not grow, in bytes.
    pub fn set_max_bytes(&mut self, max_bytes: u64) {
        self.max_bytes = max_bytes;
    }

    /// Adds the copies of another filter: this one is then, bit for bit, the filter into which the
    /// keys of both were inserted. What both hold is stored twice. Takes the memory of a copy of
    /// this filter for as long as it runs.
    ///
    /// # Errors
    ///
    /// [`Error::Incompatible`] if the filters differ in size or digest; [`Error::Full`];
    /// [`Error::OutOfMemory`]. They change nothing.
    ///
    /// # Examples
    ///
    /// ```
    /// use mayhap::CompactFilter;
    ///
    /// let builder = CompactFilter::builder().expected_items(100).target_fpp(1e-4);
    /// let (mut ours, mut theirs) = (builder.clone().build()?, builder.build()?);
    /// ours.insert_batch(&["a", "b"])?;
    /// theirs.insert_batch(&["b", "c"])?;
    /// ours.union_with(&theirs)?;
    /// assert_eq!(["a", "b", "c"].map(|key| ours.count(key)), [1, 2, 1]);
    /// # Ok::<(), mayhap::Error>(())
    /// ```
    pub fn union_with(&mut self, other: &Self) -> Result<(), Error> {
        self.check_compatible(other)?;
        let before = self.try_clone()?;
        let result = self.insert_all_of(other);
        if result.is_err() {
            *self = before;
        }
        result
    }

    fn insert_all_of(&mut self, other: &Self) -> Result<(), Error> {
        self.insert_numbers_of(other, 0)
    }

    /// Inserts the numbers of the fingerprints of another filter, each with `first` added.
    fn insert_numbers_of(&mut self, other: &Self, first: u64) -> Result<(), Error> {
        let mut result = Ok(());
        other.for_each_copy(|number| {
            if result.is_ok() {
                result = self.insert_fingerprint(self.table.of_number(first + number)).map(|_| ());
            }
        });
        result
    }

    /// Checks that `other` has buckets of the same number and shape, and the same digest function.
    ///
    /// # Errors
    ///
    /// [`Error::Incompatible`] with the first parameter that differs.
    pub fn check_compatible(&self, other: &Self) -> Result<(), Error> {
        let (ours, theirs) = (&self.params, &other.params);
        let numbers = [
            ("num_fronts", ours.num_fronts(), theirs.num_fronts()),
            ("runs", ours.runs().into(), theirs.runs().into()),
            ("remainder_bits", ours.remainder_bits().into(), theirs.remainder_bits().into()),
            ("expected_items", ours.expected_items(), theirs.expected_items()),
        ];
        for (parameter, left, right) in numbers {
            if left != right {
                return Err(Error::Incompatible { parameter, left, right });
            }
        }
        super::check_same_digest(&self.digest_function, &other.digest_function)
    }

    /// A filter with room for twice as many keys and the same copies, without their keys: each
    /// front bucket becomes two, by a bit of the remainder. The fingerprints are the same, so the
    /// rate with twice the keys is twice as high, unless [`CompactBuilder::doublings`]
    /// reserved the bit.
    ///
    /// # Errors
    ///
    /// [`Error::OutOfRange`] if the remainders have no bits left; [`Error::OutOfMemory`].
    ///
    /// # Examples
    ///
    /// ```
    /// use mayhap::CompactFilter;
    ///
    /// let builder = CompactFilter::builder().expected_items(1_000).target_fpp(0.01).doublings(1);
    /// let mut small = builder.build()?;
    /// small.insert_batch(&(0..1_000u64).collect::<Vec<_>>())?;
    /// let mut large = small.doubled()?;
    /// large.insert_batch(&(1_000..2_000u64).collect::<Vec<_>>())?;
    /// assert!((0..2_000u64).all(|key| large.contains(&key)) && large.estimated_fpp() <= 0.01);
    /// # Ok::<(), mayhap::Error>(())
    /// ```
    pub fn doubled(&self) -> Result<Self, Error> {
        let params = &self.params;
        let Some(bits) = params.remainder_bits().checked_sub(1) else {
            let parameter = "remainder_bits";
            return Err(Error::OutOfRange { parameter, min: 1, max: 56, found: 0 });
        };
        let items = params.expected_items().saturating_mul(2);
        let (fronts, runs, fpp) = (params.num_fronts() * 2, params.runs(), params.target_fpp());
        let doubled = CompactParams::new(fronts, runs, bits, items, fpp)?;
        let mut larger = Self::empty(doubled, self.digest_function)?;
        larger.insert_all_of(self)?;
        (larger.grows, larger.max_bytes) = (self.grows, self.max_bytes);
        Ok(larger)
    }

    fn body(&self) -> &[u64] {
        block::words(self.blocks.as_ref())
    }
}

fn body_mut(blocks: &mut OwnedBlocks) -> &mut [u64] {
    block::words_mut(blocks.as_mut())
}

/// Whether one of this number of copies is removed.
const fn is_removable(copies: u32) -> bool {
    copies > 0 && copies < table::MAX_COPIES
}

/// A call with one fingerprint, compiled for the CPU.
macro_rules! one {
    ($name:ident, $body:ty, $output:ty, $method:ident) => {
        struct $name<'a> {
            body: $body,
            table: &'a Table,
            at: Fingerprint,
        }

        impl BucketTask for $name<'_> {
            type Output = $output;

            #[inline(always)]
            fn run<K: BucketKernel>(self) -> $output {
                self.table.$method::<K>(self.body, self.at)
            }
        }
    };
}
one!(Contains, &'a [u64], bool, contains);
one!(Count, &'a [u64], u32, count);
one!(Remove, &'a mut [u64], u32, remove);

/// An insertion, compiled for the CPU.
struct Insert<'a> {
    body: &'a mut [u64],
    table: &'a Table,
    at: Fingerprint,
    has_room: bool,
}

impl BucketTask for Insert<'_> {
    type Output = Result<u32, Full>;

    #[inline(always)]
    fn run<K: BucketKernel>(self) -> Result<u32, Full> {
        self.table.insert::<K>(self.body, self.at, self.has_room)
    }
}
