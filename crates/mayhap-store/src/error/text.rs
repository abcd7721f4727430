//! The texts of errors, by topic.

use super::Error;
use std::fmt;
use std::ops::Range;

impl Error {
    pub(super) fn fmt_of_lock(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let path = self.path().display();
        match self {
            Self::Locked { holder, lock_path, waited, is_left_behind, .. } => {
                let holder: &dyn fmt::Display = match holder {
                    Some(holder) => holder,
                    None => &"another process",
                };
                write!(
                    f,
                    "{path}: is being changed by {holder}, which holds the lock {}; waited {:.1} s \
                     for it to end",
                    lock_path.display(),
                    waited.as_secs_f64()
                )?;
                if *is_left_behind {
                    f.write_str("; if that process is gone, it was killed: remove this file")?;
                }
                Ok(())
            }
            Self::NoLocks { source, .. } => write!(
                f,
                "{path}: its file system has no locks ({source}), and without one two programs \
                 that change a filter at once lose keys of each other; nothing was changed"
            ),
            Self::WaitStopped { .. } => {
                write!(f, "{path}: stopped while waiting for another process that is changing it")
            }
            Self::NotALock { .. } => write!(
                f,
                "{path}: has the name of the filter's lock but is not one; move it, or give the \
                 filter another name"
            ),
            _ => Ok(()),
        }
    }

    pub(super) fn fmt_of_log(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let path = self.path().display();
        match self {
            Self::NotALog { .. } => write!(
                f,
                "{path}: has the name of the filter's log but is not one; move it, or give the \
                 filter another name"
            ),
            Self::OrphanLog { .. } => write!(
                f,
                "{path}: has recorded digests, but its filter is gone; restore the filter, or \
                 remove this log to start over"
            ),
            Self::ForeignLog { filter, .. } => write!(
                f,
                "{path}: is the log of another filter than {}, which needs this name; move it back \
                 beside its filter, or remove it",
                filter.display()
            ),
            Self::LogMismatch { parameter, filter, log, .. } => write!(
                f,
                "{path}: is the log of another filter: {parameter} is {log:#x} in the log and \
                 {filter:#x} in the filter; restore its own filter, or move the log away"
            ),
            Self::LogDamaged { offset, next_sound_offset, .. } => write!(
                f,
                "{path}: is damaged at byte {offset}, and not by a torn write: an intact record \
                 follows at byte {next_sound_offset}. Nothing was changed. Restore it from a \
                 backup; or keep a copy and truncate it to {offset} bytes to continue with what is \
                 before"
            ),
            Self::Poisoned { .. } => write!(
                f,
                "{path}: an earlier write or sync failed, so nothing more is recorded; check the \
                 disk and start again"
            ),
            _ => Ok(()),
        }
    }

    pub(super) fn fmt_of_digests(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let path = self.path().display();
        match self {
            Self::DigestsBehind { filter, .. } => write!(
                f,
                "{path}: lacks keys of {}, or belongs to another filter: the filter was changed or \
                 replaced without it. Build both again from the keys, or remove {path} to continue \
                 without it",
                filter.display()
            ),
            Self::DigestsNotKept { filter, .. } => write!(
                f,
                "{path}: has the digests of {}, which this program would not keep; change the \
                 filter with mayhap add, or remove {path} to continue without it",
                filter.display()
            ),
            Self::DigestsDamaged { offset, .. } => write!(
                f,
                "{path}: is damaged in its record at byte {offset}; restore it with its filter \
                 from a backup, or build both again from the keys"
            ),
            _ => Ok(()),
        }
    }

    pub(super) fn fmt_of_segments(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let path = self.path().display();
        match self {
            Self::SegmentsUnlike { first, parameter, found, expected, .. } => write!(
                f,
                "{path} and {} are not segments of one filter: they differ in {parameter}: \
                 {found} against {expected}; nothing was written",
                first.display()
            ),
            Self::SegmentsOverlap { other, pages, .. } => write!(
                f,
                "{path} and {} both have {}; nothing was written",
                other.display(),
                PageRange(pages)
            ),
            Self::SegmentsMissing { missing, num_pages, .. } => {
                let (first, more) = (PageRange(&missing[0]), missing.len() - 1);
                write!(f, "{first} of the {num_pages} of the filter of {path} are missing")?;
                if more > 0 {
                    let ranges = if more == 1 { "range" } else { "ranges" };
                    write!(f, ", and {more} more {ranges} of pages")?;
                }
                f.write_str("; nothing was written")
            }
            _ => Ok(()),
        }
    }

    pub(super) fn fmt_of_state(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let path = self.path().display();
        match self {
            Self::MissingLog { log_path, .. } => write!(
                f,
                "{path}: its log of further keys, {}, is missing: the file alone lacks them; copy \
                 the log too from where the file came from",
                log_path.display()
            ),
            Self::OlderCopy { log_path, image, log, .. } => write!(
                f,
                "{path}: is version {image} of this filter, but {} belongs to version {log}: an \
                 older copy was restored, which lacks keys; restore the newer file, or move the \
                 log away to continue with the older one",
                log_path.display()
            ),
            Self::UnreadLog { log_bytes, .. } => write!(
                f,
                "{path}: its log has {log_bytes} bytes of records that the file lacks; open it \
                 with its log, or save it whole first"
            ),
            Self::Replaced { .. } => write!(
                f,
                "{path}: was replaced or removed by another program while it was being changed; \
                 the keys recorded before went with it"
            ),
            Self::LogLost { .. } => write!(
                f,
                "{path}: was removed or truncated by another program while it was in use; what was \
                 recorded in it is lost, unless there is a copy"
            ),
            Self::Busy { .. } => {
                write!(f, "{path}: is being replaced too often to be read; try again")
            }
            _ => Ok(()),
        }
    }
}

/// Pages in words; counted from 0, as in [`mayhap::Error::PageDamaged`].
struct PageRange<'a>(&'a Range<u64>);

impl fmt::Display for PageRange<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Range { start, end } = self.0;
        write!(f, "pages {start} to {}", end.saturating_sub(1))
    }
}
