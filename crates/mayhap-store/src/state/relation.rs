//! How a log stands to an image: is it of that filter, and does the image have its records?

use crate::Error;
use crate::disk::{Disk, DiskFile, How, open_regular};
use crate::log::{Front, HEADER_BYTES, Header, Meaning, Owner, read_front};
use mayhap::native::{self, Kind};
use std::io::ErrorKind;
use std::path::Path;
use xxhash_rust::xxh3::xxh3_64;

/// What stands where the log of a filter would, and what it is to the filter's file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum LogFound {
    /// There is no log: the file is the whole filter.
    None,
    /// A log without records, of whatever filter: it says nothing. A crash came before the first
    /// one.
    Empty,
    /// The file lacks what these records say.
    Records {
        /// Bytes of them, with what an unfinished write may have left behind them.
        bytes: u64,
    },
    /// The file has its records: a crash came before it was removed.
    Stale,
    /// The log of another filter.
    Foreign {
        /// The other's id; `None` in logs of version 1, which have none.
        id: Option<u128>,
    },
    /// A file of another kind.
    NotALog,
    /// A log was begun and is not there, so that the file lacks nobody knows what.
    Missing {
        /// The number of the image whose log it is.
        epoch: u64,
    },
    /// The log is of a newer image of the same filter: the file is an older copy that was put back.
    Newer {
        /// The number of the file.
        image: u64,
        /// The number of the image that the log follows.
        log: u64,
    },
}

/// A log that was opened to be read.
#[derive(Debug)]
pub(crate) struct OpenLog {
    pub(crate) file: Box<dyn DiskFile>,
    pub(crate) header: Header,
}

/// Looks at the log of the filter with this header; opened in this way if its records are to be
/// read.
pub(crate) fn examine(
    disk: &dyn Disk,
    (log_path, how): (&Path, How),
    image: &native::Header,
) -> Result<(LogFound, Option<OpenLog>), Error> {
    let identity = image.identity();
    // Without a log of its own: whole, unless one was begun.
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
    // No log of this filter was begun, so that a damaged one is none of its.
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
            // One without records says nothing, whosever it is.
            _ if bytes == 0 => without(LogFound::Empty),
            Some(ours) if ours.id == id => LogFound::Newer { image: ours.epoch, log: epoch },
            _ => without(LogFound::Foreign { id: Some(id) }),
        },
    };
    if !matches!(found, LogFound::Records { .. }) {
        return Ok((found, None));
    }
    Meaning::of(image.digest_id(), image.digest_parameter(), image.key_options())
        .check_same(&header.meaning, log_path)?;
    Ok((found, Some(OpenLog { file, header })))
}

/// What a log of version 1 is to a file: such logs name none, and belong to files of earlier
/// versions.
fn of_version_1(image: &native::Header, (log_id, checkpoint): (u64, u64), bytes: u64) -> LogFound {
    if bytes == 0 {
        return LogFound::Empty;
    }
    if image.version() >= native::VERSION {
        // The state that it became has its id in its own.
        let was_its = image.identity().is_some_and(|identity| (identity.id >> 64) as u64 == log_id);
        return if was_its { LogFound::Stale } else { LogFound::Foreign { id: None } };
    }
    // Kinds that change with every insertion name the one file that lacks the records.
    let adds_once = matches!(image.kind(), Kind::Counting | Kind::Window);
    if adds_once && checkpoint != file_id(image) {
        LogFound::Stale
    } else {
        LogFound::Records { bytes }
    }
}

/// What tells a filter file of earlier versions from all others: the checksum of its header, which
/// has those of all pages. Never 0.
fn file_id(header: &native::Header) -> u64 {
    xxh3_64(&header.encode(header.table_checksum())).max(1)
}
