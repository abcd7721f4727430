//! One face for every kind of filter: what a host needs to query, fill, report and save a filter
//! whose kind is known only when the program runs.
//!
//! ```
//! use mayhap::set::{self, Repeats};
//! use mayhap::{Bitmap, CountingBloomFilter, native};
//!
//! let filter = CountingBloomFilter::builder().expected_items(1_000).target_fpp(1e-6).build()?;
//! let bytes = native::encode(&filter, "");
//!
//! let (mut set, _header) = set::decode(&bytes, None)?; // of any kind
//! assert!(set.capabilities().removes && !set.capabilities().grows);
//! let digests = [set.digest_function().digest("a"), set.digest_function().digest("b")];
//! let mut answers = Bitmap::new();
//! set.insert_into(&digests, Repeats::Renew, &mut answers)?;
//! set.remove_into(&digests[..1], &mut answers)?;
//! set.contains_into(&digests, 0, &mut answers);
//! assert_eq!(answers.iter().collect::<Vec<_>>(), [false, true]);
//! # Ok::<(), mayhap::Error>(())
//! ```
//!
//! | file | contents |
//! |---|---|
//! | `bytes.rs` | a filter of any kind as bytes of the native format |
//! | `capabilities.rs` | what a kind can do, known before there is a filter |
//! | `face.rs` | methods of the face that are the same for many kinds |
//! | `kinds.rs` | the face of each kind, and the table of all |
//! | `numbers.rs` | what a filter reports about itself |

mod bytes;
mod capabilities;
mod face;
mod kinds;
mod numbers;
#[cfg(test)]
mod tests;

pub use bytes::{decode, encode};
pub use capabilities::{Capabilities, Repeats};
pub use kinds::from_segments;
pub use numbers::{ByBits, Numbers};

use crate::native::{Fields, Header, Kind};
use crate::sizing::Shrink;
use crate::{Age, Bitmap, Block, Digest, DigestFunction, Error};
use alloc::boxed::Box;
use alloc::vec::Vec;
use core::any::Any;
use core::fmt;

/// A filter of any kind, by its digests.
///
/// What a kind cannot do is known before the call ([`Set::capabilities`]) and is
/// [`Error::NotOfKind`] if it is called all the same. A virtual call is one per batch, so the loops
/// inside stay static; each operation costs the cache lines of the kind's own method.
///
/// Times are those of windows of time, in the unit of the caller; all other kinds ignore them.
pub trait Set: fmt::Debug + Send + Sync {
    /// The kind.
    fn kind(&self) -> Kind;

    /// Its capabilities: those of its kind, unless this filter can do less.
    fn capabilities(&self) -> Capabilities {
        self.kind().capabilities()
    }

