//! Whether a file is the one that was opened, unchanged.

use std::fs::{self, File, Metadata};
use std::io;
use std::path::Path;

/// The values that distinguish a file from other files, and from itself after a write: device and
/// inode if the system has them, length, and the time of the last change of its bytes.
///
/// Removing, renaming or linking a file does not change it, nor does a change of permissions. The
/// time has the resolution of the file system, some milliseconds: two changes within it count as
/// one. A change of the same length is not detected if its time is set back by hand.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FileStamp {
    file: (u64, u64),
    bytes: u64,
    /// Seconds and nanoseconds.
    changed: (i64, i64),
}

impl FileStamp {
    /// The stamp of an open file, whatever its path refers to by now.
    ///
    /// # Errors
    ///
    /// If the system does not report them.
    pub fn of(file: &File) -> io::Result<Self> {
        file.metadata().map(|metadata| Self::from(&metadata))
    }

    /// The stamp of the file to which a path refers.
    ///
    /// # Errors
    ///
    /// If there is no file, or the system does not report its values.
    ///
    /// # Examples
    ///
    /// ```
    /// use mayhap_store::FileStamp;
    /// # let folder = tempfile::tempdir()?;
    /// let path = &folder.path().join("a");
    /// std::fs::write(path, "before")?;
    /// let before = FileStamp::at(path)?;
    /// assert_eq!(FileStamp::at(path)?, before);
    /// std::fs::write(path, "afterwards")?;
    /// assert_ne!(FileStamp::at(path)?, before);
    /// # Ok::<(), std::io::Error>(())
    /// ```
    pub fn at(path: &Path) -> io::Result<Self> {
        fs::metadata(path).map(|metadata| Self::from(&metadata))
    }

    /// The length of the file.
    pub const fn bytes(&self) -> u64 {
        self.bytes
    }
}

#[cfg(unix)]
impl From<&Metadata> for FileStamp {
    fn from(metadata: &Metadata) -> Self {
        use std::os::unix::fs::MetadataExt;
        Self {
            file: (metadata.dev(), metadata.ino()),
            bytes: metadata.size(),
            changed: (metadata.mtime(), metadata.mtime_nsec()),
        }
    }
}

#[cfg(not(unix))]
impl From<&Metadata> for FileStamp {
    fn from(metadata: &Metadata) -> Self {
        let since = metadata.modified().ok();
        let since = since.and_then(|at| at.duration_since(std::time::UNIX_EPOCH).ok());
        let changed = since.unwrap_or_default();
        Self {
            file: (0, 0),
            bytes: metadata.len(),
            changed: (changed.as_secs().cast_signed(), i64::from(changed.subsec_nanos())),
        }
    }
}

/// The reason why bytes read from a mapped file are invalid: a change of the file while it was
/// mapped, or damage in it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Changed {
    /// It was truncated.
    #[error("it was cut short while it was in use")]
    Shortened,
    /// It was written to.
    #[error("it was overwritten while it was in use")]
    Overwritten,
    /// A part of it could not be read: the disk failed.
    #[error("a part of it could not be read from the disk")]
    Unreadable,
    /// A page does not have its checksum.
    #[error("page {page} of {num_pages} is damaged (checksum mismatch)")]
    PageDamaged {
        /// The page, counted from 0.
        page: u64,
        /// The number of pages.
        num_pages: u64,
    },
    /// The table of checksums does not have its own.
    #[error("its table of checksums is damaged")]
    TableDamaged {
        /// The checksum that it has.
        found: u64,
    },
}

impl Changed {
    /// The error in the contents of the file, if it is one.
    pub(crate) const fn damage(self) -> Option<mayhap::Error> {
        match self {
            Self::PageDamaged { page, num_pages } => {
                Some(mayhap::Error::PageDamaged { page, damaged_pages: 1, num_pages })
            }
            Self::TableDamaged { found } => {
                Some(mayhap::Error::BadField { field: "checksum table", found })
            }
            Self::Shortened | Self::Overwritten | Self::Unreadable => None,
        }
    }
}
