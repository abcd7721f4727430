//! A filter whose layout is known only at run time: from a file, or from a command line.

use super::{Build, Builder, Estimate, Filter, Gain, Health};
use crate::bits::{Bitmap, Block, OwnedBlocks, SharedBlocks, Storage, StorageMut};
use crate::layout::{Blocked, Blocked64, Blocked128, Standard};
use crate::{Digest, DigestFunction, Error, FilterParams, InstructionSet, Key, Layout};

/// A [`crate::BloomFilter`], a [`crate::BlockedBloomFilter`], or the plain form of a
/// [`crate::CountingBloomFilter`].
///
/// Each call matches once on the layout of the inner filter; in batches the cost is negligible.
#[derive(Debug)]
#[non_exhaustive]
pub enum AnyFilter<S = OwnedBlocks> {
    /// Layout `standard`.
    Standard(Filter<Standard, S>),
    /// Layout `blocked`.
    Blocked(Filter<Blocked, S>),
    /// Layout `blocked128`.
    Blocked128(Filter<Blocked128, S>),
    /// Layout `blocked64`.
    Blocked64(Filter<Blocked64, S>),
}

macro_rules! with_filter {
    ($any:expr, $filter:ident => $call:expr) => {
        match $any {
            AnyFilter::Standard($filter) => $call,
            AnyFilter::Blocked($filter) => $call,
            AnyFilter::Blocked128($filter) => $call,
            AnyFilter::Blocked64($filter) => $call,
        }
    };
}

impl AnyFilter {
    /// Returns a builder for a filter.
    pub fn builder() -> Builder<Self> {
        <Self as Build>::builder()
    }

    /// The same filter for many threads, without copying its bits.
    ///
    /// # Examples
    ///
    /// ```
    /// use mayhap::AnyFilter;
    /// let seen = AnyFilter::builder().expected_items(100).target_fpp(0.01).build()?;
    /// let seen = seen.into_concurrent();
    /// let digest = seen.digest_function().digest("key");
    /// assert!(seen.insert_digest(digest) && !seen.insert_digest(digest));
    /// assert!(seen.snapshot()?.contains("key"));
    /// # Ok::<(), mayhap::Error>(())
    /// ```
    pub fn into_concurrent(self) -> AnyFilter<SharedBlocks> {
        match self {
            Self::Standard(filter) => AnyFilter::Standard(filter.into_concurrent()),
            Self::Blocked(filter) => AnyFilter::Blocked(filter.into_concurrent()),
            Self::Blocked128(filter) => AnyFilter::Blocked128(filter.into_concurrent()),
            Self::Blocked64(filter) => AnyFilter::Blocked64(filter.into_concurrent()),
        }
    }
}

impl<S: Storage> AnyFilter<S> {
    /// Same as [`crate::Filter::params`].
    pub const fn params(&self) -> &FilterParams {
        with_filter!(self, filter => filter.params())
    }

    /// Same as [`crate::Filter::digest_function`].
    pub const fn digest_function(&self) -> &DigestFunction {
        with_filter!(self, filter => filter.digest_function())
    }

    /// Same as [`crate::Filter::count_ones`].
    pub fn count_ones(&self) -> u64 {
        with_filter!(self, filter => filter.count_ones())
    }

    /// What a piece of the bits of a filter like this one would add to it, if it were united with
    /// it ([`AnyFilter::union_bytes`]). Reads the blocks where the piece lies.
    ///
    /// # Errors
    ///
    /// Same as [`AnyFilter::union_bytes`].
    ///
    /// # Examples
    ///
    /// ```
    /// use mayhap::{AnyFilter, Gain};
    /// let filter = AnyFilter::builder().num_bytes(128).expected_items(10).build()?;
    /// let mut piece = [0; 64];
    /// piece[7] = 0b101;
    /// assert_eq!(filter.gain_of(64, &piece)?, Gain { ones: 0, lacking: 2 });
    /// # Ok::<(), mayhap::Error>(())
    /// ```
    pub fn gain_of(&self, offset: u64, bytes: &[u8]) -> Result<Gain, Error> {
        with_filter!(self, filter => filter.gain_of(offset, bytes))
    }

    /// Same as [`crate::Filter::fill_ratio`].
    pub fn fill_ratio(&self) -> f64 {
        with_filter!(self, filter => filter.fill_ratio())
    }

