//! The filters. One generic [`Filter`] over layout and storage; the public names are its aliases.
//!
//! Here are the type and its statistics, with `estimate.rs`; `owned.rs` queries and fills filters
//! of one thread, `concurrent.rs` shared ones. `builder.rs` and `preset.rs` build a filter,
//! `any.rs` is the layout as a run-time value, `native.rs` the native form of both, `budget.rs` a
//! limit on the memory of several, `piece.rs` a piece of the bits as bytes.
//!
//! Each other kind is a file or folder of its own: `clearing.rs`, `compact/`, `counting/`,
//! `fuse/`, `matrix/`, `once.rs`, `ribbon/`, `scalable/` and `window/`; `segment/` is a part of a
//! plain filter.

/// The setters for the digest function, the same in every builder.
macro_rules! digest_setters {
    () => {
        /// How keys become digests; `xxh3` with seed 0 by default.
        pub fn digest_function(mut self, digest_function: DigestFunction) -> Self {
            self.digest_function = digest_function;
            self
        }

        /// `xxh3` with this seed.
        pub fn seed(self, seed: u64) -> Self {
            self.digest_function(DigestFunction::xxh3(seed))
        }
    };
}

/// The setters of a builder's optional numbers, and of the limit that every builder has.
macro_rules! setters {
    ($($(#[$doc:meta])* $field:ident: $type:ty,)*) => {
        $(
            $(#[$doc])*
            pub fn $field(mut self, $field: $type) -> Self {
                self.$field = Some($field);
                self
            }
        )*

        /// Rejects a filter that would take more, before any memory is allocated; one that grows,
        /// whenever it does. No limit by default.
        pub fn max_bytes(mut self, max_bytes: u64) -> Self {
            self.max_bytes = max_bytes;
            self
        }
    };
}

mod any;
mod budget;
mod builder;
mod clearing;
mod compact;
mod concurrent;
mod counting;
mod estimate;
mod fuse;
mod matrix;
mod native;
mod once;
mod owned;
mod piece;
mod preset;
mod ribbon;
mod scalable;
mod segment;
#[cfg(test)]
mod tests;
mod window;

pub use any::AnyFilter;
pub use budget::{Budget, Charge};
pub use builder::{Build, Builder};
pub use clearing::ClearingFilter;
#[cfg(any(feature = "std", loom, shuttle))]
pub use compact::ConcurrentCompactFilter;
pub use compact::{CompactBuilder, CompactFilter};
pub use counting::{CounterBits, CountingBloomFilter, CountingBuilder};
pub use estimate::{Estimate, Health};
pub use fuse::{BinaryFuse, FuseParams};
pub use matrix::{BloomMatrix, MatrixBuilder, Sets};
pub use once::OnceFilter;
pub use piece::Gain;
pub use preset::Preset;
pub use ribbon::{RibbonFilter, RibbonParams, Scratch, SortedDigests};
pub use scalable::{ConcurrentScalableBloomFilter, ScalableBloomFilter};
pub use segment::{Segment, SegmentFields, Segments};
pub use window::{Age, ClockJumps, Window, WindowBloomFilter, WindowBuilder};

use crate::bits::{Block, OwnedBlocks, SharedBlocks, Storage};
use crate::layout::{Blocked, LayoutKind, Standard};
use crate::sizing::limits;
use crate::{Bitmap, Digest, DigestFunction, Error, FilterParams, InstructionSet, Key};

/// The classic Bloom filter: the fewest bits, up to k cache lines per query.
///
/// Memory: m/8 bytes, 9.59 bits per key at 1 %. An insertion touches k cache lines, a query for an
/// absent key 2 on average. One thread writes or many read; for many writers see
/// [`ConcurrentBloomFilter`].
///
/// # Examples
///
/// ```
/// let mut filter = mayhap::BloomFilter::builder().expected_items(1000).target_fpp(1e-6).build()?;
/// assert!(filter.insert(&42u64));
/// assert!(filter.contains(&42u64) && !filter.contains(&43u64));
/// # Ok::<(), mayhap::Error>(())
/// ```
pub type BloomFilter = Filter<Standard, OwnedBlocks>;

/// The fast Bloom filter: all bits of a key in one cache line.
///
/// Memory: m/8 bytes, 10.10 bits per key at 1 %, 15.72 at 0.1 %. Every call touches one cache line.
/// One thread writes or many read; for many writers see [`ConcurrentBlockedBloomFilter`].
///
/// # Examples
///
/// ```
/// use mayhap::BlockedBloomFilter;
/// let mut filter = BlockedBloomFilter::builder().expected_items(1000).target_fpp(0.001).build()?;
/// let new = filter.insert_batch(&["a", "b", "a"]);
/// assert_eq!(new.iter().collect::<Vec<_>>(), [true, true, false]);
/// assert_eq!(filter.contains_batch(&["b", "c"]).iter().collect::<Vec<_>>(), [true, false]);
/// # Ok::<(), mayhap::Error>(())
/// ```
pub type BlockedBloomFilter = Filter<Blocked, OwnedBlocks>;

/// [`BloomFilter`] with lock-free `insert(&self)`.
pub type ConcurrentBloomFilter = Filter<Standard, SharedBlocks>;

/// [`BlockedBloomFilter`] with lock-free `insert(&self)`.
///
/// # Examples
///
/// ```
/// use mayhap::ConcurrentBlockedBloomFilter;
/// let filter = ConcurrentBlockedBloomFilter::builder()
///     .expected_items(1000)
///     .target_fpp(1e-4)
///     .build()?;
/// std::thread::scope(|scope| {
///     for half in [0..500u64, 500..1000] {
///         let filter = &filter;
///         scope.spawn(move || half.for_each(|i| { filter.insert(&i); }));
///     }
/// });
/// assert!((0..1000u64).all(|i| filter.contains(&i)));
/// # Ok::<(), mayhap::Error>(())
/// ```
pub type ConcurrentBlockedBloomFilter = Filter<Blocked, SharedBlocks>;

/// A Bloom filter of layout `L` whose bits are in `S`: see its aliases [`BloomFilter`],
/// [`BlockedBloomFilter`], [`ConcurrentBloomFilter`] and [`ConcurrentBlockedBloomFilter`].
///
/// `S` is [`OwnedBlocks`], [`SharedBlocks`], or anything that is `AsRef<[Block]>`, such as
/// `&[Block]` or a mapped file: those can be queried, and inserted into if also `AsMut<[Block]>`.
#[derive(Debug)]
pub struct Filter<L, S = OwnedBlocks> {
    layout: L,
    blocks: S,
    params: FilterParams,
    digest_function: DigestFunction,
    /// Insertions that were new; not maintained while the filter is shared.
    inserted_items: u64,
    /// Whether that count was since derived from the bits, so that it is no more precise than they
    /// are, or is out of date, as in a filter that was shared.
    is_settled: bool,
}

impl<L, S> Filter<L, S>
where
    Self: Build,
{
    /// Returns a builder for a filter of this type.
    pub fn builder() -> Builder<Self> {
        Builder::new()
    }
}

impl<L: LayoutKind, S: Storage> Filter<L, S> {
    /// Assembles a filter from its parts, as read from a file.
    ///
    /// `inserted_items` is the initial count; 0 if unknown.
    ///
    /// # Errors
    ///
    /// [`Error::Incompatible`] if the layout differs; [`Error::WrongLength`] unless there are
    /// exactly `params.num_blocks()` blocks; [`Error::BadField`] if a bit past `num_bits` is set.
    pub fn from_parts(
        params: FilterParams,
        digest_function: DigestFunction,
        blocks: S,
        inserted_items: u64,
    ) -> Result<Self, Error> {
        params.check_layout(L::LAYOUT)?;
        Error::check_length("body", params.num_bytes(), blocks.num_blocks() as u64 * 64)?;
        let used_bits = params.num_bits() % Block::BITS;
        if used_bits != 0 {
            let last = blocks.block(blocks.num_blocks() - 1);
            let past_end = (used_bits..512)
                .filter(|&bit| last.0[(bit / 64) as usize] >> (bit % 64) & 1 == 1)
                .count() as u64;
            Error::check_field(past_end == 0, "bits past num_bits", past_end)?;
        }
        let (layout, is_settled) = (L::new(&params), false);
        Ok(Self { layout, blocks, params, digest_function, inserted_items, is_settled })
    }

    /// The parameters of the filter: layout, m, k, and the n and p it was sized for.
    pub const fn params(&self) -> &FilterParams {
        &self.params
    }

    /// How keys become digests.
    pub const fn digest_function(&self) -> &DigestFunction {
        &self.digest_function
    }

    /// The instruction set whose hot loops this filter runs: `avx512`, `avx2`, `neon` or `scalar`.
    ///
    /// This is the one for batched queries; insertions may use another.
    ///
    /// # Examples
    ///
    /// ```
    /// let builder = mayhap::BlockedBloomFilter::builder();
    /// let filter = builder.expected_items(100).target_fpp(0.01).build()?;
    /// assert_eq!(Some(filter.kernel_name()), mayhap::kernel_names().next());
    /// # Ok::<(), mayhap::Error>(())
    /// ```
    pub fn kernel_name(&self) -> &'static str {
        self.layout.kernel_name()
    }

    pub(crate) fn limit_kernel(&mut self, most: InstructionSet) {
        self.layout.limit_kernel(&self.params, most);
    }

    /// The bits.
    pub const fn storage(&self) -> &S {
        &self.blocks
    }

    /// The digest of a key, for querying several filters with the same digest function at the cost
    /// of one hash.
    #[inline]
    pub fn digest<K: Key + ?Sized>(&self, key: &K) -> Digest {
        self.digest_function.digest(key)
    }

    /// What a piece of bits would add: see [`crate::AnyFilter::gain_of`].
    pub(super) fn gain_of(&self, offset: u64, bytes: &[u8]) -> Result<Gain, Error> {
        let at = piece::place_of(&self.params, offset, bytes)?;
        Ok(piece::gain_of(&self.blocks, at, bytes))
    }

    /// Checks that `other` has the same layout, m, k, digest function, and seed or key.
    ///
    /// # Errors
    ///
    /// [`Error::Incompatible`] with the first parameter that differs.
    pub fn check_compatible<T: Storage>(&self, other: &Filter<L, T>) -> Result<(), Error> {
        self.params.check_same_shape(&other.params)?;
        check_same_digest(&self.digest_function, &other.digest_function)
    }
}

fn check_same_digest(left: &DigestFunction, right: &DigestFunction) -> Result<(), Error> {
    Error::check_equal([
        ("digest function", u64::from(left.id()), u64::from(right.id())),
        ("digest seed or key", left.parameter(), right.parameter()),
    ])
}

/// Keys that are digested together, on the stack, before the filter is queried.
const DIGESTS_AT_ONCE: usize = 512;

/// Digests `keys` in chunks and calls `answer` with each chunk's digests and its words of `out`.
#[inline(always)]
fn for_each_digest_chunk<K: Key>(
    function: &DigestFunction,
    keys: &[K],
    out: &mut Bitmap,
    mut answer: impl FnMut(&[Digest], &mut [u64]),
) {
    let words = out.reset(keys.len()).chunks_mut(DIGESTS_AT_ONCE / 64);
    let mut digests = [Digest::default(); DIGESTS_AT_ONCE];
    for (keys, words) in keys.chunks(DIGESTS_AT_ONCE).zip(words) {
        let digests = &mut digests[..keys.len()];
        function.digest_batch(keys, digests);
        answer(digests, words);
    }
}

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
    fn inserted_by_bits(&self) -> u64 {
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
    /// assert!(filter.estimated_fpp() > 0.999); // overfilled, and reported so
    /// # Ok::<(), mayhap::Error>(())
    /// ```
    pub fn estimated_fpp(&self) -> f64 {
        limits::with_collisions_of(self.fpp_of_bits(), || self.estimated_items().rounded())
    }

    /// [`Filter::estimated_fpp`] without digest collisions: the rate of the bits alone. Reads every
    /// block.
    ///
    /// # Examples
    ///
    /// ```
    /// let mut filter: mayhap::BloomFilter =
    ///     mayhap::BloomFilter::builder().expected_items(10).target_fpp(1e-17).build()?;
    /// filter.insert("a");
    /// assert!(0.0 < filter.fpp_of_bits() && filter.fpp_of_bits() < filter.estimated_fpp());
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
