//! A filter for a set that never changes, in hardly more bits than any filter needs.
//!
//! `layer.rs` computes the place and the equation of a digest, `build.rs` solves the equations that
//! `eliminate.rs` makes independent, `external.rs` says where they are meanwhile, `contains.rs`
//! queries, `params.rs` has the sizes of the parts, `native.rs` is the file.
//!
//! This is an implementation of our own because the crates with the construction (`ribbon`, `sux`)
//! have neither the bumping nor bodies that are mapped as they are.

mod build;
mod contains;
mod eliminate;
mod external;
mod layer;
mod native;
mod params;
#[cfg(test)]
mod tests;

pub use external::{Scratch, SortedDigests};
pub use params::RibbonParams;

use super::for_each_digest_chunk;
use super::fuse::collect;
use crate::bits::{Block, OwnedBlocks, block};
use crate::sizing::ribbon::{BUCKET_SEGMENTS, CODES_IN_WORD, check_target, code_words};
use crate::{Digest, DigestFunction, Error, FuseWidth, Key};
use external::{InMemory, Sorted};
use layer::Part;

/// A static filter in hardly more than the fewest bits possible: built once from all keys,
/// immutable from then on.
///
/// There is no `insert`: if the set changes, rebuild the filter. A key's fingerprint of w bits is
/// the exclusive or of some of 64 neighbouring slots, so the answer for an absent key is "maybe"
/// with p = 2^−w exactly, whatever the filter holds. Where a share of the keys has one bit more, p
/// is any rate from 1/16 down to 2^−32: see [`FuseWidth`]. Keys that do not fit are in a second
/// layer, a twentieth of the first in size, and so on (Dillinger, Hübschle-Schneider, Sanders &
/// Walzer 2022, *Fast Succinct Retrieval and Approximate Membership Using Ribbon*: bumped ribbon
/// retrieval).
///
/// Memory: 1.002 to 1.006 · w bits per key from a million keys on, for a mean of w bits, which is
/// log2(1/p) and up to 0.09 more; 1.01 to 1.04 · w at 10,000. That is 8.03 at 1/256 and 10.0 at
/// 0.1 %, where [`crate::BinaryFuse`] needs 9.0 and 11.1. A query reads two cache lines for the
/// first eight bits of the fingerprint, which is all that 255 of 256 absent keys need, and two for
/// each eight others; and three bits of a table of 1/80 bits per key. For one key in 20 it goes on
/// in the next layer. Building takes 20 bytes per key, or those of the filter and 0.4 per key where
/// digests and equations are in files ([`RibbonFilter::build_external`]). Keys that are given twice
/// are no harm. Any number of threads may query.
///
/// # Examples
///
/// ```
/// use mayhap::{DigestFunction, FuseWidth, RibbonFilter};
///
/// let weak = ["123456", "password", "qwerty", "123456"]; // a key twice is no harm
/// let width = FuseWidth::from_bits(20).unwrap();
/// let filter = RibbonFilter::from_keys(width, DigestFunction::default(), weak)?;
/// assert_eq!(filter.len(), 3);
/// assert!(filter.contains("qwerty") && !filter.contains("correct horse"));
/// # Ok::<(), mayhap::Error>(())
/// ```
#[derive(Debug)]
pub struct RibbonFilter<S = OwnedBlocks> {
    params: RibbonParams,
    /// The digests with one bit more, and the others.
    parts: [Part; 2],
    /// The first digest of the others.
    limit: u64,
    blocks: S,
    digest_function: DigestFunction,
}

impl RibbonFilter {
    /// Builds the filter of these digests, which must be computed by `digest_function`; duplicates
    /// count once, in any order.
    ///
    /// It never fails to be built, and the same set gives the same filter, bit for bit. Digests
    /// that are in order already take no time to sort. Digests chosen to be in one place take up to
    /// twice the memory, or 8 bytes each if they are chosen for each layer.
    ///
    /// # Errors
    ///
    /// [`Error::OutOfMemory`]; [`Error::TooLarge`] above [`crate::sizing::MAX_NUM_BITS`].
    ///
    /// # Examples
    ///
    /// ```
    /// use mayhap::{DigestFunction, FuseWidth, RibbonFilter};
    ///
    /// let function = DigestFunction::default();
    /// let digests = (0..1_000_000u64).map(|id| function.digest(&id));
    /// let width = FuseWidth::from_bits(8).unwrap();
    /// let filter = RibbonFilter::build(width, function, digests)?;
    /// assert!((0..1_000_000u64).all(|id| filter.contains(&id)));
    /// let maybe = (1_000_000..2_000_000u64).filter(|id| filter.contains(id)).count();
    /// assert!((3_700..4_110).contains(&maybe)); // 1 in 256
    /// assert!(filter.num_bytes() * 8 <= 8_040_000); // 8.04 bits per key
    /// # Ok::<(), mayhap::Error>(())
    /// ```
    pub fn build(
        width: FuseWidth,
        digest_function: DigestFunction,
        digests: impl IntoIterator<Item = Digest>,
    ) -> Result<Self, Error> {
        Self::build_with(|_| Ok(width), digest_function, digests)
    }

