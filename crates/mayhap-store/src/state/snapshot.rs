//! A consistent view of a state while others may change it, read without a lock.

use super::log_file::{Recovery, check_log, log_path_of};
use super::memory::apply;
use super::relation::{LogFound, OpenLog, examine};
use crate::Loaded;
use crate::disk::{self, Disk, How};
use crate::file::resolve_links;
use crate::log::{Record, Replayed, first, replay};
use crate::{Error, Image};
use mayhap::SecretKey;
use mayhap::native::{Header, Native};
use mayhap::set::Set;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// The number of attempts on files that are being replaced. Each fails because of a checkpoint in
/// between.
const MAX_LOOKS: usize = 100;

/// A log that is appended to, or cut back after a failed append, while it is read can look damaged
/// or torn.
const MAX_READS: usize = 4;
const BETWEEN_READS: Duration = Duration::from_millis(1);

/// An image and its log, both open: together they are the filter at the time of [`Snapshot::open`]
/// or later, whatever happens to the files.
///
/// # Examples
///
/// ```
/// use mayhap::AnyFilter;
/// use mayhap_store::{LiveFilter, LogFound, Snapshot};
///
/// # let folder = tempfile::tempdir()?;
/// # let path = &folder.path().join("seen.mayhap");
/// let empty = AnyFilter::builder().expected_items(1000).target_fpp(1e-6).build()?;
/// let mut seen = LiveFilter::create(path, empty, "")?;
/// let digest = seen.filter().digest_function().digest("line");
/// seen.filter_mut().insert_digest(digest);
/// seen.record(&[digest])?;
///
/// let snapshot = Snapshot::open(path)?; // takes no lock
/// assert_eq!(snapshot.log(), LogFound::Records { bytes: 64 });
/// let (loaded, recovery) = snapshot.load::<AnyFilter>(None, |_| {})?;
/// assert!(loaded.filter.contains("line") && recovery.replayed_digests == 1);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct Snapshot {
    image: Image,
    log_path: PathBuf,
    found: LogFound,
    log: Option<OpenLog>,
}

impl Snapshot {
    /// Opens the filter file at `path` and its log. Nothing is locked or changed.
    ///
    /// # Errors
    ///
    /// Same as [`crate::read_header`]; [`Error::LogMismatch`]; [`Error::Format`] for a log of a
    /// newer version and for one with a damaged header. A missing log, or one of a newer image, is
    /// not an error here: see [`Snapshot::check`].
    pub fn open(path: &Path) -> Result<Self, Error> {
        Self::open_on(&disk::Real, path)
    }

    /// Like [`Snapshot::open`], but on a given disk.
    pub(crate) fn open_on(disk: &dyn Disk, path: &Path) -> Result<Self, Error> {
        let path = resolve_links(disk, path)?;
        let log_path = log_path_of(&path)?;
        let mut image = Image::open(disk, &path)?;
        for _ in 0..MAX_LOOKS {
            let (found, log) = examine(disk, (&log_path, How::Read), image.header())?;
            let may_have_changed = matches!(
                found,
                LogFound::Missing { .. } | LogFound::Newer { .. } | LogFound::Foreign { .. }
            );
            if may_have_changed {
                // Between the two reads a checkpoint may have removed the log, another filter may
                // have replaced this one, or both.
                let again = Image::open(disk, &path)?;
                if again.header() != image.header() {
                    image = again;
                    continue;
                }
                let (still, _) = examine(disk, (&log_path, How::Read), again.header())?;
                if still != found {
                    continue;
                }
            }
            return Ok(Self { image, log_path, found, log });
        }
        Err(Error::Busy { path })
    }

    /// The header of the file, without the additions of the log.
    pub fn header(&self) -> &Header {
        self.image.header()
    }

    /// The open file.
    pub fn image(&self) -> &Image {
        &self.image
    }

    /// Converts into the open file.
    pub(crate) fn into_image(self) -> Image {
        self.image
    }

