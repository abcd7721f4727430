//! How a log begins and how an image replaces another: the order in which files are written.

use super::memory::Memory;
use super::relation::{LogFound, examine};
use super::session::{Name, Session};
use crate::disk::How;
use crate::log::{Header, Log, Meaning, Owner};
use crate::{Error, FilterLock, Image};
use mayhap::native::{self, Identity};

/// The epochs there are: bits 0 to 62.
const LAST_EPOCH: u64 = (1 << 63) - 1;

impl Session {
    /// [`Error::ForeignLog`] or [`Error::NotALog`] if another file has the name of the log.
    pub(super) fn check_free(&self) -> Result<(), Error> {
        let path = self.log_path.clone();
        match self.blocked {
            Some(LogFound::NotALog) => Err(Error::NotALog { path }),
            Some(_) => Err(Error::ForeignLog { path, filter: self.image.path().into() }),
            None => Ok(()),
        }
    }

    fn held(&self) -> &FilterLock {
        self.lock.as_ref().expect("the lock is held while a state is changed")
    }

    /// Begins the log of the image, so that records can be appended: first the log, then the mark
    /// in the image, both on disk before there is a record. A crash in between leaves a log without
    /// records, which means nothing, whatever filter it belongs to.
    pub(super) fn begin_log(&mut self, memory: &mut dyn Memory) -> Result<(), Error> {
        // Whatever has been created there since: files of other programs are never replaced.
        let found = examine(&*self.disk, (&self.log_path, How::Read), self.image.header())?.0;
        if matches!(found, LogFound::Foreign { .. } | LogFound::NotALog) {
            self.blocked = Some(found);
        }
        self.check_free()?;
        if let Some(file) = self.image.open_to_rewrite(&*self.disk)? {
            let identity = self.identity.unwrap_or_else(|| self.new_identity());
            let log = self.create_log(identity)?;
            let identity = Identity { log_begun: true, ..identity };
            if let Err(error) = self.image.rewrite_identity(&*file, identity) {
                // The contents of the disk are unknown, and a second sync of this file would not
                // reveal them: another file has to replace it.
                self.must_save = true;
                return Err(error);
            }
            (self.log, self.identity) = (Some(log), Some(identity));
            return Ok(());
        }
        // The image is replaced by one that has the mark and everything noted so far.
        let identity = self.next_identity();
        let log = self.create_log(identity)?;
        self.replace_image(memory, Some(Identity { log_begun: true, ..identity }))?;
        self.log = Some(log);
        Ok(())
    }

    fn create_log(&self, identity: Identity) -> Result<Log, Error> {
        let header = self.image.header();
        let meaning =
            Meaning::of(header.digest_id(), header.digest_parameter(), header.key_options());
        let owner = Owner::Image { id: identity.id, epoch: identity.epoch };
        let looks = self.image.file().look().map_err(Error::io("look at", self.image.path()))?;
        let access = (header.digest_id() != 1, looks.permissions);
        Log::create(self.held(), &self.log_path, Header { meaning, owner }, access)
    }

    /// Saves the filter as the next image of its state, or of a new one if `named`; otherwise as a
    /// file that is not a state. Then the log is removed, since the image includes its records.
    pub(super) fn save(&mut self, memory: &mut dyn Memory, named: bool) -> Result<(), Error> {
        let named = named || self.identity.is_some() || self.log_of_version_1.is_some();
        let identity = named.then(|| self.next_identity());
        self.replace_image(memory, identity)?;
        self.log_of_version_1 = None;
        let is_in_image = if let Some(log) = self.log.take() {
            log.is_at_its_name(&*self.disk).unwrap_or(false)
        } else {
            // The log of an earlier image, or of version 1.
            let found = examine(&*self.disk, (&self.log_path, How::Read), self.image.header());
            matches!(found, Ok((LogFound::Stale | LogFound::Empty, _)))
        };
        if is_in_image {
            // If it stays, it is ignored, and removed by the next writer.
            let _ = self.disk.remove(&self.log_path);
        }
        Ok(())
    }

    /// Replaces the image by the filter in memory, synced.
    fn replace_image(
        &mut self,
        memory: &mut dyn Memory,
        identity: Option<Identity>,
    ) -> Result<(), Error> {
        let path = self.image.path().to_path_buf();
        let header = memory.header(&self.key_options);
        self.check_same_digests(&header)?;
        let header = header.with_identity(identity).map_err(Error::format(&path))?;
        let mut keeper = self.keeper.take();
        let segments = memory.segments();
        let saved = crate::save::save_image(self.held(), &header, &segments, true, keeper.as_mut());
        self.keeper = keeper;
        if let Err(error) = saved {
            // It may already be in place, though not durably. Then the log belongs to the image
            // that a power cut may bring back, and nothing more is appended to it.
            let there = Image::open(&*self.disk, &path);
            if there.is_ok_and(|there| there.header().identity() == identity) && identity.is_some()
            {
                (self.identity, self.log, self.must_save) = (identity, None, true);
            }
            return Err(error);
        }
        self.image = Image::open(&*self.disk, &path)?;
        self.identity = self.image.header().identity();
        self.pending.clear();
        (self.must_save, self.name) = (false, Name::Synced);
        self.contributed |= identity.is_some();
        Ok(())
    }

    /// Digests in the log must have the same meaning as those of the replacing filter.
    fn check_same_digests(&self, header: &native::Header) -> Result<(), Error> {
        let meaning = |header: &native::Header| {
            Meaning::of(header.digest_id(), header.digest_parameter(), header.key_options())
        };
        meaning(header).check_same(&meaning(self.image.header()), &self.log_path)
    }

    /// The identity of a new state. If it had a log of version 1, its id includes that log's id, so
    /// that the log is recognised if a crash leaves it behind.
    fn new_identity(&self) -> Identity {
        let random = self.disk.random();
        let id = match self.log_of_version_1 {
            Some(log_id) => u128::from(log_id) << 64 | u128::from(random as u64).max(1),
            None => random,
        };
        Identity { id, epoch: 1, log_begun: false }
    }

    fn next_identity(&self) -> Identity {
        match self.identity {
            Some(Identity { id, epoch, .. }) if epoch < LAST_EPOCH => {
                Identity { id, epoch: epoch + 1, log_begun: false }
            }
            _ => self.new_identity(),
        }
    }
}
