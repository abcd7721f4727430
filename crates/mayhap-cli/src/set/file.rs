//! Filter files that are read.

use crate::error::Error;
use crate::io::messages::Talk;
use crate::set::session::say_foreign;
use mayhap::SecretKey;
use mayhap::native::{Header, Kind};
use mayhap_sets::{KeySet, LoggedFilter};
use mayhap_store::{LogFound, Recovery, Snapshot};
use std::path::Path;

/// A log of up to this share of its filter is held beside the mapped filter.
const LOG_SHARE: u64 = 16;

/// Opens a filter file to read it with its log, which may be missing only if that is allowed. Says
/// so then, and names a log that is none of its.
///
/// # Errors
///
/// [`Error::Store`].
pub fn open_snapshot(path: &Path, without_log: bool, talk: Talk) -> Result<Snapshot, Error> {
    let snapshot = Snapshot::open(path)?;
    match snapshot.log() {
        LogFound::Missing { .. } if without_log => {
            let (name, log) = (path.display(), snapshot.log_path().display());
            talk.warn(&format!("{name}: read without {log}; the keys recorded there are missing"));
        }
        LogFound::Foreign { .. } => say_foreign(talk, snapshot.log_path()),
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
    /// What the file says of it.
    pub header: Header,
    /// What its log added.
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
        talk: Talk,
    ) -> Result<Self, Error> {
        let snapshot = open_snapshot(path, without_log, talk)?;
        let header = snapshot.header().clone();
        let is_whole =
            !matches!(snapshot.log(), LogFound::Records { bytes: 1.. } | LogFound::Missing { .. });
        if header.kind() == Kind::Bloom && is_whole {
            let open = if trusted { mayhap_store::open_trusted } else { mayhap_store::open_mapped };
            return match open(path, key) {
                // A log was begun since.
                Err(mayhap_store::Error::UnreadLog { .. }) => {
                    Self::open(path, key, (without_log, trusted), talk)
                }
                mapped => {
                    let mapped = mapped?;
                    let header = mapped.header().clone();
                    Ok(Self { set: Box::new(mapped), header, recovery: Recovery::default() })
                }
            };
        }
        if header.kind() == Kind::Bloom
            && matches!(snapshot.log(), LogFound::Records { bytes } if is_short(bytes, &header))
        {
            let (logged, recovery) = LoggedFilter::open(snapshot, key, trusted)?;
            talk.notices();
            return Ok(Self { set: Box::new(logged), header, recovery });
        }
        let mut set = mayhap_sets::load(snapshot.image(), key)?;
        let mut recovery = Recovery::default();
        if let Some(contents) = set.contents() {
            recovery = snapshot.replay(|record| contents.apply(record))?;
        }
        talk.notices();
        Ok(Self { set, header, recovery })
    }
}

/// Whether so long a log costs less beside the mapped filter than the filter in memory.
fn is_short(log_bytes: u64, header: &Header) -> bool {
    cfg!(target_endian = "little") && log_bytes <= header.body_bytes() / LOG_SHARE
}
