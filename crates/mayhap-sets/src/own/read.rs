//! Filter files that are read.

use super::load::load;
use super::mapped_set::MappedSet;
use crate::error::Error;
use crate::key_set::KeySet;
use crate::note::Note;
use mayhap::SecretKey;
use mayhap::native::{Header, Kind};
use mayhap_store::{LogFound, Memory, Recovery, Snapshot};
use std::path::Path;

/// A log of up to this share of its filter is held beside the mapped filter.
const LOG_SHARE: u64 = 16;

/// Opens a filter file to read it with its log, which may be missing only if that is allowed.
/// `note` hears of a log that was not read.
///
/// # Errors
///
/// [`Error::Store`].
pub fn open_snapshot(
    path: &Path,
    without_log: bool,
    note: &dyn Fn(Note<'_>),
) -> Result<Snapshot, Error> {
    let snapshot = Snapshot::open(path)?;
    match snapshot.log() {
        LogFound::Missing { .. } if without_log => {
            note(Note::LogMissing { path, log: snapshot.log_path() });
        }
        LogFound::Foreign { .. } => note(Note::LogOfAnother { log: snapshot.log_path() }),
        _ => snapshot.check()?,
    }
    Ok(snapshot)
}

/// A filter of a file that is only read, and the header of the file.
#[derive(Debug)]
pub struct ReadFile {
    /// The filter: mapped, with a short log in memory; loaded where that is long or its kind is not
    /// plain.
    pub set: Box<dyn KeySet>,
    /// Its header.
    pub header: Header,
    /// The keys that its log added.
    pub recovery: Recovery,
}

impl ReadFile {
    /// Opens a filter file of any kind, with its log, which may be missing only if that is allowed.
    /// The pages of one that is mapped are compared with their checksums when they are first read,
    /// unless they are trusted.
    ///
    /// # Errors
    ///
    /// Those of [`open_snapshot`].
    pub fn open(
        path: &Path,
        key: Option<SecretKey>,
        (without_log, trusted): (bool, bool),
        note: &dyn Fn(Note<'_>),
    ) -> Result<Self, Error> {
        let snapshot = open_snapshot(path, without_log, note)?;
        let header = snapshot.header().clone();
        let is_whole =
            !matches!(snapshot.log(), LogFound::Records { bytes: 1.. } | LogFound::Missing { .. });
        if header.kind() == Kind::Bloom && is_whole {
            let open = if trusted { mayhap_store::open_trusted } else { mayhap_store::open_mapped };
            return match open(path, key) {
                // A log was begun since.
                Err(mayhap_store::Error::UnreadLog { .. }) => {
                    Self::open(path, key, (without_log, trusted), note)
                }
                mapped => {
                    let mapped = mapped?;
                    let header = mapped.header().clone();
                    let set = Box::new(MappedSet::from(mapped));
                    Ok(Self { set, header, recovery: Recovery::default() })
                }
            };
        }
        if header.kind() == Kind::Bloom
            && matches!(snapshot.log(), LogFound::Records { bytes } if is_short(bytes, &header))
        {
            let (logged, recovery) = MappedSet::open(snapshot, key, trusted)?;
            return Ok(Self { set: Box::new(logged), header, recovery });
        }
        let mut set = load(snapshot.image(), key)?;
        let recovery = snapshot.replay(|record| set.apply(record))?;
        Ok(Self { set: Box::new(set), header, recovery })
    }
}

/// Whether so long a log costs less beside the mapped filter than the filter in memory.
fn is_short(log_bytes: u64, header: &Header) -> bool {
    cfg!(target_endian = "little") && log_bytes <= header.body_bytes() / LOG_SHARE
}
