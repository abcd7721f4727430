//! Checks that the log is still where it was written.
//!
//! A file that is removed or replaced while it is open still takes writes and syncs, but the next
//! start finds none of them. So twice a second the log checks that each path still refers to the
//! open file. If not, nothing is accepted and nothing is written any more. Once the files are back,
//! as after a folder was moved and moved back, nothing is lost and writing continues.

use super::journal::Journal;
use super::store::segment_path;
use super::tail::Current;
use super::trouble::Displaced;
use super::{Error, Store};
use std::sync::Arc;

/// Watches the files of a log.
#[derive(Debug)]
pub(super) struct Watcher {
    store: Store,
    journal: Arc<Journal>,
    /// Files at the top of the folder without which the next start would fail.
    needed: Vec<&'static str>,
}

impl Watcher {
    pub(super) fn new(store: &Store, journal: &Arc<Journal>, needed: Vec<&'static str>) -> Self {
        Self { store: store.clone(), journal: journal.clone(), needed }
    }

    /// Checks that all files are where they were, and refuses or resumes writes accordingly.
    pub(super) fn look(&self) {
        let looked_at = self.journal.segments();
        let found = self.displaced(&looked_at);
        let (first, current) = self.journal.segments();
        if (first, current.number) != (looked_at.0, looked_at.1.number) {
            // A checkpoint has switched to another segment and dropped others meanwhile.
            return;
        }
        match found {
            Some(what) => {
                if let Some(refused) = self.journal.displace(what) {
                    log::error!("{refused}");
                }
            }
            None if self.journal.be_back() => log::info!("the log is back in its place"),
            None => {}
        }
    }

    /// Before something is written into the folder, or read from it.
    ///
    /// # Errors
    ///
    /// [`Error::Refused`] if files are not where they were, or another folder has taken the place.
    pub(super) fn check(&self) -> Result<(), Error> {
        if matches!(self.store.disk.is_ours(), Ok(false)) {
            self.look();
        }
        self.journal.check_displaced().map_err(Error::Refused)
    }

    /// The first file that is not where it was.
    fn displaced(&self, (first, current): &(u64, Current)) -> Option<Displaced> {
        let (store, Current { number, file, end }) = (&self.store, current);
        let path = &segment_path(*number);
        // A file that cannot be checked, on a failing disk, is not reported as gone.
        if matches!(store.disk.is_ours(), Ok(false)) {
            return Some(Displaced::Folder);
        }
        let is_other = matches!((store.disk.id(path), file.id()), (Ok(a), Ok(b)) if a != b);
        if is_other || !store.has(path) {
            return Some(Displaced::Segment);
        }
        if file.bytes().is_ok_and(|bytes| bytes < *end) {
            return Some(Displaced::Shortened);
        }
        if let Some(older) = (*first..*number).find(|&number| !store.has(&segment_path(number))) {
            return Some(Displaced::Older(older));
        }
        self.needed.iter().copied().find(|path| !store.has(path)).map(Displaced::File)
    }
}
