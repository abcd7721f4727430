//! How a log begins and how an image replaces another: the order in which files are written. Also
//! the digests of all keys, where they are kept beside the image.

use super::memory::Memory;
use super::parts::Name;
use super::relation::{LogFound, examine};
use super::session::Session;
use crate::disk::How;
use crate::log::{Header, Log, Meaning, Owner};
use crate::{Error, Image};
use mayhap::Digest;
use mayhap::native::Identity;

impl Session {
    /// Begins the log of the image, so that records can be appended: first the log, then the mark
    /// in the image, both on disk before there is a record. A crash in between leaves a log without
    /// records, which means nothing, whatever filter it belongs to.
    pub(super) fn begin_log(&mut self, memory: &mut dyn Memory) -> Result<(), Error> {
        // Whatever has been created there since: files of other programs are never replaced.
        let found = examine(&*self.disk, (&self.log.path, How::Read), self.at.image.header())?.0;
        if matches!(found, LogFound::Foreign { .. } | LogFound::NotALog) {
            self.log.blocked = Some(found);
        }
        self.log.check_free(self.at.image.path())?;
        if let Some(file) = self.at.image.open_to_rewrite(&*self.disk)? {
            let identity = self.at.identity.unwrap_or_else(|| self.new_identity());
            let log = self.create_log(identity)?;
            let identity = Identity { log_begun: true, ..identity };
            if let Err(error) = self.at.image.rewrite_identity(&*file, identity) {
                // The contents of the disk are unknown, and a second sync of this file would not
                // reveal them: another file has to replace it.
                self.unsaved.must_save = true;
                return Err(error);
            }
            (self.log.open, self.at.identity) = (Some(log), Some(identity));
            return Ok(());
        }
        // The image is replaced by one that has the mark and everything noted so far.
        let identity = self.next_identity();
        let log = self.create_log(identity)?;
        self.replace_image(memory, Some(Identity { log_begun: true, ..identity }))?;
        self.log.open = Some(log);
        Ok(())
    }

    fn create_log(&self, identity: Identity) -> Result<Log, Error> {
        let header = self.at.image.header();
        let meaning = Meaning::of(header);
        let owner = Owner::Image { id: identity.id, epoch: identity.epoch };
        let looks =
            self.at.image.file().look().map_err(Error::io("look at", self.at.image.path()))?;
        let access = (header.digest_id() != 1, looks.permissions);
        Log::create(self.turn.held(), &self.log.path, Header { meaning, owner }, access)
    }

    /// Saves the filter as the next image of its state, or of a new one if `named`; otherwise as a
    /// file that is not a state. Then the log is removed, since the image includes its records.
    pub(super) fn save(&mut self, memory: &mut dyn Memory, named: bool) -> Result<(), Error> {
        let named = named || self.at.identity.is_some() || self.log.of_version_1.is_some();
        let identity = named.then(|| self.next_identity());
        self.replace_image(memory, identity)?;
        self.log.of_version_1 = None;
        let is_in_image = if self.log.open.is_some() {
            let is_its = self.log.is_at_its_name(&*self.disk);
            self.log.open = None;
            is_its
        } else {
            // The log of an earlier image, or of version 1.
            let found = examine(&*self.disk, (&self.log.path, How::Read), self.at.image.header());
            matches!(found, Ok((LogFound::Stale | LogFound::Empty, _)))
        };
        if is_in_image {
            // If it stays, it is ignored, and removed by the next writer.
            let _ = self.disk.remove(&self.log.path);
        }
        Ok(())
    }

    /// Replaces the image by the filter in memory, synced.
    fn replace_image(
        &mut self,
        memory: &mut dyn Memory,
        identity: Option<Identity>,
    ) -> Result<(), Error> {
        let path = self.at.image.path().to_path_buf();
        let header = memory.header(&self.key_options);
        // Digests in the log must have the same meaning as those of the replacing filter.
        Meaning::of(&header).check_same(&Meaning::of(self.at.image.header()), &self.log.path)?;
        let header = header.with_identity(identity).map_err(Error::format(&path))?;
        let segments = memory.segments();
        let keeper = self.unsaved.keeper.as_mut();
        let lock = self.turn.held();
        // A short file stays short while it fits and is no state.
        let stays_short = self.at.image.is_short() && identity.is_none() && keeper.is_none();
        let short = if stays_short { header.encode_short(&segments).ok() } else { None };
        let saved = match short {
            Some(short) => crate::save::save_short_image(lock, &short, header.is_keyed()),
            None => crate::save::save_image(lock, &header, &segments, true, keeper),
        };
        if let Err(error) = saved {
            // It may already be in place, though not durably. Then the log belongs to the image
            // that a power cut may bring back, and nothing more is appended to it.
            let there = Image::open(&*self.disk, &path);
            if there.is_ok_and(|there| there.header().identity() == identity) && identity.is_some()
            {
                (self.at.identity, self.log.open, self.unsaved.must_save) = (identity, None, true);
            }
            return Err(error);
        }
        self.at.image = Image::open(&*self.disk, &path)?;
        self.at.identity = self.at.image.header().identity();
        self.unsaved.pending.clear();
        (self.unsaved.must_save, self.at.name) = (false, Name::Synced);
        self.at.contributed |= identity.is_some();
        Ok(())
    }

    fn new_identity(&self) -> Identity {
        self.log.new_identity(self.disk.random())
    }

    fn next_identity(&self) -> Identity {
        self.at.next_identity(|| self.new_identity())
    }

    /// Whether the digests of all keys are kept in a file beside the filter
    /// ([`crate::KeptDigests`]): then every digest has to be noted, not only the new ones.
    pub fn keeps_digests(&self) -> bool {
        self.unsaved.keeper.is_some()
    }

    /// Writes the noted digests to the file beside the filter if they take much memory; to be
    /// called regularly while many are noted. Does nothing without the lock.
    ///
    /// # Errors
    ///
    /// [`Error::DigestsBehind`] if another file has the name of the digests by now;
    /// [`Error::NoSpace`], [`Error::Io`].
    pub fn spill_digests(&mut self) -> Result<(), Error> {
        match &mut self.unsaved.keeper {
            Some(keeper) if self.turn.lock.is_some() => keeper.spill(),
            _ => Ok(()),
        }
    }

    /// Passes the distinct digests of all keys, those in the log included, to `each`: in ascending
    /// order, in batches of at most 1024. There are none if [`Session::keeps_digests`] is false.
    ///
    /// # Errors
    ///
    /// The errors of [`crate::KeptDigests::for_each`] and [`Session::spill_digests`].
    ///
    /// # Panics
    ///
    /// If the lock is not held.
    pub fn for_each_digest<E: From<Error>>(
        &mut self,
        each: impl FnMut(&[Digest]) -> Result<(), E>,
    ) -> Result<(), E> {
        assert!(self.turn.lock.is_some(), "the lock is held while digests are read");
        match &mut self.unsaved.keeper {
            Some(keeper) => keeper.for_each(each),
            None => Ok(()),
        }
    }
}