    /// Like [`RibbonFilter::build`], with the narrowest width that keeps `target_fpp` for the
    /// number of distinct digests ([`crate::sizing::ribbon::width_for`]).
    ///
    /// # Errors
    ///
    /// Same as [`RibbonFilter::build`]; [`Error::FppOutOfRange`], and [`Error::FppUnreachable`]
    /// below 2^−32 plus digest collisions.
    ///
    /// # Examples
    ///
    /// ```
    /// use mayhap::{DigestFunction, RibbonFilter};
    ///
    /// let function = DigestFunction::default();
    /// let digests = (0..1_000_000u64).map(|id| function.digest(&id));
    /// let filter = RibbonFilter::build_for_target(0.001, function, digests)?;
    /// assert!((0..1_000_000u64).all(|id| filter.contains(&id)));
    /// let maybe = (1_000_000..2_000_000u64).filter(|id| filter.contains(id)).count();
    /// assert!((905..1_095).contains(&maybe)); // 1 in 1000
    /// assert!(filter.num_bytes() * 8 <= 10_050_000); // 10.05 bits per key; 9.97 are the least
    /// # Ok::<(), mayhap::Error>(())
    /// ```
    pub fn build_for_target(
        target_fpp: f64,
        digest_function: DigestFunction,
        digests: impl IntoIterator<Item = Digest>,
    ) -> Result<Self, Error> {
        let width_for = |items| check_target(items, target_fpp);
        width_for(0)?;
        Self::build_with(width_for, digest_function, digests)
    }

    /// Like [`RibbonFilter::build_for_target`], for more digests than there is memory for: they are
    /// read in order, and equations of 12 bytes each wait in `scratch` to be solved.
    ///
    /// The same digests give the same filter, bit for bit. Memory: the filter, 0.4 bytes per key,
    /// and some 8 MiB.
    ///
    /// # Errors
    ///
    /// Those of [`RibbonFilter::build_for_target`]; [`Error::BadField`] and [`Error::OutOfRange`]
    /// for digests that are not in order or not as many as announced; the errors of `digests` and
    /// of `scratch`.
    ///
    /// # Examples
    ///
    /// Numbers that need no memory, and equations in it:
    ///
    /// ```
    /// use mayhap::{Digest, DigestFunction, Error, RibbonFilter, Scratch, SortedDigests};
    ///
    /// struct Every(u64); // multiple of 2^44; this many were read
    ///
    /// impl SortedDigests<Error> for Every {
    ///     fn count(&self) -> u64 {
    ///         1 << 20
    ///     }
    ///     fn count_below(&mut self, limit: u64) -> Result<u64, Error> {
    ///         Ok(limit.div_ceil(1 << 44))
    ///     }
    ///     fn read(&mut self, digests: &mut Vec<u64>, at_most: usize) -> Result<(), Error> {
    ///         let from = self.0;
    ///         self.0 += at_most as u64;
    ///         digests.extend((from..self.0).map(|number| number << 44));
    ///         Ok(())
    ///     }
    /// }
    ///
    /// struct Stack(Vec<u64>);
    ///
    /// impl Scratch<Error> for Stack {
    ///     fn put(&mut self, words: &[u64]) -> Result<(), Error> {
    ///         Ok(self.0.extend_from_slice(words))
    ///     }
    ///     fn take(&mut self, words: &mut [u64]) -> Result<(), Error> {
    ///         let rest = self.0.len() - words.len();
    ///         words.copy_from_slice(&self.0[rest..]);
    ///         Ok(self.0.truncate(rest))
    ///     }
    /// }
    ///
    /// let function = DigestFunction::default();
    /// let filter = RibbonFilter::build_external(0.01, function, Every(0), Stack(vec![]))?;
    /// assert_eq!(filter.len(), 1 << 20);
    /// assert!((0..1 << 20).all(|number| filter.contains_digest(Digest::new(number << 44))));
    /// assert!(!filter.contains_digest(Digest::new(1)));
    /// # Ok::<(), Error>(())
    /// ```
    pub fn build_external<E: From<Error>>(
        target_fpp: f64,
        digest_function: DigestFunction,
        digests: impl SortedDigests<E>,
        scratch: impl Scratch<E>,
    ) -> Result<Self, E> {
        let width = check_target(digests.count(), target_fpp)?;
        let (params, blocks) = build::build(width, digests, scratch)?;
        Ok(Self::assembled(params, digest_function, blocks))
    }

