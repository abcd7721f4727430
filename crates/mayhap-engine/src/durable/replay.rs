//! The log's interfaces to the owner of the filters: to fill them at start, to save them later.

use super::{Error, Image, ReplayError};
use mayhap::Digest;
use std::io::{self, Write};
use std::sync::Arc;

/// The receiver of a data folder's contents when it is opened: the keyspace, or a test's set of
/// digests.
///
/// Images come first, from several threads at once, then records in the order of the log. Records
/// for an unknown id belong to a filter that was removed later; ignore them. Records may repeat
/// keys that a filter already has, as they follow an image that may include them. An error stops
/// the opening, and the log adds the file and the offset. A method that is not implemented ignores
/// its records.
pub trait Replay: Sync {
    /// The filters of the manifest, before anything else.
    ///
    /// # Errors
    ///
    /// As [`Replay::create`].
    fn create_all(&self, filters: &mut dyn Iterator<Item = &Saved>) -> Result<(), ReplayError> {
        for Saved { id, name, spec, expires_at } in filters {
            self.create(*id, name, spec, *expires_at)?;
        }
        Ok(())
    }

    /// Creates a filter of this name, replacing any other of that name: with the contents that
    /// [`Replay::load`] was given for its id, or empty. If the id is known, nothing changes.
    /// `spec` is the one given to [`Operation::Create`](super::Operation).
    ///
    /// # Errors
    ///
    /// If such a filter cannot be created: a spec of a later version, incomplete contents, too
    /// little memory.
    fn create(
        &self,
        _id: u64,
        _name: &[u8],
        _spec: &[u8],
        _expires_at: u64,
    ) -> Result<(), ReplayError> {
        Ok(())
    }

    /// The contents of the filter that was just created, as written by [`Snapshot::write`]. `mark`
    /// is the value of [`Snapshot::mark`].
    ///
    /// # Errors
    ///
    /// If these bytes are not such a filter.
    fn image(&self, _id: u64, _mark: u64, _image: &mut Image) -> Result<(), ReplayError> {
        Ok(())
    }

    /// Digests that were inserted, and how each of them was answered.
    ///
    /// # Errors
    ///
    /// If the filter cannot take them: too little memory to grow.
    fn insert(&self, _id: u64, _: &[Digest], _answered: Answered) -> Result<(), ReplayError> {
        Ok(())
    }

    /// Keys that were inserted into a filter that cannot take digests.
    ///
    /// # Errors
    ///
    /// As [`Replay::insert`].
    fn keys(&self, _id: u64, _: &mut dyn Iterator<Item = &[u8]>) -> Result<(), ReplayError> {
        Ok(())
    }

    /// Digests for a filter that has to apply every change exactly once: see
    /// [`Recorder::ordered`](super::Recorder::ordered). Skipped if `order` is below the mark of
    /// the filter's image.
    ///
    /// # Errors
    ///
    /// As [`Replay::insert`].
    fn ordered(
        &self,
        _id: u64,
        _order: u64,
        _what: u64,
        _digests: &[Digest],
    ) -> Result<(), ReplayError> {
        Ok(())
    }

    /// A part of the contents of a filter that is created later, as given to
    /// [`Contents::write`](super::Contents::write). If the filter is never created, no client ever
    /// saw it. Version 0.1 wrote the parts after the creation: then the filter is known, but no
    /// client saw it before the last part.
    ///
    /// # Errors
    ///
    /// If these bytes are not a part of a filter.
    fn load(&self, _id: u64, _part: u64, _bytes: &[u8]) -> Result<(), ReplayError> {
        Ok(())
    }

    /// Folds a filter to a size, with a promise: as given to
    /// [`Operation::Fold`](super::Operation::Fold). An image that follows the record in time, and
    /// not in the log, has that size already, or a later and smaller one.
    ///
    /// # Errors
    ///
    /// If these bytes are no size.
    fn fold(&self, _id: u64, _to: &[u8]) -> Result<(), ReplayError> {
        Ok(())
    }

    /// Unites a filter with a piece of bits: as given to
    /// [`Operation::Unite`](super::Operation::Unite). An image may have the bits already, or a
    /// smaller size, in which it has them too; it counts none of its keys.
    ///
    /// # Errors
    ///
    /// If these bytes are no piece of it.
    fn unite(&self, _id: u64, _piece: Piece<'_>) -> Result<(), ReplayError> {
        Ok(())
    }

