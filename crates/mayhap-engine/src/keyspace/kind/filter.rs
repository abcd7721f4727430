//! A filter in use, and a filter for one owner: a copy of one in use, or one that is being built.

use super::fixed::Fixed;
use crate::Work;
use crate::durable::{Answered, Piece, Snapshot, Tally};
use crate::keyspace::fold_size::Size;
use crate::keyspace::growth::Growth;
use crate::keyspace::{
    Info, InsertError, LayerInfo, Measured, RecoveryError, Spec, Unreadable, WrongKind,
};
use mayhap::set::Set;
use mayhap::{
    Age, Bitmap, BloomMatrix, Charge, ClockJumps, ConcurrentScalableBloomFilter, Digest,
    DigestFunction, Error, Window,
};
use std::fmt::Debug;
use std::io;
use std::sync::Arc;

/// A filter in use, of any kind.
///
/// Most kinds take digests. Foreign ones hash in their own way: they have no
/// [`Filter::digest_function`] and take keys ([`Filter::contains_key`], [`Filter::insert_key`]).
/// The default methods for insertions make a kind read only.
pub(in crate::keyspace) trait Filter: Debug + Send + Sync {
    /// Its kind, for [`Info::kind`].
    fn kind(&self) -> &'static str;

    /// How keys become digests; `None` for filters that take keys.
    fn digest_function(&self) -> Option<DigestFunction> {
        None
    }

    /// Whether the key of this digest may be in it; a window answers for the time `now`.
    fn contains(&self, _digest: Digest, _now: u64) -> bool {
        false
    }

    /// [`Filter::contains`] for many digests.
    fn contains_many(&self, digests: &[Digest], _now: u64, found: &mut Bitmap) {
        found.clear_to(digests.len());
    }

    /// How much it remembers, if it is a window: a number of keys, or a time in milliseconds.
    fn window(&self) -> Option<Window> {
        None
    }

    /// How long before `now` the key of this digest was inserted, if it may be in a window.
    fn age(&self, _digest: Digest, _now: u64) -> Option<Age> {
        None
    }

    /// Checks that these bytes are a key, for a kind without a digest function.
    fn check_key(&self, _key: &[u8]) -> Result<(), mayhap_formats::Error> {
        Ok(())
    }

    /// Whether the key may be in it, for a kind without a digest function.
    fn contains_key(&self, _key: &[u8]) -> bool {
        false
    }

    /// Its sets, if it is a matrix.
    fn matrix(&self) -> Option<&BloomMatrix> {
        None
    }

    /// Inserts a digest and records it in the log if a crash must not lose it; `true` if it is new.
    fn insert(
        &self,
        _digest: Digest,
        _target: Target<'_>,
        _work: &mut Work,
    ) -> Result<bool, InsertError> {
        Err(InsertError::ReadOnly)
    }

    /// [`Filter::insert`] for [`Work::digests`], which are not kept; the answers are in
    /// [`Work::answers`]. The digests before the index of an error are inserted.
    fn insert_many(
        &self,
        _target: Target<'_>,
        work: &mut Work,
    ) -> Result<(), (usize, InsertError)> {
        work.answers.clear_to(work.digests.len());
        Err((0, InsertError::ReadOnly))
    }

    /// Inserts those of [`Work::digests`] that are absent, in order, for a kind that removes keys;
    /// as [`Filter::insert_many`] otherwise.
    fn insert_absent(
        &self,
        _target: Target<'_>,
        work: &mut Work,
    ) -> Result<(), (usize, InsertError)> {
        work.answers.clear_to(work.digests.len());
        let error = Error::NotOfKind { operation: "insertion of absent keys", kind: self.kind() };
        Err((0, error.into()))
    }

    /// How often the key of this digest may be in it, for a kind that counts.
    fn count(&self, digest: Digest, now: u64) -> u32 {
        self.contains(digest, now).into()
    }

    /// Removals since the start of the server.
    fn removed(&self) -> u64 {
        0
    }

    /// [`Filter::insert`] for a key, for a kind without a digest function.
    fn insert_key(
        &self,
        _key: &[u8],
        _target: Target<'_>,
        _work: &mut Work,
    ) -> Result<bool, InsertError> {
        Err(InsertError::ReadOnly)
    }

    /// Removes [`Work::digests`] in order, each once; the answers are in [`Work::answers`], `false`
    /// for one that is surely absent.
    fn remove_many(&self, _target: Target<'_>, _work: &mut Work) -> Result<(), WrongKind> {
        Err(WrongKind::NotCounting(self.kind()))
    }

    /// Whether it can be united with another of its kind, if it is no file.
    fn unites(&self) -> bool {
        true
    }

    /// Its description, without reading its bits.
    fn info(&self) -> Info;

    /// Whether it has more keys than its capacity: more than its rate allows, or than it can
    /// remember.
    fn is_over_capacity(&self) -> bool {
        false
    }

    /// Keys that were new.
    fn items(&self) -> u64;

    /// Bytes of its bits.
    fn num_bytes(&self) -> u64;

    /// Its layers, oldest first.
    fn layers(&self) -> Vec<LayerInfo> {
        vec![LayerInfo::of(&self.info())]
    }

    /// Measurements of its bits; reads all of them.
    fn measure(&self) -> Measured;

    /// A copy, while insertions continue: it has at least every key whose insertion happened
    /// before. `None` for files.
    fn snapshot(&self) -> Result<Option<Box<dyn Contents>>, Error> {
        Ok(None)
    }

