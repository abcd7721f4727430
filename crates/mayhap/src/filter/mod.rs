//! The filters. One generic [`Filter`] over layout and storage; the public names are its aliases.
//!
//! `insert.rs` and `contains.rs` are the owned and borrowed forms, `concurrent.rs` the shared ones,
//! `stats.rs` and `estimate.rs` the statistics of a filter, `builder.rs` and `preset.rs` how one is
//! built, `any.rs` the layout as a run-time value, `budget.rs` a limit on the memory of several.
//!
//! Each other kind is a file or folder of its own: `clearing.rs`, `counting/`, `fuse/`, `matrix/`,
//! `once.rs`, `scalable/` and `window/`; `segment/` is a part of a plain filter.

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

mod any;
mod budget;
mod builder;
mod clearing;
mod concurrent;
mod contains;
mod counting;
mod estimate;
mod fuse;
mod insert;
mod matrix;
mod once;
mod preset;
mod scalable;
mod segment;
mod stats;
#[cfg(test)]
mod tests;
mod window;

pub use any::AnyFilter;
pub use budget::{Budget, Charge};
pub use builder::{Build, Builder};
pub use clearing::ClearingFilter;
pub use counting::{CounterBits, CountingBloomFilter, CountingBuilder};
pub use estimate::{Estimate, Health};
pub use fuse::{BinaryFuse, FuseParams};
pub use matrix::{BloomMatrix, MatrixBuilder, Sets};
pub use once::OnceFilter;
pub use preset::Preset;
pub use scalable::{ConcurrentScalableBloomFilter, ScalableBloomFilter};
pub use segment::{Segment, SegmentFields, Segments};
pub use window::{Age, ClockJumps, Window, WindowBloomFilter, WindowBuilder};

use crate::bits::{Block, OwnedBlocks, SharedBlocks, Storage};
use crate::layout::{Blocked, LayoutKind, Standard};
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
    /// Whether that count was derived from the bits since, so that it is no more precise than they
    /// are; or is out of date, as in a filter that was shared.
    is_settled: bool,
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
        if params.layout() != L::LAYOUT {
            let (left, right) = (L::LAYOUT.id().into(), params.layout().id().into());
            return Err(Error::Incompatible { parameter: "layout", left, right });
        }
        let (expected, found) = (params.num_blocks(), blocks.num_blocks() as u64);
        if expected != found {
            let (expected, found) = (expected * 64, found * 64);
            return Err(Error::WrongLength { field: "body", expected, found });
        }
        let used_bits = params.num_bits() % Block::BITS;
        if used_bits != 0 {
            let last = blocks.block(blocks.num_blocks() - 1);
            let past_end = (used_bits..512)
                .filter(|&bit| last.0[(bit / 64) as usize] >> (bit % 64) & 1 == 1)
                .count() as u64;
            if past_end != 0 {
                return Err(Error::BadField { field: "bits past num_bits", found: past_end });
            }
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
