//! Leases: what is copied file by file over a connection stays until it is copied.
//!
//! Checkpoints go on meanwhile, and leave what a lease keeps to the first removal after it: a
//! manifest, the lists and images that it names, and the log from its first segment on. That takes
//! room on the disk, so a lease that nobody uses for a minute is over.

use super::disk::{DiskFile, read_up_to};
use super::store::{FILTERS, KEY, LOG, MANIFEST, number_in, segment_path};
use super::{Error, Log};
use std::fmt;
use std::io;
use std::sync::{Arc, PoisonError};

/// Milliseconds after which a lease ends that is not used.
const PATIENCE_MS: u64 = 60_000;
/// Leases at a time: each of them is a whole copy.
const MOST: usize = 16;

/// Which files are kept. Numbers are never given twice, so these two say it for all that there
/// was.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Kept {
    /// Lists and images below this number.
    images_below: u64,
    /// Segments up to this one.
    last_segment: u64,
}

impl Kept {
    /// Whether a file may be one of them.
    pub(super) fn has(&self, path: &str) -> bool {
        let number =
            |name, suffixes: &[&str]| suffixes.iter().find_map(|suffix| number_in(name, suffix));
        match path.split_once('/') {
            Some((FILTERS, name)) => number(name, &[".list", ".mayhap", ".pack"])
                .is_some_and(|number| number < self.images_below),
            Some((LOG, name)) => {
                number(name, &[".log"]).is_some_and(|number| number <= self.last_segment)
            }
            _ => false,
        }
    }
}

/// The leases of a log.
#[derive(Debug, Default)]
pub(super) struct Leases {
    next_id: u64,
    all: Vec<Held>,
    /// Some files are there for them alone.
    pub(super) kept_back: bool,
}

#[derive(Debug)]
struct Held {
    id: u64,
    /// When it ends if it is not used until then.
    until: u64,
    kept: Kept,
}

impl Leases {
    /// Which files are kept now, if any are.
    pub(super) fn kept(&mut self, now: u64) -> Option<Kept> {
        self.all.retain(|held| held.until > now);
        self.all.iter().map(|held| held.kept).reduce(|one, other| Kept {
            images_below: one.images_below.max(other.images_below),
            last_segment: one.last_segment.max(other.last_segment),
        })
    }

    /// Whether files can be removed that were kept.
    fn has_released(&mut self, now: u64) -> bool {
        self.kept_back && self.kept(now).is_none()
    }

    fn begin(&mut self, kept: Kept, now: u64) -> Option<u64> {
        self.kept(now);
        if self.all.len() == MOST {
            return None;
        }
        self.next_id += 1;
        self.all.push(Held { id: self.next_id, until: now.saturating_add(PATIENCE_MS), kept });
        Some(self.next_id)
    }

    /// Whether it has not ended.
    fn renew(&mut self, id: u64, now: u64) -> bool {
        self.kept(now);
        let held = self.all.iter_mut().find(|held| held.id == id);
        held.map(|held| held.until = now.saturating_add(PATIENCE_MS)).is_some()
    }

    fn end(&mut self, id: u64) {
        self.all.retain(|held| held.id != id);
    }
}

/// The files of a data folder that together are a backup, kept until this is dropped or not used
/// for a minute. All that was acknowledged before [`Log::lease`] is in them.
#[derive(Debug)]
pub struct Lease {
    log: Arc<Log>,
    id: u64,
    kept: Kept,
    /// The file that was the manifest then.
    manifest: Arc<dyn DiskFile>,
    segments: Vec<(u64, u64)>,
}

/// Why there is no lease, or nothing can be read by it.
#[derive(Debug)]
#[non_exhaustive]
pub enum LeaseError {
    /// So many copies are made already.
    TooMany(usize),
    /// It was not used for so many milliseconds.
    Over(u64),
    /// The file is none of those that are kept.
    NotKept,
    /// The folder is not what it has to be.
    Folder(Error),
}

