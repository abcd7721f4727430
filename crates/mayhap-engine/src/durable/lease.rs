//! Leases: files that are copied one by one over a connection stay until they are copied.
//!
//! Checkpoints continue meanwhile, and leave the files that a lease keeps to the first removal
//! after it: a manifest, the lists and images that it names, and the log from its first segment on.
//! That takes space on the disk, so a lease ends when it is not used for a minute.

use super::disk::{DiskFile, read_up_to};
use super::journal::Journal;
use super::manifest::Manifest;
use super::options::Clock;
use super::store::{FILTERS, IMAGES, KEY, LOG, MANIFEST, number_in, segment_path};
use super::tail::Current;
use super::{Error, Store};
use crate::sync::{Mutex, MutexGuard, unpoisoned};
use std::sync::Arc;

/// Milliseconds after which an unused lease ends.
const PATIENCE_MS: u64 = 60_000;
/// Leases at a time: each one keeps a whole copy.
const MOST: usize = 16;

/// The files that are kept. Numbers are never given twice, so these two cover all files of that
/// time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Kept {
    /// Lists and images below this number.
    images_below: u64,
    /// Segments up to this one.
    last_segment: u64,
}

impl Kept {
    /// Whether this file may be one of them.
    pub(super) fn has(&self, path: &str) -> bool {
        match path.split_once('/') {
            Some((FILTERS, name)) => IMAGES
                .iter()
                .find_map(|(suffix, _)| number_in(name, suffix))
                .is_some_and(|number| number < self.images_below),
            Some((LOG, name)) => {
                number_in(name, ".log").is_some_and(|number| number <= self.last_segment)
            }
            _ => false,
        }
    }
}

/// The leases of a log.
#[derive(Debug)]
pub(super) struct Leases {
    clock: Clock,
    held: Mutex<AllHeld>,
}

#[derive(Debug, Default)]
struct AllHeld {
    next_id: u64,
    all: Vec<Held>,
    /// Whether some files only exist because of leases.
    kept_back: bool,
}

#[derive(Debug)]
struct Held {
    id: u64,
    /// When it ends unless it is used before.
    until: u64,
    kept: Kept,
}

impl Leases {
    /// None yet.
    pub(super) fn new(clock: Clock) -> Self {
        Self { clock, held: Mutex::new(AllHeld::default()) }
    }

    /// The leases that have not ended, and until when one lasts that is used now.
    fn held(&self) -> (MutexGuard<'_, AllHeld>, u64) {
        let (mut held, now) = (unpoisoned(self.held.lock()), self.clock.now());
        held.all.retain(|held| held.until > now);
        (held, now.saturating_add(PATIENCE_MS))
    }

    /// The files that are kept now, if any are.
    pub(super) fn kept(&self) -> Option<Kept> {
        self.held().0.all.iter().map(|held| held.kept).reduce(|one, other| Kept {
            images_below: one.images_below.max(other.images_below),
            last_segment: one.last_segment.max(other.last_segment),
        })
    }

    /// Whether some files only exist because of leases.
    pub(super) fn set_kept_back(&self, kept_back: bool) {
        self.held().0.kept_back = kept_back;
    }

    /// Whether files that were kept can be removed now.
    pub(super) fn has_released(&self) -> bool {
        let (held, _) = self.held();
        held.kept_back && held.all.is_empty()
    }

    fn begin(&self, kept: Kept) -> Option<u64> {
        let (mut held, until) = self.held();
        if held.all.len() == MOST {
            return None;
        }
        held.next_id += 1;
        let id = held.next_id;
        held.all.push(Held { id, until, kept });
        Some(id)
    }

    /// Extends a lease; returns whether it still existed.
    fn renew(&self, id: u64) -> bool {
        let (mut held, until) = self.held();
        held.all.iter_mut().find(|held| held.id == id).map(|held| held.until = until).is_some()
    }

    fn end(&self, id: u64) {
        self.held().0.all.retain(|held| held.id != id);
    }
}

/// The files of a data folder that together form a backup, kept until this is dropped or unused
/// for a minute. They have every change that was acknowledged before
/// [`Log::lease`](super::Log::lease).
#[derive(Debug)]
pub struct Lease {
    store: Store,
    leases: Arc<Leases>,
    journal: Arc<Journal>,
    id: u64,
    kept: Kept,
    /// The manifest file at that time.
    manifest: Arc<dyn DiskFile>,
    segments: Vec<(u64, u64)>,
}