    /// Same as [`crate::Filter::estimated_fpp`].
    pub fn estimated_fpp(&self) -> f64 {
        with_filter!(self, filter => filter.estimated_fpp())
    }
}

impl AnyFilter<SharedBlocks> {
    /// Same as [`crate::Filter::contains_digest`].
    #[inline]
    pub fn contains_digest(&self, digest: Digest) -> bool {
        with_filter!(self, filter => filter.contains_digest(digest))
    }

    /// Same as [`crate::Filter::contains_digests_into`].
    pub fn contains_digests_into(&self, digests: &[Digest], found: &mut Bitmap) {
        with_filter!(self, filter => filter.contains_digests_into(digests, found));
    }

    /// Same as [`crate::Filter::insert_digest`], from any thread.
    #[inline]
    pub fn insert_digest(&self, digest: Digest) -> bool {
        with_filter!(self, filter => filter.insert_digest(digest))
    }

    /// Same as [`crate::Filter::insert_digests_into`], from any thread.
    pub fn insert_digests_into(&self, digests: &[Digest], new: &mut Bitmap) {
        with_filter!(self, filter => filter.insert_digests_into(digests, new));
    }

    /// Same as [`crate::Filter::union_with`], while both may be in use.
    ///
    /// # Errors
    ///
    /// [`Error::Incompatible`], changing nothing, if the filters differ in layout, m, k or digest.
    pub fn union_with(&self, other: &AnyFilter) -> Result<(), Error> {
        match (self, other) {
            (Self::Standard(ours), AnyFilter::Standard(theirs)) => ours.union_with(theirs),
            (Self::Blocked(ours), AnyFilter::Blocked(theirs)) => ours.union_with(theirs),
            (Self::Blocked128(ours), AnyFilter::Blocked128(theirs)) => ours.union_with(theirs),
            (Self::Blocked64(ours), AnyFilter::Blocked64(theirs)) => ours.union_with(theirs),
            _ => self.params().check_same_shape(other.params()),
        }
    }

    /// [`AnyFilter::union_bytes`] of a filter for one thread, while it may be in use.
    ///
    /// # Errors
    ///
    /// Same as there; nothing is changed then.
    ///
    /// # Examples
    ///
    /// ```
    /// use mayhap::AnyFilter;
    /// let new = || AnyFilter::builder().num_bytes(128).expected_items(10).build();
    /// let (filter, mut other) = (new()?.into_concurrent(), new()?);
    /// other.insert("key");
    /// for (at, block) in other.blocks().iter().enumerate() {
    ///     let bytes: Vec<u8> = block.0.iter().flat_map(|lane| lane.to_le_bytes()).collect();
    ///     filter.union_bytes(64 * at as u64, &bytes)?;
    /// }
    /// assert!(filter.contains_digest(other.digest_function().digest("key")));
    /// # Ok::<(), mayhap::Error>(())
    /// ```
    pub fn union_bytes(&self, offset: u64, bytes: &[u8]) -> Result<u64, Error> {
        with_filter!(self, filter => filter.union_bytes(offset, bytes))
    }

    /// A copy of the current bits while other threads continue: it holds at least every key whose
    /// insertion happened before the call.
    ///
    /// # Errors
    ///
    /// [`Error::OutOfMemory`].
    pub fn snapshot(&self) -> Result<AnyFilter, Error> {
        Ok(match self {
            Self::Standard(filter) => AnyFilter::Standard(filter.snapshot()?),
            Self::Blocked(filter) => AnyFilter::Blocked(filter.snapshot()?),
            Self::Blocked128(filter) => AnyFilter::Blocked128(filter.snapshot()?),
            Self::Blocked64(filter) => AnyFilter::Blocked64(filter.snapshot()?),
        })
    }
}

impl<S: AsRef<[Block]>> AnyFilter<S> {
    /// Same as [`crate::Filter::from_parts`], with the layout that `params` names.
    ///
    /// # Errors
    ///
    /// Same as [`crate::Filter::from_parts`].
    pub fn from_parts(
        params: FilterParams,
        digest_function: DigestFunction,
        blocks: S,
        inserted_items: u64,
    ) -> Result<Self, Error> {
        macro_rules! from_parts {
            () => {
                Filter::from_parts(params, digest_function, blocks, inserted_items)?
            };
        }
        Ok(match params.layout() {
            Layout::Standard => Self::Standard(from_parts!()),
            Layout::Blocked => Self::Blocked(from_parts!()),
            Layout::Blocked128 => Self::Blocked128(from_parts!()),
            Layout::Blocked64 => Self::Blocked64(from_parts!()),
        })
    }

