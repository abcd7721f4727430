//! A filter of another system that is added to in turns with others. It has no log, so that it is
//! saved as a whole before others may have it.

use crate::error::Error;
use crate::set::foreign::Opener;
use crate::set::session::Waiting;
use mayhap_foreign::ForeignFile;
use mayhap_lists::Pause;
use mayhap_store::FilterLock;
use std::time::{Duration, Instant};

/// No lock is held for longer while others wait, and the file is saved no more often on the way.
const TURN: Duration = Duration::from_secs(1);
/// Saving takes at most this share of the time.
const SAVE_SHARE: u32 = 4;
/// Between two looks whether others wait.
const BETWEEN_LOOKS: Duration = Duration::from_millis(50);
/// Input that does not come for so long pauses.
const PAUSE: Duration = Duration::from_millis(20);

/// The lock of the file, and when it was last given up and saved.
pub(super) struct Turns<'a> {
    waiting: Waiting,
    opener: Opener<'a>,
    /// The input is a stream, which may pause for long.
    streams: bool,
    lock: Option<FilterLock>,
    is_dirty: bool,
    locked: Instant,
    looked: Instant,
    saved: Instant,
    save_took: Duration,
}

impl<'a> Turns<'a> {
    /// Without a turn so far.
    pub(super) fn new(waiting: Waiting, opener: Opener<'a>, streams: bool) -> Self {
        let now = Instant::now();
        Self {
            waiting,
            opener,
            streams,
            lock: None,
            is_dirty: false,
            locked: now,
            looked: now,
            saved: now,
            save_took: Duration::ZERO,
        }
    }

    /// Takes the lock unless it is held, and reads the file again if others have changed it;
    /// whether they have.
    ///
    /// # Errors
    ///
    /// Those of [`Waiting::lock`] and [`Opener::open`]; [`Error::Usage`] if it is of another system
    /// by now.
    pub(super) fn begin(&mut self, file: &mut ForeignFile) -> Result<bool, Error> {
        if self.lock.is_some() {
            return Ok(false);
        }
        let lock = self.waiting.lock(file.path())?;
        (self.locked, self.looked) = (Instant::now(), Instant::now());
        let is_changed = !file.is_unchanged();
        if is_changed {
            let format = file.filter().format();
            let again = self.opener.open(file.named_path())?;
            let same = again.filter(|again| again.filter().format() == format);
            *file = same.ok_or_else(|| replaced(file.name()))?;
        }
        self.lock = Some(lock);
        Ok(is_changed)
    }

    /// That the filter was changed in memory.
    pub(super) fn changed(&mut self) {
        self.is_dirty = true;
    }

    /// Lets others have the file if they have waited for long enough; to be called after each
    /// batch.
    ///
    /// # Errors
    ///
    /// Those of [`ForeignFile::save_back`].
    pub(super) fn after_batch(&mut self, file: &mut ForeignFile) -> Result<(), Error> {
        if self.looked.elapsed() < BETWEEN_LOOKS {
            return Ok(());
        }
        self.looked = Instant::now();
        let is_wanted = self.lock.as_ref().is_some_and(FilterLock::is_wanted);
        if is_wanted && self.locked.elapsed() >= TURN { self.end(file) } else { Ok(()) }
    }

    /// Lets others have the file while the input pauses.
    ///
    /// # Errors
    ///
    /// Those of [`ForeignFile::save_back`].
    pub(super) fn in_pause(
        &mut self,
        file: &mut ForeignFile,
        paused: Duration,
    ) -> Result<Pause, Error> {
        let Some(lock) = &self.lock else { return Ok(Pause::Wait) };
        let is_over = self.streams || lock.is_wanted();
        let may_save = self.saved.elapsed() >= TURN.max(self.save_took * SAVE_SHARE);
        if paused < PAUSE || !is_over || self.is_dirty && !may_save {
            return Ok(Pause::CallAgain);
        }
        self.end(file)?;
        Ok(Pause::Wait)
    }

    /// Saves the file if there is anything to save, and gives the lock up.
    ///
    /// # Errors
    ///
    /// Those of [`ForeignFile::save_back`]; the lock is held then.
    pub(super) fn end(&mut self, file: &mut ForeignFile) -> Result<(), Error> {
        let Some(lock) = &self.lock else { return Ok(()) };
        if self.is_dirty {
            let begun = Instant::now();
            file.save_back(lock)?;
            (self.is_dirty, self.saved) = (false, Instant::now());
            self.save_took = begun.elapsed();
        }
        self.lock = None;
        Ok(())
    }
}

fn replaced(name: &str) -> Error {
    Error::usage(
        format!("{name} was replaced by a file of another system while keys were being added"),
        "the keys added so far were in the file that is gone; add them again",
    )
}