/// Why a lease was refused, or nothing can be read with it.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum LeaseError {
    /// This many copies are being made already.
    #[error("{0} backups are being copied, which is the limit; try again later")]
    TooMany(usize),
    /// It was not used for this many milliseconds.
    #[error("the backup is over: nothing was read for {} seconds; begin again", .0 / 1000)]
    Over(u64),
    /// The file is not one of the kept files.
    #[error("the backup has no such file")]
    NotKept,
    /// The folder is not in order.
    #[error("{0}")]
    Folder(#[from] Error),
}

impl Lease {
    /// Keeps the files of this manifest and its log. No segment is begun and no file is removed
    /// meanwhile.
    pub(super) fn begin(
        store: &Store,
        leases: &Arc<Leases>,
        journal: &Arc<Journal>,
        of: &Manifest,
    ) -> Result<Self, LeaseError> {
        // Every acknowledged change is before the end of the last record.
        let Current { number: last_segment, end, .. } = journal.segments().1;
        let manifest = store.open(MANIFEST)?;
        let mut segments = Vec::new();
        for number in of.first_segment..last_segment {
            let path = segment_path(number);
            let bytes = store.open(&path)?.bytes();
            segments.push((number, bytes.map_err(store.error("look at", &path))?));
        }
        segments.push((last_segment, end));
        let kept = Kept { images_below: of.next_image, last_segment };
        let id = leases.begin(kept).ok_or(LeaseError::TooMany(MOST))?;
        let (store, leases, journal) = (store.clone(), leases.clone(), journal.clone());
        Ok(Self { store, leases, journal, id, kept, manifest, segments })
    }

    /// The segments of the log: the number of each, and how many of its bytes belong to the
    /// backup.
    pub fn segments(&self) -> &[(u64, u64)] {
        &self.segments
    }

    /// Reads up to `most` bytes of a file of the folder: fewer only at its end, `None` if there is
    /// no such file.
    ///
    /// # Errors
    ///
    /// [`LeaseError`].
    pub fn read(
        &self,
        path: &str,
        offset: u64,
        most: usize,
    ) -> Result<Option<Vec<u8>>, LeaseError> {
        let store = &self.store;
        if !self.leases.renew(self.id) {
            return Err(LeaseError::Over(PATIENCE_MS));
        }
        let segment = self.segments.iter().find(|(number, _)| segment_path(*number) == path);
        if path != MANIFEST && path != KEY && segment.is_none() && !self.kept.has(path) {
            return Err(LeaseError::NotKept);
        }
        let there = match path {
            MANIFEST => Some(self.manifest.clone()),
            _ => store.open_if_there(path)?,
        };
        let Some(file) = there else { return Ok(None) };
        let bytes = file.bytes().map_err(store.error("look at", path))?;
        let end = segment.map_or(bytes, |&(_, end)| bytes.min(end));
        let left = usize::try_from(end.saturating_sub(offset)).unwrap_or(usize::MAX);
        let mut buffer = vec![0; left.min(most)];
        let found = read_up_to(&*file, &mut buffer, offset);
        buffer.truncate(found.map_err(store.error("read", path))?);
        Ok(Some(buffer))
    }
}

impl Drop for Lease {
    fn drop(&mut self) {
        self.leases.end(self.id);
        // Its files are removed by the checkpoint thread, now or within a second.
        self.journal.wake_checkpoints();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::atomic::{AtomicU64, Ordering};

    #[test]
    fn files_of_its_time_are_kept_until_a_lease_is_unused_for_a_minute() {
        let time = Arc::new(AtomicU64::new(0));
        let now = time.clone();
        let leases = Leases::new(Clock::of(move || now.load(Ordering::Relaxed)));
        let id = leases.begin(Kept { images_below: 7, last_segment: 3 }).unwrap();
        let has = |path| leases.kept().is_some_and(|kept| kept.has(path));
        assert!(["filters/6.pack", "filters/1.list", "log/3.log"].into_iter().all(has));
        assert!(!["filters/7.mayhap", "filters/06.pack", "log/4.log", "key"].into_iter().any(has));
        leases.set_kept_back(true);
        time.store(PATIENCE_MS - 1, Ordering::Relaxed);
        assert!(leases.renew(id) && !leases.has_released());
        time.store(2 * PATIENCE_MS - 2, Ordering::Relaxed);
        assert!(has("log/3.log"));
        time.store(2 * PATIENCE_MS - 1, Ordering::Relaxed);
        assert!(leases.has_released() && !leases.renew(id) && !has("log/3.log"));
    }
}