impl fmt::Display for LeaseError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::TooMany(most) => {
                write!(f, "{most} backups are being copied, which is the limit; try again later")
            }
            Self::Over(ms) => write!(
                f,
                "the backup is over: nothing was read for {} seconds; begin again",
                ms / 1000
            ),
            Self::NotKept => f.write_str("the backup has no such file"),
            Self::Folder(error) => error.fmt(f),
        }
    }
}

impl std::error::Error for LeaseError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            Self::Folder(error) => Some(error),
            _ => None,
        }
    }
}

impl Log {
    /// Keeps the files that a backup needs, for somebody who copies them one after the other.
    /// Waits for the checkpoint that is being made.
    ///
    /// # Errors
    ///
    /// [`LeaseError::TooMany`]; [`LeaseError::Folder`] if the folder was removed or moved, or
    /// cannot be read.
    pub fn lease(self: &Arc<Self>) -> Result<Lease, LeaseError> {
        // No segment is begun and no file is removed meanwhile.
        let checkpoints = self.checkpoints.lock().unwrap_or_else(PoisonError::into_inner);
        // What was acknowledged is before the end of the last record.
        let (last, end) = {
            let inner = self.lock();
            if self.is_displaced() {
                self.refuse(&inner).map_err(Error::Refused)?;
            }
            (inner.segment, inner.end)
        };
        let manifest = self.store.open(MANIFEST)?;
        let mut segments = Vec::new();
        for number in checkpoints.manifest.first_segment..last {
            let path = segment_path(number);
            let bytes = self.store.open(&path)?.bytes();
            segments.push((number, bytes.map_err(self.store.error("look at", &path))?));
        }
        segments.push((last, end));
        let kept = Kept { images_below: checkpoints.manifest.next_image, last_segment: last };
        let id = self.leases().begin(kept, self.options.clock.now());
        let id = id.ok_or(LeaseError::TooMany(MOST))?;
        Ok(Lease { log: self.clone(), id, kept, manifest, segments })
    }

    pub(super) fn leases(&self) -> crate::sync::MutexGuard<'_, Leases> {
        self.leases.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Removes what leases kept that are over.
    pub(super) fn remove_released(&self) {
        let has_released = self.leases().has_released(self.options.clock.now());
        if has_released {
            let checkpoints = self.checkpoints.lock();
            self.remove_garbage(&mut checkpoints.unwrap_or_else(PoisonError::into_inner));
        }
    }
}

impl Lease {
    /// The segments of the log: the number of each, and how many of its bytes belong to the
    /// backup.
    pub fn segments(&self) -> &[(u64, u64)] {
        &self.segments
    }

    /// Reads up to `most` bytes of a file of the folder: fewer at its end alone, `None` if there
    /// is no such file.
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
        let log = &*self.log;
        if !log.leases().renew(self.id, log.options.clock.now()) {
            return Err(LeaseError::Over(PATIENCE_MS));
        }
        let segment = self.segments.iter().find(|(number, _)| segment_path(*number) == path);
        if path != MANIFEST && path != KEY && segment.is_none() && !self.kept.has(path) {
            return Err(LeaseError::NotKept);
        }
        let file = if path == MANIFEST {
            self.manifest.clone()
        } else {
            match log.store.disk.open(path) {
                Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
                opened => opened.map_err(log.store.error("open", path))?,
            }
        };
        let bytes = file.bytes().map_err(log.store.error("look at", path))?;
        let end = segment.map_or(bytes, |&(_, end)| bytes.min(end));
        let left = usize::try_from(end.saturating_sub(offset)).unwrap_or(usize::MAX);
        let mut buffer = vec![0; left.min(most)];
        let found = read_up_to(&*file, &mut buffer, offset);
        buffer.truncate(found.map_err(log.store.error("read", path))?);
        Ok(Some(buffer))
    }
}

impl From<Error> for LeaseError {
    fn from(error: Error) -> Self {
        Self::Folder(error)
    }
}

impl Drop for Lease {
    fn drop(&mut self) {
        self.log.leases().end(self.id);
        // What it kept is removed by the thread that makes checkpoints, now or within a second.
        self.log.requested.notify_all();
    }
}