    /// Why it does not answer, if it does not: its file was changed, or there is nothing that could
    /// answer. At a time `now`, of any clock, its file is only checked again if that has advanced.
    fn problem(&self, _now: Option<u64>) -> Option<Unreadable> {
        None
    }

    /// Checks up to `most_pages` pages of the file below it that no query has read yet; returns
    /// whether nothing is left to check.
    fn check_ahead(&self, _most_pages: u64) -> bool {
        true
    }

    /// Checks every byte of the file below it.
    fn verify(&self) -> Result<(), mayhap_store::Error> {
        Ok(())
    }

    /// Its own actions since this was last called.
    fn news(&self) -> Option<News> {
        None
    }

    /// Itself, if it does not grow and folds.
    fn fixed(&self) -> Option<&Fixed> {
        None
    }

    /// The chain of layers, if it grows.
    fn chain(&self) -> Option<&ConcurrentScalableBloomFilter> {
        None
    }
}

/// A filter for one owner: for images, dumps, unions and recovery.
///
/// [`Snapshot::write`] writes it in the native format, or one of `mayhap-formats`.
pub(in crate::keyspace) trait Contents: Snapshot + Debug + Send {
    /// Bytes of its bits.
    fn num_bytes(&self) -> u64;

    /// Its specification at creation, as far as it is known.
    fn spec(&self) -> Spec;

    /// Its face, if it is of our own kinds.
    fn set(&self) -> Option<&dyn Set> {
        None
    }

    /// Writes the zeros of an empty filter, so that the system provides its pages.
    fn write_zeros(&mut self) {}

    /// Converts it for use by many threads. `charge` has its bytes.
    fn into_filter(self: Box<Self>, home: Home<'_>, charge: Charge) -> Box<dyn Filter>;

    /// Caps its count of keys, for kinds that are filled without a lock: a copy of such a filter in
    /// use may count other keys than it has.
    fn limit_items(&mut self, _most: u64) {}

    /// Its dump for other servers.
    ///
    /// # Errors
    ///
    /// If there is too little memory.
    fn dump(&self) -> io::Result<Dump>;

    /// Its dump, in a form that no file has if that is smaller.
    ///
    /// # Errors
    ///
    /// If there is too little memory.
    fn small_dump(&self) -> io::Result<Dump> {
        self.dump()
    }

    /// Makes it the union of both; `true` if it has a bit or a counter then that neither of them
    /// had, in kinds whose union can be too full.
    ///
    /// # Errors
    ///
    /// [`Error::Incompatible`] with the difference.
    fn union_with(&mut self, _other: &dyn Contents) -> Result<bool, Error> {
        Err(Error::NotOfKind { operation: "union", kind: "foreign" })
    }

    /// The number of keys in a union, if it exceeds this capacity.
    fn items_beyond(&self, _capacity: u64) -> Option<u64> {
        None
    }

    /// Replays digests of the log, in any order and any number of times.
    fn replay(
        &mut self,
        _digests: &[Digest],
        _answered: Answered,
        _scratch: &mut Bitmap,
    ) -> Result<(), RecoveryError> {
        Err(RecoveryError::NoDigests)
    }

    /// Replays ordered digests of the log that are in no image; `what` is a time, or `REMOVAL`.
    fn replay_ordered(
        &mut self,
        _order: u64,
        _what: u64,
        _digests: &[Digest],
        _scratch: &mut Bitmap,
    ) -> Result<(), RecoveryError> {
        Err(RecoveryError::NoOrder)
    }

    /// Replays a fold, unless it has that size already, or a smaller one.
    fn fold(&mut self, _to: &Size) -> Result<(), RecoveryError> {
        Err(RecoveryError::NoFold)
    }

    /// Replays a union with a piece of bits, which it has already if it has a smaller size by now.
    fn unite(&mut self, _piece: Piece<'_>) -> Result<(), RecoveryError> {
        Err(RecoveryError::NoPiece)
    }

    /// Replays keys of the log.
    fn replay_keys(&mut self, _keys: &mut dyn Iterator<Item = &[u8]>) -> Result<(), RecoveryError> {
        Err(RecoveryError::NoKeys)
    }
}

/// A filter's bytes for other servers.
#[derive(Debug)]
pub(in crate::keyspace) struct Dump {
    pub(in crate::keyspace) bytes: Vec<u8>,
    pub(in crate::keyspace) header_bytes: usize,
    /// Offsets that no chunk may cross.
    pub(in crate::keyspace) ends: Vec<usize>,
}

/// Actions of a filter that no caller asked for.
#[derive(Debug, Clone, Copy)]
pub(in crate::keyspace) enum News {
    /// It forgot all of its keys, this many times.
    Cleared(u64),
    /// It found the clock behind its latest time; with all jumps so far.
    SetBack(ClockJumps),
}

/// The filter as recorded in the log.
#[derive(Debug, Clone, Copy)]
pub(in crate::keyspace) struct Target<'a> {
    pub(in crate::keyspace) id: u64,
    pub(in crate::keyspace) tally: &'a Arc<Tally>,
}

/// The parts of a keyspace that a filter uses.
#[derive(Debug, Clone, Copy)]
pub(in crate::keyspace) struct Home<'a> {
    pub(in crate::keyspace) max_filter_bytes: u64,
    pub(in crate::keyspace) growth: &'a Arc<Growth>,
}
