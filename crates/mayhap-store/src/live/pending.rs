//! Asking a live filter that another process may have open: its log is read, not locked.

use super::insert::Insert;
use super::state::{Inserter, wanted};
use super::{Recovery, log_path};
use crate::file::resolve_links;
use crate::load::{Loaded, load_as};
use crate::log::{self, Replay, replay};
use crate::{Error, LogRecovery};
use mayhap::native;
use mayhap::{AnyFilter, Bitmap, Digest, DigestFunction, SecretKey};
use std::path::{Path, PathBuf};

/// Bytes of records in the log of the filter at `path`: 0 if it is complete without its log.
///
/// Above 0, [`load()`](crate::load()) and [`open_mapped`](crate::open_mapped()) would show a filter
/// that lacks what was recorded since the last checkpoint; [`load_live`] has it.
///
/// # Errors
///
/// [`Error::Io`].
pub fn pending_log_bytes(path: &Path) -> Result<u64, Error> {
    let log_path = log_path(&resolve_links(path)?)?;
    match log::open_for_reading(&log_path)? {
        Some((_, records_bytes)) => Ok(records_bytes),
        None => Ok(0),
    }
}

/// Loads the filter at `path` with what its log adds, without locking or changing either: for
/// asking a live filter, in use or after a crash. Without a log it is [`load()`](crate::load()).
///
/// # Errors
///
/// As [`crate::LiveFilter::open`], but for the lock.
pub fn load_live(path: &Path, secret_key: Option<SecretKey>) -> Result<(Loaded, Recovery), Error> {
    load_live_as::<AnyFilter>(path, secret_key, |_| {})
}

/// [`load_live`] of a filter of any kind; `prepare` as for [`crate::LiveFilter::open_as`].
///
/// # Errors
///
/// As [`load_live`], and as [`load_as`].
pub fn load_live_as<F: Insert>(
    path: &Path,
    secret_key: Option<SecretKey>,
    prepare: impl FnOnce(&mut F),
) -> Result<(Loaded<F>, Recovery), Error> {
    let pending = PendingLog::read(path)?;
    let mut loaded = load_as::<F>(path, secret_key)?;
    let Some(pending) = pending else { return Ok((loaded, Recovery::default())) };
    prepare(&mut loaded.filter);
    let (function, mut new) = (*loaded.filter.digest_function(), Bitmap::new());
    let recovery = pending.replay(&loaded.header, &function, |digests| {
        loaded.filter.insert_digests_into(digests, &mut new)?;
        Ok(new.count_ones() as u64)
    })?;
    Ok((loaded, recovery))
}

/// What a log holds that its filter's file may lack.
///
/// Read it before the filter is loaded: if a checkpoint is made in between, what left the log is in
/// that.
#[derive(Debug)]
pub struct PendingLog {
    path: PathBuf,
    log_path: PathBuf,
    header: log::Header,
    digests: Vec<Digest>,
    dropped_bytes: u64,
}

impl PendingLog {
    /// Reads the log of the filter at `path`; `None` if it has none, or nothing in it.
    ///
    /// # Errors
    ///
    /// [`Error::LogDamaged`], [`Error::Format`] for a damaged header, [`Error::Io`].
    pub fn read(path: &Path) -> Result<Option<Self>, Error> {
        // A log that is emptied and filled while it is read looks damaged: look again.
        const MAX_ATTEMPTS: usize = 4;
        let path = resolve_links(path)?;
        let log_path = log_path(&path)?;
        for attempt in 1.. {
            let Some((file, 1..)) = log::open_for_reading(&log_path)? else { return Ok(None) };
            let header = log::Header::read(&file, &log_path)?;
            let mut digests = Vec::new();
            match replay(&file, &log_path, &header, |more| digests.extend_from_slice(more)) {
                Err(Error::LogDamaged { .. }) if attempt < MAX_ATTEMPTS => {}
                Err(error) => return Err(error),
                Ok(Replay { recovery, .. }) => {
                    let dropped_bytes = recovery.dropped_bytes;
                    return Ok(Some(Self { path, log_path, header, digests, dropped_bytes }));
                }
            }
        }
        unreachable!("the last attempt returns")
    }

    /// Hands the digests to `insert`, which returns how many were new. `header` and
    /// `digest_function` are those of the filter loaded from the file.
    ///
    /// # Errors
    ///
    /// [`Error::LogMismatch`]; [`Error::Format`] with the error of `insert`.
    pub fn replay(
        &self,
        header: &native::Header,
        digest_function: &DigestFunction,
        insert: impl FnMut(&[Digest]) -> Result<u64, mayhap::Error>,
    ) -> Result<Recovery, Error> {
        let wanted = wanted(header, digest_function);
        wanted.check_same(&self.header, &self.log_path)?;
        let (found, dropped_bytes) = (self.digests.len() as u64, self.dropped_bytes);
        if wanted.has_all_of(&self.header) {
            return Ok(Recovery { stale_digests: found, dropped_bytes, ..Recovery::default() });
        }
        let mut inserter = Inserter::new(insert);
        inserter.insert(&self.digests);
        let new_items = inserter.finish(&self.path)?;
        let log = LogRecovery { replayed_digests: found, stale_digests: 0, dropped_bytes };
        Ok(Recovery::new(log, new_items))
    }
}
