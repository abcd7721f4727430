//! Whether the log is still where it was written.
//!
//! A file that is removed or replaced while it is open goes on taking writes and syncs, and the
//! next start finds nothing of it. So twice a second it is looked whether the paths still lead to
//! the files that are open. If not, nothing is accepted any more, and a checkpoint saves all
//! filters into the folder anew, with a new log: then all that was acknowledged is there again.
//! Should the files come back, as after a folder was moved and moved back, nothing is lost and
//! writing goes on.

use super::disk::again;
use super::previous::Checkpoints;
use super::store::{KEY, LOG, MANIFEST, segment_path};
use super::trouble::Trouble;
use super::{Error, Log};
use crate::sync::Ordering;
use std::fmt;

/// What is not where it was.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Displaced {
    /// The data folder: removed, moved, or another one stands there.
    Folder,
    /// The segment that is written: removed, moved or replaced.
    Segment,
    /// The segment that is written has fewer bytes than were written.
    Shortened,
    /// A segment before it.
    Older(u64),
    /// A file of this name.
    File(&'static str),
}

impl fmt::Display for Displaced {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Folder => f.write_str("the data folder was removed, moved or replaced"),
            Self::Segment => f.write_str("this file was removed, moved or replaced"),
            Self::Shortened => f.write_str("this file was truncated"),
            Self::Older(number) => write!(f, "{LOG}/{number}.log was removed or moved"),
            Self::File(name) => write!(f, "{name} was removed or moved"),
        }
    }
}

impl Log {
    /// Whether something is not where it was, as far as that was noticed.
    pub(super) fn is_displaced(&self) -> bool {
        // ORDERING: Acquire, with the Release of `set_trouble`; what it is stands under the lock.
        self.displaced.load(Ordering::Acquire)
    }

    /// Looks whether all is where it was, and refuses or goes on accordingly.
    pub(super) fn look(&self) {
        let Some(what) = self.displacement() else { return self.be_back() };
        let mut inner = self.lock();
        match &inner.trouble {
            Some(Trouble::Sync { .. } | Trouble::Closed) => return,
            Some(Trouble::Displaced { what: before }) if *before == what => return,
            _ => self.set_trouble(&mut inner, Trouble::Displaced { what }),
        }
        let refused = self.refuse(&inner);
        drop(inner);
        log::error!("{}", refused.err().map_or_else(String::new, |refused| refused.0));
        self.request_checkpoint();
    }

    /// What is not where it was.
    fn displacement(&self) -> Option<Displaced> {
        let places = || {
            let inner = self.lock();
            (inner.first_segment, inner.segment)
        };
        let looked_at = places();
        let found = self.look_at(looked_at)?;
        // A checkpoint may have turned to another segment and dropped others meanwhile.
        (places() == looked_at).then_some(found)
    }

    fn look_at(&self, (first, segment): (u64, u64)) -> Option<Displaced> {
        let (file, end) = {
            let inner = self.lock();
            (inner.file.clone(), inner.end)
        };
        let store = &self.store;
        let path = &segment_path(segment);
        // What cannot be looked at, on a disk that fails, is not said to be gone.
        if matches!(store.disk.is_ours(), Ok(false)) {
            return Some(Displaced::Folder);
        }
        let is_other = matches!((store.disk.id(path), file.id()), (Ok(a), Ok(b)) if a != b);
        if is_other || !store.has(path) {
            return Some(Displaced::Segment);
        }
        if file.bytes().is_ok_and(|bytes| bytes < end) {
            return Some(Displaced::Shortened);
        }
        if let Some(older) = (first..segment).find(|&number| !store.has(&segment_path(number))) {
            return Some(Displaced::Older(older));
        }
        if store.lacks_key() {
            return Some(Displaced::File(KEY));
        }
        (!store.has(MANIFEST)).then_some(Displaced::File(MANIFEST))
    }

    /// All is where it was: goes on if it was not.
    fn be_back(&self) {
        if !self.is_displaced() {
            return;
        }
        let mut inner = self.lock();
        let end = inner.end;
        // A write that was refused meanwhile, or before, may have left a part of itself.
        if again(|| inner.file.set_len(end)).is_ok() {
            self.end_displaced(&mut inner);
            log::info!("the log is back in its place");
        }
        drop(inner);
        self.wake_waiting();
    }

    /// Before a checkpoint: makes a place for it, if there is none.
    ///
    /// # Errors
    ///
    /// [`Error::Displaced`] if what stands there is not ours to write into.
    pub(super) fn make_place(&self, checkpoints: &mut Checkpoints) -> Result<(), Error> {
        if !self.is_displaced() {
            return Ok(());
        }
        // Made before, and perhaps not where the log is now.
        checkpoints.next = None;
        let segment = segment_path(self.lock().segment);
        let ours = self.lock().file.id().ok();
        let is_known = ours.is_some_and(|ours| self.store.disk.id(&segment).ok() == Some(ours));
        self.store.reclaim(is_known)
    }
}