    /// Removes a filter.
    fn remove(&self, _id: u64) {}

    /// Renames a filter; any other filter of that name is gone.
    fn rename(&self, _id: u64, _name: &[u8]) {}

    /// Expires the filter at this time, in milliseconds since 1970; 0 for never.
    fn expire(&self, _id: u64, _expires_at: u64) {}

    /// Removes all filters.
    fn clear(&self) {}
}

/// A piece of bits, as [`Operation::Unite`](super::Operation::Unite) has it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Piece<'a> {
    /// The number of bits of the filter.
    pub num_bits: u64,
    /// Where the piece begins, in bytes.
    pub offset: u64,
    /// By how many keys its count grows.
    pub items: u64,
    /// The bits.
    pub bits: &'a [u8],
}

/// Checks records without keeping them.
pub(super) struct Nobody;

impl Replay for Nobody {}

/// The answers to digests when they were inserted, which decide what a filter counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Answered {
    /// Each was new: it counts, even if the filter has it already. Images are copied while
    /// insertions continue and may have keys that are later in the log; an image counts the keys
    /// before it ([`Tally::before`](super::Tally::before)).
    New,
    /// Each was present, and possibly not safe: none counts. If a key is new to the filter, the
    /// record that counts it follows, or its insertion was never acknowledged as new.
    There,
    /// Unknown, as version 0.1 wrote the record: a key that is new to the filter counts.
    Unknown,
}

/// A filter as an entry of the list of all filters.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Saved {
    /// Its id in the log.
    pub id: u64,
    /// Its name, shared with the filter itself if that is possible.
    pub name: Arc<[u8]>,
    /// Its specification, in the keyspace's own encoding.
    pub spec: Box<[u8]>,
    /// Milliseconds since 1970; 0 for never.
    pub expires_at: u64,
}

/// The owner of the filters that a checkpoint saves.
pub trait Filters: Sync {
    /// The ids of all filters now, in order. Called while no [`Operation`](super::Operation) is in
    /// progress, like the next two.
    fn ids(&self) -> Vec<u64>;

    /// The current state of a filter, or `None` if there is none of this id.
    fn saved(&self, id: u64) -> Option<Saved>;

    /// All filters now, in the order of their ids.
    fn list(&self) -> Vec<Saved> {
        self.ids().into_iter().filter_map(|id| self.saved(id)).collect()
    }

    /// About how many bytes [`Snapshot::write`] would write for a filter now; 0 if there is none of
    /// this id, or the size is unknown.
    fn image_bytes(&self, _id: u64) -> u64 {
        0
    }

    /// The current contents of a filter, or `None` if none has this id any more. Insertions may
    /// continue meanwhile: those recorded before this call have to be included, others may be. Only
    /// those recorded before `segment` began are counted, as the log after this image begins with
    /// it: [`Tally::before`](super::Tally::before).
    ///
    /// # Errors
    ///
    /// If there is too little memory.
    fn snapshot(&self, id: u64, segment: u64) -> io::Result<Option<Box<dyn Snapshot>>>;

    /// Resets each of these filters, in the order of their ids, to its state in the folder, since a
    /// turn that changed it was refused; removes filters whose creation was refused, of which the
    /// folder has nothing. `read` is given the ones that exist, as [`Filters::saved`] returns them,
    /// and fills a [`Replay`] with their contents in the folder.
    ///
    /// # Errors
    ///
    /// The error of `read`: the contents of these filters are unknown then, and queries of them
    /// have to fail until this is called again and succeeds.
    fn put_back(&self, ids: &[u64], read: &ReadBack<'_>) -> Result<(), Error>;
}

/// The function by which [`Filters::put_back`] reads filters.
pub type ReadBack<'a> = dyn Fn(Vec<Saved>, &dyn Replay) -> Result<(), Error> + 'a;

/// The contents of a filter at a moment.
pub trait Snapshot {
    /// How much of its history it contains, for a filter that has to apply every change exactly
    /// once: one more than the highest [`order`](super::Recorder::ordered) in it.
    fn mark(&self) -> u64 {
        0
    }

    /// Writes it for [`Replay::image`] to read; [`write_segments`](super::write_segments) does this
    /// for filters that have a file format.
    ///
    /// # Errors
    ///
    /// The errors of `out`.
    fn write(&self, out: &mut dyn Write) -> io::Result<()>;
}
