//! Bringing the filter in memory up to date with changes by others.

use super::log_file::{Recovery, check_log};
use super::memory::Memory;
use super::options::Found;
use super::parts::Name;
use super::relation::{LogFound, OpenLog, examine};
use super::session::Session;
use crate::digests::Keeper;
use crate::disk::How;
use crate::log::{Log, Owner, Record, first, replay};
use crate::{Error, FilterLock, Image, Operation};
use mayhap::native::Identity;
use std::path::Path;
use std::sync::Arc;

impl Session {
    /// Adds the log of the image that was just loaded into memory.
    pub(super) fn follow(&mut self, memory: &mut dyn Memory) -> Result<Recovery, Error> {
        (self.log.open, self.log.blocked, self.log.of_version_1) = (None, None, None);
        self.at.identity = self.at.image.header().identity();
        let how = (self.log.path.as_path(), How::Change);
        let (found, log) = examine(&*self.disk, how, self.at.image.header())?;
        match found {
            LogFound::Foreign { .. } | LogFound::NotALog => self.log.blocked = Some(found),
            LogFound::Missing { .. } if self.options.without_log => {
                (self.at.identity, self.unsaved.must_save) = (None, true);
            }
            LogFound::Stale | LogFound::Empty => {
                // As long as a power cut can bring back the previous image, it is not stale.
                self.at.settle(&*self.disk)?;
                // If it stays, it is ignored.
                let _ = self.disk.remove(&self.log.path);
            }
            _ => check_log(found, self.at.image.path(), &self.log.path)?,
        }
        let Some(OpenLog { file, header }) = log else { return Ok(Recovery::default()) };
        let mut recovery = Recovery::default();
        let path = self.at.image.path();
        let keeper = &mut self.unsaved.keeper;
        let replayed = replay(&*file, &self.log.path, &header, first(&header), |record, _| {
            apply_to((&mut *memory, keeper.as_mut()), record, path, &mut recovery)
        })?;
        recovery.dropped_bytes = replayed.dropped_bytes;
        if let Owner::Unnamed { log_id, .. } = header.owner {
            (self.log.of_version_1, self.unsaved.must_save) = (Some(log_id), true);
        } else if self.at.identity.is_some_and(|identity| !identity.log_begun) {
            // A restored copy of the image that was made before its log was begun.
            self.unsaved.must_save = true;
        } else {
            let file = (file, self.log.path.as_path());
            self.log.open = Some(Log::open_at(&*self.disk, file, header, &replayed)?);
            return Ok(recovery);
        }
        // This log is removed once the filter is saved.
        if replayed.dropped_bytes > 0 {
            self.disk.report(replayed.torn(&self.log.path, false));
        }
        Ok(recovery)
    }

    /// Takes the lock if it is not held, and brings the filter in memory up to date with changes by
    /// others.
    ///
    /// # Errors
    ///
    /// Same as [`FilterLock::take`]; [`Error::Replaced`] if the filter has been replaced or
    /// removed; [`Error::LogLost`]; the errors of [`Session::open`]. Then the records of this
    /// session are lost with the old filter.
    pub fn ready(&mut self, memory: &mut dyn Memory) -> Result<Found, Error> {
        if self.turn.lock.is_some() {
            return Ok(Found::AsLeft);
        }
        if let Some(gave_way) = self.turn.gave_way.take() {
            gave_way.let_others_go_first();
        }
        let disk = Arc::clone(&self.disk);
        let lock = FilterLock::take_on(disk, self.at.image.path(), &mut self.options.lock)?;
        let found = self.catch_up(memory)?;
        (self.turn.lock, self.at.is_behind) = (Some(lock), false);
        Ok(found)
    }

    fn catch_up(&mut self, memory: &mut dyn Memory) -> Result<Found, Error> {
        let replaced = || Error::Replaced { path: self.at.image.path().into() };
        let image = match Image::open(&*self.disk, self.at.image.path()) {
            Ok(image) => image,
            Err(error) if error.is_not_found() => return Err(replaced()),
            Err(error) => return Err(error),
        };
        let (header, before) = (image.header(), self.at.image.header());
        let numbers = |identity: Identity| (identity.id, identity.epoch);
        let (ours, theirs) = (self.at.identity.map(numbers), header.identity().map(numbers));
        // Without a contribution, starting over from the current file loses nothing.
        let is_same = header.is_same_image(before)
            && (ours == theirs || ours.is_none() && !self.at.contributed);
        let is_next = match (ours, theirs) {
            (Some((id, epoch)), Some((their_id, their_epoch))) => {
                id == their_id && epoch < their_epoch
            }
            _ => false,
        };
        // From here on an error leaves memory in an undefined state.
        let is_behind = std::mem::replace(&mut self.at.is_behind, true);
        if is_same && !is_behind {
            self.at.image = image;
            return self.catch_up_log(memory);
        }
        let has_same_keys = (header.kind(), header.digest_id(), header.digest_parameter())
            == (before.kind(), before.digest_id(), before.digest_parameter())
            && header.key_options() == before.key_options();
        if !has_same_keys || self.at.contributed && !is_next && !is_same {
            return Err(replaced());
        }
        // The process that saved it has appended the digests of the log up to there.
        self.unsaved.keeper = Keeper::open(&self.disk, &image, self.options.keeps_digests)?;
        memory.load(&image)?;
        self.at.image = image;
        (self.unsaved.must_save, self.at.name) = (false, Name::MayBeLost);
        self.follow(memory)?;
        Ok(Found::Changed)
    }

    /// The image is the one in memory: adds the records appended to its log by others.
    fn catch_up_log(&mut self, memory: &mut dyn Memory) -> Result<Found, Error> {
        let mut recovery = Recovery::default();
        if let Some(log) = &mut self.log.open {
            if !log.is_at_its_name(&*self.disk)? {
                return Err(Error::LogLost { path: self.log.path.clone() });
            }
            let (path, keeper) = (self.at.image.path(), &mut self.unsaved.keeper);
            log.catch_up(&*self.disk, |record, _| {
                apply_to((&mut *memory, keeper.as_mut()), record, path, &mut recovery)
            })?;
        } else {
            recovery = self.follow(memory)?;
        }
        Ok(if recovery.replayed_digests > 0 { Found::Changed } else { Found::AsLeft })
    }
}

/// Applies a record and counts it.
fn apply_to(
    (memory, keeper): (&mut dyn Memory, Option<&mut Keeper>),
    record: &Record<'_>,
    path: &Path,
    recovery: &mut Recovery,
) -> Result<(), Error> {
    if let (Some(keeper), Operation::Insert) = (keeper, record.operation) {
        keeper.note(record.digests.iter().copied());
        keeper.spill()?;
    }
    recovery.new_items += memory.apply(record).map_err(Error::format(path))?;
    if record.operation != Operation::Pass {
        recovery.replayed_digests += record.digests.len() as u64;
    }
    Ok(())
}
