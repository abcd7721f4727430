//! The relation of a log to an image: whether it belongs to that filter, and whether the image has
//! its records.

use crate::Error;
use crate::disk::{Disk, DiskFile, How, open_regular};
use crate::log::{Front, HEADER_BYTES, Header, Meaning, Owner, read_front};
use mayhap::native::{self, Kind};
use std::io::ErrorKind;
use std::path::Path;
use xxhash_rust::xxh3::xxh3_64;

/// The file with the name of a filter's log, and its relation to the filter's file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum LogFound {
    /// There is no log: the file is the whole filter.
    None,
    /// A log without records, of any filter: it means nothing. A crash happened before the first
    /// record.
    Empty,
    /// The file lacks these records.
    Records {
        /// Their bytes, including a torn write after them.
        bytes: u64,
    },
    /// The file includes its records: a crash happened before it was removed.
    Stale,
    /// The log of another filter.
    Foreign {
        /// The other's id; `None` in logs of version 1, which have none.
        id: Option<u128>,
    },
    /// A file of another kind.
    NotALog,
    /// A log was begun and is missing, so the file lacks an unknown number of records.
    Missing {
        /// The number of the image whose log it is.
        epoch: u64,
    },
    /// The log belongs to a newer image of the same filter: the file is a restored older copy.
    Newer {
        /// The number of the file.
        image: u64,
        /// The number of the image that the log follows.
        log: u64,
    },
}

/// A log opened for reading.
#[derive(Debug)]
pub(crate) struct OpenLog {
    pub(crate) file: Box<dyn DiskFile>,
    pub(crate) header: Header,
}

/// Examines the log of the filter with this header; opened in this mode if its records are to be
/// read.
pub(crate) fn examine(
    disk: &dyn Disk,
    (log_path, how): (&Path, How),
    image: &native::Header,
) -> Result<(LogFound, Option<OpenLog>), Error> {
    let identity = image.identity();
    // Without its own log: complete, unless one was begun.
    let without = |found| match identity {
        Some(identity) if identity.log_begun => LogFound::Missing { epoch: identity.epoch },
        _ => found,
    };
    let file = match open_regular(disk, log_path, how) {
        Ok(file) => file,
        Err(Error::Io { source, .. }) if source.kind() == ErrorKind::NotFound => {
            return Ok((without(LogFound::None), None));
        }
        Err(Error::NotRegular { .. }) => return Ok((without(LogFound::NotALog), None)),
        Err(error) => return Err(error),
    };
    // No log of this filter was begun, so a damaged one does not belong to it.
    let is_none_of_its =
        image.version() >= native::VERSION && !identity.is_some_and(|identity| identity.log_begun);
    let header = match read_front(&*file, log_path) {
        Ok(Front::NotALog) => return Ok((without(LogFound::NotALog), None)),
        Ok(Front::Unfinished) => return Ok((without(LogFound::Empty), None)),
        Ok(Front::Header(header)) => header,
        Err(Error::Format { .. }) if is_none_of_its => {
            return Ok((LogFound::Foreign { id: None }, None));
        }
        Err(error) => return Err(error),
    };
    let file_bytes = file.look().map_err(Error::io("look at", log_path))?.bytes;
    let bytes = file_bytes.saturating_sub(HEADER_BYTES as u64);
    let found = match header.owner {
        Owner::Unnamed { log_id, checkpoint } => {
            match of_version_1(image, (log_id, checkpoint), bytes) {
                found @ LogFound::Records { .. } => found,
                other => without(other),
            }
        }
        Owner::Image { id, epoch } => match identity {
            Some(ours) if ours.id == id && ours.epoch == epoch && (bytes > 0 || ours.log_begun) => {
                LogFound::Records { bytes }
            }
            Some(ours) if ours.id == id && epoch < ours.epoch => without(LogFound::Stale),
            // A log without records is harmless, whatever filter it belongs to.
            _ if bytes == 0 => without(LogFound::Empty),
            Some(ours) if ours.id == id => LogFound::Newer { image: ours.epoch, log: epoch },
            _ => without(LogFound::Foreign { id: Some(id) }),
        },
    };
    if !matches!(found, LogFound::Records { .. }) {
        return Ok((found, None));
    }
    Meaning::of(image).check_same(&header.meaning, log_path)?;
    Ok((found, Some(OpenLog { file, header })))
}

/// The relation of a log of version 1 to a file: such logs name no file, and belong to files of
/// earlier versions.
fn of_version_1(image: &native::Header, (log_id, checkpoint): (u64, u64), bytes: u64) -> LogFound {
    if bytes == 0 {
        return LogFound::Empty;
    }
    if image.version() >= native::VERSION {
        // The id of the resulting state includes the log's id.
        let was_its = image.identity().is_some_and(|identity| (identity.id >> 64) as u64 == log_id);
        return if was_its { LogFound::Stale } else { LogFound::Foreign { id: None } };
    }
    // For kinds that change with every insertion, it names the one file that lacks the records.
    let adds_once = matches!(image.kind(), Kind::Counting | Kind::Window);
    if adds_once && checkpoint != file_id(image) {
        LogFound::Stale
    } else {
        LogFound::Records { bytes }
    }
}

/// The value that identifies a filter file of earlier versions: the checksum of its header, which
/// covers those of all pages. Never 0.
fn file_id(header: &native::Header) -> u64 {
    xxh3_64(&header.encode(header.table_checksum())).max(1)
}
