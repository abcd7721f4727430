//! What the log needs of those who have the filters: to be filled at start, to be saved later.

use super::{Error, Image, ReplayError};
use mayhap::Digest;
use std::io::{self, Write};
use std::sync::Arc;

/// Who is filled when a data folder is opened; the keyspace, or a test's set of digests.
///
/// Images come first, from several threads at once, then records in the order of the log. Records
/// for an unknown id belong to a filter that was removed later; ignore them. Records may repeat
/// what a filter has already: they follow an image that may hold it. An error ends the opening, and
/// the log adds the file and the place.
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

    /// A filter of this name, in place of the one that may have had the name: with the contents
    /// that [`Replay::load`] was given for its id, or empty. If the id is known, nothing changes.
    /// `spec` is what [`Operation::Create`](super::Operation) was given.
    ///
    /// # Errors
    ///
    /// If such a filter cannot be made: a spec of a later version, contents that are not whole, too
    /// little memory.
    fn create(&self, id: u64, name: &[u8], spec: &[u8], expires_at: u64)
    -> Result<(), ReplayError>;

    /// The contents of the filter that was just created: what [`Snapshot::write`] wrote.
    /// `mark` is what [`Snapshot::mark`] returned.
    ///
    /// # Errors
    ///
    /// If these bytes are no such filter.
    fn image(&self, id: u64, mark: u64, image: &mut Image) -> Result<(), ReplayError>;

    /// Digests that were inserted, and what was answered for each of them.
    ///
    /// # Errors
    ///
    /// If the filter cannot take them: too little memory to grow.
    fn insert(&self, id: u64, digests: &[Digest], answered: Answered) -> Result<(), ReplayError>;

    /// Keys that were inserted into a filter that cannot take digests.
    ///
    /// # Errors
    ///
    /// As [`Replay::insert`].
    fn keys(&self, id: u64, keys: &mut dyn Iterator<Item = &[u8]>) -> Result<(), ReplayError>;

    /// Digests for a filter to which everything has to be done once: see
    /// [`Recorder::ordered`](super::Recorder::ordered). Left out if `order` is below the mark of
    /// the filter's image.
    ///
    /// # Errors
    ///
    /// As [`Replay::insert`].
    fn ordered(
        &self,
        id: u64,
        order: u64,
        what: u64,
        digests: &[Digest],
    ) -> Result<(), ReplayError>;

    /// A part of the contents of a filter that is created later, as
    /// [`Contents::write`](super::Contents::write) was given it. If the filter never is, nobody
    /// ever saw it. Version 0.1 wrote the parts after the creation: then the filter is known, and
    /// nobody saw it before the last part.
    ///
    /// # Errors
    ///
    /// If these bytes are no part of a filter.
    fn load(&self, id: u64, part: u64, bytes: &[u8]) -> Result<(), ReplayError>;

    /// The filter is gone.
    fn remove(&self, id: u64);

    /// The filter has another name, and who had that before is gone.
    fn rename(&self, id: u64, name: &[u8]);

    /// The filter ends at this time, in milliseconds since 1970; 0 for never.
    fn expire(&self, id: u64, expires_at: u64);

    /// All filters are gone.
    fn clear(&self);
}

/// What was answered for digests when they were inserted, which is what a filter counts by.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Answered {
    /// Each was new: it counts, also if the filter has it already. Images are copied while
    /// insertions go on and may have keys that the log has after them; what an image counts is
    /// what came before ([`Tally::before`](super::Tally::before)).
    New,
    /// Each was there, and possibly not safe: none counts. Where it is new to the filter, the
    /// record that counts it follows, or its insertion was never acknowledged as new.
    There,
    /// The log does not say, since version 0.1 wrote it: what is new to the filter counts.
    Unknown,
}

/// A filter as the list of all filters has it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Saved {
    /// What the log calls it.
    pub id: u64,
    /// What users call it, which the filters may share.
    pub name: Arc<[u8]>,
    /// What it was created to be, in the keyspace's own bytes.
    pub spec: Box<[u8]>,
    /// Milliseconds since 1970; 0 for never.
    pub expires_at: u64,
}

/// Whose filters a checkpoint saves.
pub trait Filters: Sync {
    /// The ids of all filters now, in order. Called while no [`Operation`](super::Operation) is
    /// going on, as are the next two.
    fn ids(&self) -> Vec<u64>;

    /// A filter as it is now, or `None` if there is none of this id.
    fn saved(&self, id: u64) -> Option<Saved>;

    /// All filters now, in the order of their ids.
    fn list(&self) -> Vec<Saved> {
        self.ids().into_iter().filter_map(|id| self.saved(id)).collect()
    }

    /// About how many bytes [`Snapshot::write`] would write of a filter now; 0 if there is none of
    /// this id, or nobody can tell.
    fn image_bytes(&self, _id: u64) -> u64 {
        0
    }

    /// What is in a filter now, or `None` if there is none of this id any more. Insertions may go
    /// on meanwhile: those that were recorded before this call have to be in it, others may be.
    /// Counted are only those that were recorded before `segment` began, with which the log after
    /// this image begins: [`Tally::before`](super::Tally::before).
    ///
    /// # Errors
    ///
    /// If there is too little memory.
    fn snapshot(&self, id: u64, segment: u64) -> io::Result<Option<Box<dyn Snapshot>>>;

    /// Makes each of these filters, in the order of their ids, what the folder has of it, since a
    /// turn that changed it was refused; takes those away whose creation was, of which it has
    /// nothing. `read` is given those of them that there are, as [`Filters::saved`] has them, and
    /// fills a [`Replay`] with what the folder has.
    ///
    /// # Errors
    ///
    /// Those of `read`: nobody knows what is in these filters, and queries of them have to be
    /// errors until this is called again and succeeds.
    fn put_back(&self, ids: &[u64], read: &ReadBack<'_>) -> Result<(), Error>;
}

/// What [`Filters::put_back`] reads filters by.
pub type ReadBack<'a> = dyn Fn(Vec<Saved>, &dyn Replay) -> Result<(), Error> + 'a;

/// What was in a filter at a time.
pub trait Snapshot {
    /// How much of its history it contains, for a filter to which everything has to be done once:
    /// one more than the highest [`order`](super::Recorder::ordered) in it.
    fn mark(&self) -> u64 {
        0
    }

    /// Writes it, for [`Replay::image`] to read; [`write_native`](super::write_native) does for
    /// filters that have a file format.
    ///
    /// # Errors
    ///
    /// Those of `out`.
    fn write(&self, out: &mut dyn Write) -> io::Result<()>;
}