    /// The layout of a plain filter, the kind of all others.
    fn name(&self) -> &'static str {
        self.numbers().layout.map_or(self.kind().name(), crate::Layout::name)
    }

    /// How keys become digests.
    fn digest_function(&self) -> &DigestFunction;

    /// Its numbers, without reading its bits.
    fn numbers(&self) -> Numbers;

    /// [`Numbers::inserted_items`] alone, at the cost of reading it: for callers that count along.
    fn inserted_items(&self) -> u64;

    /// [`Numbers::inserted_items`] at which it is full if every key is offered once; `None` if it
    /// never is. Computed with each call, for a plain filter in about a quarter of a millisecond.
    fn inserted_when_full(&self) -> Option<u64> {
        self.numbers().capacity
    }

    /// Its measurements. Reads all of its bits.
    fn by_bits(&self) -> ByBits;

    /// Whether the key of this digest may be in it at the time `now`; `false` is certain.
    fn contains_digest(&self, digest: Digest, now: u64) -> bool;

    /// [`Set::contains_digest`] for many digests: bit `i` of `found` answers for `digests[i]`.
    fn contains_into(&self, digests: &[Digest], now: u64, found: &mut Bitmap);

    /// Inserts a digest, in a window of time at the latest time; `true` if it is new.
    ///
    /// # Errors
    ///
    /// [`Error::NotOfKind`]; the errors of kinds that grow and cannot.
    fn insert_digest(&mut self, digest: Digest, repeats: Repeats) -> Result<bool, Error> {
        let _ = (digest, repeats);
        Err(Error::NotOfKind { operation: "insert", kind: self.kind().name() })
    }

    /// [`Set::insert_digest`] for many digests, in order: bit `i` of `new` answers for
    /// `digests[i]`. After an error those before the one for which there was no room are inserted.
    ///
    /// # Errors
    ///
    /// Same as [`Set::insert_digest`].
    fn insert_into(
        &mut self,
        digests: &[Digest],
        repeats: Repeats,
        new: &mut Bitmap,
    ) -> Result<(), Error> {
        let _ = (digests, repeats, new);
        Err(Error::NotOfKind { operation: "insert", kind: self.kind().name() })
    }

    /// Removes many digests, in order, each once: bit `i` of `removed` is set if `digests[i]` was
    /// removed. One that is surely not in it is not, nor one whose counters are saturated.
    ///
    /// # Errors
    ///
    /// [`Error::NotOfKind`].
    fn remove_into(&mut self, digests: &[Digest], removed: &mut Bitmap) -> Result<(), Error> {
        let _ = (digests, removed);
        Err(Error::NotOfKind { operation: "remove", kind: self.kind().name() })
    }

    /// Forgets all keys.
    ///
    /// # Errors
    ///
    /// [`Error::NotOfKind`].
    fn clear(&mut self) -> Result<(), Error> {
        Err(Error::NotOfKind { operation: "clear", kind: self.kind().name() })
    }

    /// Adds the keys of a filter of the same kind, shape and digest function.
    ///
    /// # Errors
    ///
    /// [`Error::NotOfKind`]; [`Error::Incompatible`] with the first difference.
    fn union_with(&mut self, other: &dyn Set) -> Result<(), Error> {
        let _ = other;
        Err(Error::NotOfKind { operation: "union", kind: self.kind().name() })
    }

    /// This filter at a smaller size, without its keys. If no smaller size keeps the rate, it is a
    /// copy of this size with the requested rate and number of keys, and `None` if neither is
    /// given. Reads every block once; the smaller filter is in memory beside it.
    ///
    /// # Errors
    ///
    /// [`Error::NotOfKind`]; the errors of [`Shrink::of`], and of a chain those of
    /// [`crate::ScalableBloomFilter::shrunk`]; [`Error::OutOfMemory`].
    fn shrunk(&self, how: Shrink) -> Result<Option<Box<dyn Set>>, Error> {
        let _ = how;
        Err(Error::NotOfKind { operation: "shrink", kind: self.kind().name() })
    }

    /// How long before `now` the key of this digest was last inserted, if it may be in a window.
    fn age(&self, digest: Digest, now: u64) -> Option<Age> {
        let _ = (digest, now);
        None
    }

    /// The latest time of a window of time.
    fn now(&self) -> u64 {
        0
    }

    /// Advances a window of time; see [`crate::WindowBloomFilter::advance`].
    fn advance(&mut self, now: u64) {
        let _ = now;
    }

    /// The moment to record in a log for the last `digests` insertions, with which
    /// [`Set::resume`] repeats them: the latest time of a window of time, the number of keys
    /// offered before them to a count window, 0 otherwise.
    fn moment_of_last(&self, digests: usize) -> u64 {
        let _ = digests;
        0
    }

    /// Moves a window on to such a moment; see [`crate::WindowBloomFilter::resume`].
    fn resume(&mut self, moment: u64) {
        let _ = moment;
    }

    /// The fields of its file header.
    fn fields(&self) -> Fields;

    /// The body of its file.
    fn segments(&self) -> Vec<&[Block]>;

    /// A copy of it.
    ///
    /// # Errors
    ///
    /// [`Error::OutOfMemory`].
    fn copy(&self) -> Result<Box<dyn Set>, Error>;

    /// For the operations of one kind.
    fn as_any(&self) -> &dyn Any;

    /// Same as [`Set::as_any`].
    fn as_any_mut(&mut self) -> &mut dyn Any;
}

impl dyn Set + '_ {
    /// The header of its file, with these key options.
    ///
    /// # Panics
    ///
    /// If `key_options` is longer than [`crate::native::MAX_KEY_OPTIONS_BYTES`].
    pub fn header(&self, key_options: &str) -> Header {
        let (fields, function) = (self.fields(), self.digest_function());
        Header::of_parts(self.kind(), fields, &self.segments(), function, key_options)
    }

    /// Whether `other` gives the same answer for every key: kind, numbers, digest function and bits
    /// are the same. The count of insertions is not compared, since the first or the last of two
    /// equal keys may be the one that counted.
    pub fn same(&self, other: &Self) -> bool {
        let shape = |set: &Self| Fields { inserted_items: 0, ..set.fields() };
        self.kind() == other.kind()
            && shape(self) == shape(other)
            && self.digest_function() == other.digest_function()
            && self.segments() == other.segments()
    }
}

/// The other filter, if it is of the same kind.
///
/// # Errors
///
/// [`Error::Incompatible`] with both kinds.
pub fn same_kind<'a, F: Set + 'static>(ours: &F, other: &'a dyn Set) -> Result<&'a F, Error> {
    let (left, right) = (ours.kind().id().into(), other.kind().id().into());
    let incompatible = Error::Incompatible { parameter: "kind", left, right };
    other.as_any().downcast_ref().ok_or(incompatible)
}
