//! Filter files with a log: the state of a `dedup`, and what `add` and `remove` do to one.

use crate::error::Error;
use crate::kind::{self, KindFilter};
use crate::number::format_count;
use crate::seen::Seen;
use crate::talk::Talk;
use mayhap::native::{Header, Kind};
use mayhap::{Bitmap, SecretKey};
use mayhap_store::{LiveLog, PendingLog, Recovery};
use std::path::Path;

/// A filter and its log.
#[derive(Debug)]
pub struct Opened<L = LiveLog> {
    /// The filter, with what the log added.
    pub seen: Seen,
    /// The log, locked.
    pub log: L,
    /// What the log added.
    pub recovery: Recovery,
}

/// Opens a filter with its log, which is made if there is none.
///
/// # Errors
///
/// [`Error::Store`]; [`Error::Usage`] for kinds that never change.
pub fn open(path: &Path, key: Option<SecretKey>) -> Result<Opened, Error> {
    // Before a log is made that nothing could be recorded in.
    match mayhap_store::read_header(path)?.kind() {
        Kind::Fuse => return Err(kind::fuse::refuse(&path.display().to_string())),
        Kind::Matrix => return Err(kind::matrix::refuse(&path.display().to_string())),
        _ => {}
    }
    let locked = LiveLog::lock(path)?;
    let (mut seen, header) = load(path, key)?;
    let (function, mut new) = (seen.digest_function(), Bitmap::new());
    let (log, recovery) = locked.replay(&header, &function, |digests| {
        match &mut seen {
            Seen::Fixed(filter) => filter.insert_digests_into(digests, &mut new),
            Seen::Kind(filter) => filter.insert_digests_into(digests, &mut new)?,
            // Of no file.
            Seen::Growing(_) | Seen::Remote(_) => {}
        }
        Ok(new.count_ones() as u64)
    })?;
    Ok(Opened { seen, log, recovery })
}

/// Opens a filter to change it, with its log only if it has one.
///
/// # Errors
///
/// As [`open`].
pub fn open_if_live(path: &Path, key: Option<SecretKey>) -> Result<Opened<Option<LiveLog>>, Error> {
    if mayhap_store::log_path(path)?.exists() {
        let Opened { seen, log, recovery } = open(path, key)?;
        return Ok(Opened { seen, log: Some(log), recovery });
    }
    let (seen, _) = load(path, key)?;
    Ok(Opened { seen, log: None, recovery: Recovery::default() })
}

fn load(path: &Path, key: Option<SecretKey>) -> Result<(Seen, Header), Error> {
    let found = mayhap_store::read_header(path)?.kind();
    if found == Kind::Bloom {
        let loaded = mayhap_store::load(path, key)?;
        return Ok((Seen::Fixed(loaded.filter), loaded.header));
    }
    let (filter, header) = kind::load(path, found, key)?;
    filter.check_insert(&path.display().to_string())?;
    Ok((Seen::Kind(filter), header))
}

/// Adds to a filter of another kind than the plain one what its log has, as read before.
///
/// # Errors
///
/// [`Error::Store`].
pub fn add_pending(
    pending: &PendingLog,
    filter: &mut dyn KindFilter,
    header: &Header,
) -> Result<(), Error> {
    let (function, mut new) = (filter.digest_function(), Bitmap::new());
    pending.replay(header, &function, |digests| {
        filter.insert_digests_into(digests, &mut new)?;
        Ok(new.count_ones() as u64)
    })?;
    Ok(())
}

/// Says what a run that did not end has left.
pub fn tell(talk: Talk, name: &str, recovery: &Recovery) {
    let Recovery { replayed_digests, stale_digests, .. } = *recovery;
    if replayed_digests > 0 {
        let lines = format_count(replayed_digests);
        talk.say(&format!(
            "{name}: recovered {lines} lines from the log of a run that did not end"
        ));
    }
    if stale_digests > 0 {
        let lines = format_count(stale_digests);
        talk.say(&format!(
            "{name}: left out {lines} lines of its log, recorded before the file was saved; if \
             that is an older copy put back, they will be new again"
        ));
    }
}