    pub(super) fn limit_kernel(&mut self, most: InstructionSet) {
        with_filter!(self, filter => filter.limit_kernel(most));
    }

    /// Same as [`crate::Filter::kernel_name`].
    pub fn kernel_name(&self) -> &'static str {
        with_filter!(self, filter => filter.kernel_name())
    }

    /// The bits.
    pub fn blocks(&self) -> &[Block] {
        self.storage().as_ref()
    }

    /// Same as [`crate::Filter::storage`].
    pub const fn storage(&self) -> &S {
        with_filter!(self, filter => filter.storage())
    }

    /// Same as [`crate::Filter::contains`].
    #[inline]
    pub fn contains<K: Key + ?Sized>(&self, key: &K) -> bool {
        with_filter!(self, filter => filter.contains(key))
    }

    /// Same as [`crate::Filter::contains_digest`].
    #[inline]
    pub fn contains_digest(&self, digest: Digest) -> bool {
        with_filter!(self, filter => filter.contains_digest(digest))
    }

    /// Same as [`crate::Filter::contains_batch`].
    pub fn contains_batch<K: Key>(&self, keys: &[K]) -> Bitmap {
        with_filter!(self, filter => filter.contains_batch(keys))
    }

    /// Same as [`crate::Filter::contains_digests_into`].
    pub fn contains_digests_into(&self, digests: &[Digest], found: &mut Bitmap) {
        with_filter!(self, filter => filter.contains_digests_into(digests, found));
    }

    /// Same as [`crate::Filter::inserted_items`].
    pub const fn inserted_items(&self) -> u64 {
        with_filter!(self, filter => filter.inserted_items())
    }

    /// Same as [`crate::Filter::estimated_items`].
    pub fn estimated_items(&self) -> Estimate {
        with_filter!(self, filter => filter.estimated_items())
    }

    /// Same as [`crate::Filter::distinct_items`].
    pub fn distinct_items(&self) -> Estimate {
        with_filter!(self, filter => filter.distinct_items())
    }

    /// Same as [`crate::Filter::expected_fpp`].
    pub fn expected_fpp(&self, items: u64) -> f64 {
        self.params().expected_fpp(items)
    }

    /// Same as [`crate::Filter::fpp_of_bits`].
    pub fn fpp_of_bits(&self) -> f64 {
        with_filter!(self, filter => filter.fpp_of_bits())
    }

    /// Same as [`crate::Filter::health`].
    pub fn health(&self) -> Health {
        with_filter!(self, filter => filter.health())
    }
}

impl<S: StorageMut> AnyFilter<S> {
    /// Same as [`crate::Filter::insert`].
    #[inline]
    pub fn insert<K: Key + ?Sized>(&mut self, key: &K) -> bool {
        with_filter!(self, filter => filter.insert(key))
    }

    /// Same as [`crate::Filter::insert_digest`].
    #[inline]
    pub fn insert_digest(&mut self, digest: Digest) -> bool {
        with_filter!(self, filter => filter.insert_digest(digest))
    }

    /// Same as [`crate::Filter::insert_batch`].
    pub fn insert_batch<K: Key>(&mut self, keys: &[K]) -> Bitmap {
        with_filter!(self, filter => filter.insert_batch(keys))
    }

    /// Same as [`crate::Filter::insert_digests_into`].
    pub fn insert_digests_into(&mut self, digests: &[Digest], new: &mut Bitmap) {
        with_filter!(self, filter => filter.insert_digests_into(digests, new));
    }

    /// Same as [`crate::Filter::union_with`].
    ///
    /// # Errors
    ///
    /// [`Error::Incompatible`], changing nothing, if the filters differ in layout, m, k or digest.
    pub fn union_with<T: AsRef<[Block]>>(&mut self, other: &AnyFilter<T>) -> Result<(), Error> {
        match (&mut *self, other) {
            (Self::Standard(ours), AnyFilter::Standard(theirs)) => ours.union_with(theirs),
            (Self::Blocked(ours), AnyFilter::Blocked(theirs)) => ours.union_with(theirs),
            (Self::Blocked128(ours), AnyFilter::Blocked128(theirs)) => ours.union_with(theirs),
            (Self::Blocked64(ours), AnyFilter::Blocked64(theirs)) => ours.union_with(theirs),
            _ => self.params().check_same_shape(other.params()),
        }
    }

