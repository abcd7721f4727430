//! A file without a log, as those of other systems are: it is saved as a whole before others may
//! have it.

use super::waiting::{Waiting, not_of_a_file};
use super::writer::TURN;
use crate::error::Error;
use mayhap_sets::{Contents, KeySet, WholeFile};
use mayhap_store::FilterLock;
use std::time::{Duration, Instant};

/// Saving takes at most this share of the time.
const SAVE_SHARE: u32 = 4;

/// The lock of the file, and when it was saved last. While the lock is held there is something to
/// save.
#[derive(Debug)]
pub(super) struct Whole {
    /// The lock, and since when it is held.
    lock: Option<(FilterLock, Instant)>,
    saved: Instant,
    save_took: Duration,
}

impl Whole {
    /// Without a turn so far.
    pub(super) fn new() -> Self {
        Self { lock: None, saved: Instant::now(), save_took: Duration::ZERO }
    }

    pub(super) fn is_held(&self) -> bool {
        self.lock.is_some()
    }

    pub(super) fn is_wanted_after(&self, held: Duration) -> bool {
        self.lock.as_ref().is_some_and(|(lock, since)| since.elapsed() >= held && lock.is_wanted())
    }

    /// Whether a pause is a time to save it again.
    pub(super) fn may_save(&self) -> bool {
        self.saved.elapsed() >= TURN.max(self.save_took * SAVE_SHARE)
    }

    /// Takes the lock unless it is held, and reads the file again if others have changed it;
    /// whether they have.
    ///
    /// # Errors
    ///
    /// Those of [`Waiting::lock`] and [`mayhap_sets::WholeFile::reload`].
    pub(super) fn ready(&mut self, set: &mut dyn KeySet, waiting: &Waiting) -> Result<bool, Error> {
        if self.lock.is_some() {
            return Ok(false);
        }
        let file = whole_file(set)?;
        let lock = waiting.lock(file.path())?;
        let is_changed = file.reload()?;
        self.lock = Some((lock, Instant::now()));
        Ok(is_changed)
    }

    /// Saves the file if the lock is held, and gives that up.
    ///
    /// # Errors
    ///
    /// Those of [`mayhap_sets::WholeFile::save`]; the lock is held then.
    pub(super) fn release(&mut self, set: &mut dyn KeySet) -> Result<(), Error> {
        let Some((lock, _)) = &self.lock else { return Ok(()) };
        let begun = Instant::now();
        whole_file(set)?.save(lock, true)?;
        (self.lock, self.saved, self.save_took) = (None, Instant::now(), begun.elapsed());
        Ok(())
    }
}

fn whole_file(set: &mut dyn KeySet) -> Result<&mut dyn WholeFile, Error> {
    match set.contents() {
        Some(Contents::Whole(file)) => Ok(file),
        _ => Err(not_of_a_file()),
    }
}
