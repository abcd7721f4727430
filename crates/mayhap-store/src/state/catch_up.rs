//! Bringing the filter in memory up to date with changes by others.

use super::log_file::{Recovery, check_log};
use super::memory::Memory;
use super::options::Found;
use super::relation::{LogFound, OpenLog, examine};
use super::session::{Name, Session};
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
        (self.log, self.blocked, self.log_of_version_1) = (None, None, None);
        self.identity = self.image.header().identity();
        let how = (self.log_path.as_path(), How::Change);
        let (found, log) = examine(&*self.disk, how, self.image.header())?;
        match found {
            LogFound::Foreign { .. } | LogFound::NotALog => self.blocked = Some(found),
            LogFound::Missing { .. } if self.options.without_log => {
                (self.identity, self.must_save) = (None, true);
            }
            LogFound::Stale | LogFound::Empty => {
                // As long as a power cut can bring back the previous image, it is not stale.
                self.settle()?;
                // If it stays, it is ignored.
                let _ = self.disk.remove(&self.log_path);
            }
            _ => check_log(found, self.image.path(), &self.log_path)?,
        }
        let Some(OpenLog { file, header }) = log else { return Ok(Recovery::default()) };
        let mut recovery = Recovery::default();
        let path = self.image.path();
        let keeper = &mut self.keeper;
        let replayed = replay(&*file, &self.log_path, &header, first(&header), |record, _| {
            apply_to((&mut *memory, keeper.as_mut()), record, path, &mut recovery)
        })?;
        recovery.dropped_bytes = replayed.dropped_bytes;
        if let Owner::Unnamed { log_id, .. } = header.owner {
            (self.log_of_version_1, self.must_save) = (Some(log_id), true);
        } else if self.identity.is_some_and(|identity| !identity.log_begun) {
            // A copy of the image, put back, that was made before its log was begun.
            self.must_save = true;
        } else {
            let file = (file, self.log_path.as_path());
            self.log = Some(Log::open_at(&*self.disk, file, header, &replayed)?);
            return Ok(recovery);
        }
        // This log is removed once the filter is saved.
        if replayed.dropped_bytes > 0 {
            self.disk.report(replayed.torn(&self.log_path, false));
        }
        Ok(recovery)
    }

    /// Takes the lock if it is not held, and brings the filter in memory up to date with changes by
    /// others.
    ///
    /// # Errors
    ///
    /// As [`FilterLock::take`]; [`Error::Replaced`] if the filter has been replaced or removed;
    /// [`Error::LogLost`]; as [`Session::open`]. Then the records of this session are gone with the
    /// old filter.
    pub fn ready(&mut self, memory: &mut dyn Memory) -> Result<Found, Error> {
        if self.lock.is_some() {
            return Ok(Found::AsLeft);
        }
        if let Some(gave_way) = self.gave_way.take() {
            gave_way.let_others_go_first();
        }
        let disk = Arc::clone(&self.disk);
        let lock = FilterLock::take_on(disk, self.image.path(), &mut self.options.lock)?;
        let found = self.catch_up(memory)?;
        (self.lock, self.is_behind) = (Some(lock), false);
        Ok(found)
    }

    fn catch_up(&mut self, memory: &mut dyn Memory) -> Result<Found, Error> {
        let replaced = || Error::Replaced { path: self.image.path().into() };
        let image = match Image::open(&*self.disk, self.image.path()) {
            Ok(image) => image,
            Err(error) if error.is_not_found() => return Err(replaced()),
            Err(error) => return Err(error),
        };
        let (header, before) = (image.header(), self.image.header());
        let numbers = |identity: Identity| (identity.id, identity.epoch);
        let (ours, theirs) = (self.identity.map(numbers), header.identity().map(numbers));
        // Without a contribution, starting over from the current file loses nothing.
        let is_same =
            header.is_same_image(before) && (ours == theirs || ours.is_none() && !self.contributed);
        let is_next = match (ours, theirs) {
            (Some((id, epoch)), Some((their_id, their_epoch))) => {
                id == their_id && epoch < their_epoch
            }
            _ => false,
        };
        // From here on an error leaves memory in an undefined state.
        let is_behind = std::mem::replace(&mut self.is_behind, true);
        if is_same && !is_behind {
            self.image = image;
            return self.catch_up_log(memory);
        }
        let has_same_keys = (header.kind(), header.digest_id(), header.digest_parameter())
            == (before.kind(), before.digest_id(), before.digest_parameter())
            && header.key_options() == before.key_options();
        if !has_same_keys || self.contributed && !is_next && !is_same {
            return Err(replaced());
        }
        // Whoever saved it has appended the digests of the log up to there.
        self.keeper = Keeper::open(&self.disk, &image, self.options.keeps_digests)?;
        memory.load(&image)?;
        self.image = image;
        (self.must_save, self.name) = (false, Name::MayBeLost);
        self.follow(memory)?;
        Ok(Found::Changed)
    }

    /// The image is the one in memory: adds the records appended to its log by others.
    fn catch_up_log(&mut self, memory: &mut dyn Memory) -> Result<Found, Error> {
        let mut recovery = Recovery::default();
        if let Some(log) = &mut self.log {
            if !log.is_at_its_name(&*self.disk)? {
                return Err(Error::LogLost { path: self.log_path.clone() });
            }
            let (path, keeper) = (self.image.path(), &mut self.keeper);
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