    /// Ors a piece of the bits of a filter like this one into it: `bytes` of its body in the native
    /// format, from byte `offset` on. Returns the number of bits that it lacked. The pieces of a
    /// filter may come in any order and more than once. [`AnyFilter::inserted_items`] stays as it
    /// is.
    ///
    /// # Errors
    ///
    /// [`Error::NoPiece`] unless the piece is one or more whole blocks of 64 bytes within the body;
    /// [`Error::BadField`] for a bit past `num_bits`. Nothing is changed then.
    ///
    /// # Examples
    ///
    /// ```
    /// use mayhap::{AnyFilter, Error};
    /// let mut filter = AnyFilter::builder().num_bytes(128).expected_items(10).build()?;
    /// assert_eq!(filter.union_bytes(64, &[0b11; 64])?, 128);
    /// assert_eq!((filter.union_bytes(64, &[0b110; 64])?, filter.count_ones()), (64, 192));
    /// assert!(matches!(filter.union_bytes(128, &[0; 64]), Err(Error::NoPiece { .. })));
    /// # Ok::<(), mayhap::Error>(())
    /// ```
    pub fn union_bytes(&mut self, offset: u64, bytes: &[u8]) -> Result<u64, Error> {
        with_filter!(self, filter => filter.union_bytes(offset, bytes))
    }

    /// Sets the number of insertions that were new, if it is known more exactly than from the bits.
    pub fn set_inserted_items(&mut self, inserted_items: u64) {
        with_filter!(self, filter => {
            (filter.inserted_items, filter.is_settled) = (inserted_items, false);
        });
    }

    /// Same as [`crate::Filter::settle_inserted_items`].
    pub fn settle_inserted_items(&mut self) {
        with_filter!(self, filter => filter.settle_inserted_items());
    }

    /// Same as [`crate::Filter::clear`].
    pub fn clear(&mut self) {
        with_filter!(self, filter => filter.clear());
    }
}

impl<S: AsRef<[Block]>> AnyFilter<S> {
    /// Same as [`crate::Filter::fold`].
    ///
    /// # Errors
    ///
    /// Same as [`crate::Filter::fold`].
    ///
    /// # Examples
    ///
    /// ```
    /// use mayhap::{AnyFilter, Layout};
    /// let builder = AnyFilter::builder().layout(Layout::Standard).num_bytes(1 << 16);
    /// let mut filter = builder.expected_items(100).build()?;
    /// filter.insert("key");
    /// let small = filter.fold(64, 0.01)?;
    /// assert_eq!(small.params().num_bytes(), 1 << 10);
    /// assert!(small.contains("key") && !small.contains("other"));
    /// assert_eq!(small.inserted_items(), 1);
    /// # Ok::<(), mayhap::Error>(())
    /// ```
    pub fn fold(&self, factor: u64, target_fpp: f64) -> Result<AnyFilter, Error> {
        Ok(match self {
            Self::Standard(filter) => AnyFilter::Standard(filter.fold(factor, target_fpp)?),
            Self::Blocked(filter) => AnyFilter::Blocked(filter.fold(factor, target_fpp)?),
            Self::Blocked128(filter) => AnyFilter::Blocked128(filter.fold(factor, target_fpp)?),
            Self::Blocked64(filter) => AnyFilter::Blocked64(filter.fold(factor, target_fpp)?),
        })
    }

    /// Same as [`crate::Filter::promising`].
    ///
    /// # Errors
    ///
    /// Same as [`crate::Filter::promising`].
    pub fn promising(self, expected_items: u64, target_fpp: f64) -> Result<Self, Error> {
        Ok(match self {
            Self::Standard(filter) => Self::Standard(filter.promising(expected_items, target_fpp)?),
            Self::Blocked(filter) => Self::Blocked(filter.promising(expected_items, target_fpp)?),
            Self::Blocked128(filter) => {
                Self::Blocked128(filter.promising(expected_items, target_fpp)?)
            }
            Self::Blocked64(filter) => {
                Self::Blocked64(filter.promising(expected_items, target_fpp)?)
            }
        })
    }
}