    /// With the width for a number of distinct digests.
    fn build_with(
        width_for: impl Fn(u64) -> Result<FuseWidth, Error>,
        digest_function: DigestFunction,
        digests: impl IntoIterator<Item = Digest>,
    ) -> Result<Self, Error> {
        let mut digests = collect(digests.into_iter().map(Digest::get))?;
        digests.sort_unstable();
        digests.dedup();
        let width = width_for(digests.len() as u64)?;
        let (params, blocks) = build::build(width, Sorted::new(digests), InMemory::default())?;
        Ok(Self::assembled(params, digest_function, blocks))
    }

    /// Like [`RibbonFilter::build`], but from keys.
    ///
    /// # Errors
    ///
    /// Same as [`RibbonFilter::build`].
    pub fn from_keys<K: Key>(
        width: FuseWidth,
        digest_function: DigestFunction,
        keys: impl IntoIterator<Item = K>,
    ) -> Result<Self, Error> {
        let digests = keys.into_iter().map(|key| digest_function.digest(&key));
        Self::build(width, digest_function, digests)
    }

    /// A copy of the filter.
    ///
    /// # Errors
    ///
    /// [`Error::OutOfMemory`].
    pub fn try_clone(&self) -> Result<Self, Error> {
        let blocks = OwnedBlocks::copy_of(self.blocks.as_ref())?;
        Ok(Self::assembled(self.params.clone(), self.digest_function, blocks))
    }
}

impl<S: AsRef<[Block]>> RibbonFilter<S> {
    /// Assembles a filter from its parts, as read or mapped from a file.
    ///
    /// # Errors
    ///
    /// [`Error::WrongLength`] unless there are exactly `params.num_blocks()` blocks;
    /// [`Error::BadField`] if a bit past the last threshold of a layer or the last word is set, or
    /// the digests that no layer took are not in order.
    pub fn from_parts(
        params: RibbonParams,
        digest_function: DigestFunction,
        blocks: S,
    ) -> Result<Self, Error> {
        let words = block::words(blocks.as_ref());
        Error::check_length("body", params.num_bytes(), words.len() as u64 * 8)?;
        let check_zero = |from: u64, to: u64| {
            let words = &words[from as usize..to as usize];
            Error::check_field(words.iter().all(|&word| word == 0), "unused bits", 1)
        };
        check_zero(params.num_words(), words.len() as u64)?;
        let mut at = 0u64;
        for (layers, bits) in params.segments().iter().zip(params.parts().map(|part| part.bits)) {
            check_zero(at, at.next_multiple_of(8))?;
            at = at.next_multiple_of(8) + layers.iter().sum::<u64>() * u64::from(bits);
        }
        let mut end = params.codes_at() as usize;
        for &segments in params.segments().iter().flatten() {
            end += code_words(segments) as usize;
            // Of the last word, which may be full but for one bit.
            let codes = (segments.div_ceil(BUCKET_SEGMENTS) - 1) % CODES_IN_WORD + 1;
            let found = words[end - 1] >> (3 * codes);
            Error::check_field(found == 0, "thresholds past the last segment", found)?;
        }
        let rest = &words[params.rest_at() as usize..params.num_words() as usize];
        let in_order = rest.windows(2).all(|pair| pair[0] < pair[1]);
        Error::check_field(in_order, "order of digests", rest.len() as u64)?;
        Ok(Self::assembled(params, digest_function, blocks))
    }

    fn assembled(params: RibbonParams, digest_function: DigestFunction, blocks: S) -> Self {
        let parts = params.parts();
        Self { limit: parts[1].first, params, parts, blocks, digest_function }
    }

    /// The parameters of the filter: width, keys, the sizes of its layers.
    pub const fn params(&self) -> &RibbonParams {
        &self.params
    }

    /// The contents: slots, thresholds, and digests that no layer took, as in files.
    pub const fn storage(&self) -> &S {
        &self.blocks
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

    /// The number of distinct digests that the filter was built from.
    pub const fn len(&self) -> u64 {
        self.params.items()
    }

    /// Whether it was built from no keys: then every answer is "surely not".
    pub const fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The width of the fingerprints.
    pub const fn width(&self) -> FuseWidth {
        self.params.width()
    }

    /// The bits of all slots and thresholds; at most [`crate::sizing::MAX_NUM_BITS`].
    pub fn num_bits(&self) -> u64 {
        self.params.num_bits()
    }

    /// Bytes of memory that the filter takes.
    pub fn num_bytes(&self) -> u64 {
        self.params.num_bytes()
    }

    /// The false-positive probability, which never changes, or 0 for an empty filter:
    /// [`RibbonParams::expected_fpp`].
    pub fn expected_fpp(&self) -> f64 {
        self.params.expected_fpp()
    }
}