    /// The file with the name of its log, if any.
    pub fn log(&self) -> LogFound {
        self.found
    }

    /// The path of the log, whether it exists or not.
    pub fn log_path(&self) -> &Path {
        &self.log_path
    }

    /// Checks that image and log together are the whole filter.
    ///
    /// # Errors
    ///
    /// [`Error::MissingLog`], [`Error::OlderCopy`].
    pub fn check(&self) -> Result<(), Error> {
        check_log(self.found, self.image.path(), &self.log_path)
    }

    /// Like [`Snapshot::check`], and requires that the image alone is the whole filter.
    ///
    /// # Errors
    ///
    /// Same as [`Snapshot::check`]; [`Error::UnreadLog`].
    pub fn check_alone(&self) -> Result<(), Error> {
        self.check()?;
        match self.found {
            LogFound::Records { bytes: log_bytes @ 1.. } => {
                Err(Error::UnreadLog { path: self.image.path().into(), log_bytes })
            }
            _ => Ok(()),
        }
    }

    /// Passes the records of the log to `apply`, which returns the number of new keys. The log may
    /// be read more than once if another process appends to it meanwhile, but each record is passed
    /// only once.
    ///
    /// # Errors
    ///
    /// [`Error::LogDamaged`], [`Error::Io`]; [`Error::Format`] with the error of `apply`.
    pub fn replay(
        &self,
        apply: impl FnMut(&Record<'_>) -> Result<u64, mayhap::Error>,
    ) -> Result<Recovery, Error> {
        self.replay_on(&disk::Real, apply)
    }

    /// Like [`Snapshot::replay`], but on a given disk.
    pub(crate) fn replay_on(
        &self,
        disk: &dyn Disk,
        mut apply: impl FnMut(&Record<'_>) -> Result<u64, mayhap::Error>,
    ) -> Result<Recovery, Error> {
        let Some(OpenLog { file, header }) = &self.log else { return Ok(Recovery::default()) };
        let mut recovery = Recovery::default();
        let mut position = first(header);
        for read in 1.. {
            let (from, path) = (position, self.image.path());
            let replayed = replay(&**file, &self.log_path, header, from, |record, end| {
                recovery.new_items += apply(record).map_err(Error::format(path))?;
                recovery.replayed_digests += record.digests.len() as u64;
                position = end;
                Ok(())
            });
            match replayed {
                Err(Error::LogDamaged { .. }) if read < MAX_READS => disk.pause(BETWEEN_READS),
                Err(error) => return Err(error),
                // Perhaps it is just being written.
                Ok(Replayed { dropped_bytes: 1.., .. }) if read < MAX_READS => {
                    disk.pause(BETWEEN_READS);
                }
                Ok(replayed) => {
                    recovery.dropped_bytes = replayed.dropped_bytes;
                    if replayed.dropped_bytes > 0 {
                        disk.report(replayed.torn(&self.log_path, false));
                    }
                    return Ok(recovery);
                }
            }
        }
        unreachable!("the last attempt returns")
    }

    /// The filter in memory, including the log, for querying it while it is in use or after a
    /// crash. Without a log this is [`crate::load_as`]. `prepare` gets it before the log is
    /// applied: it must advance a time window whose log has version 1, and so no times.
    ///
    /// # Errors
    ///
    /// Same as [`Snapshot::check`], [`Image::load`] and [`Snapshot::replay`].
    pub fn load<F: Native + Set>(
        &self,
        secret_key: Option<SecretKey>,
        prepare: impl FnOnce(&mut F),
    ) -> Result<(Loaded<F>, Recovery), Error> {
        self.check()?;
        let mut filter = self.image.load::<F>(secret_key, |_, _| {})?;
        prepare(&mut filter);
        let recovery = self.replay(|record| apply(&mut filter, record))?;
        Ok((Loaded { filter, header: self.header().clone() }, recovery))
    }
}
