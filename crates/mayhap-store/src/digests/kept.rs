//! A file of digests that is only read.

use super::contents::DigestFile;
use super::merge;
use super::place::{covers, path_of, waiting_path};
use crate::disk::{self, DiskFile, How, open_regular};
use crate::file::resolve_links;
use crate::{Error, Image};
use mayhap::Digest;
use std::path::{Path, PathBuf};

/// The digests of the keys of the filter at `path`: its name with `.digests` appended, beside the
/// file to which symbolic links lead.
///
/// # Errors
///
/// Same as [`crate::log_path`].
///
/// # Examples
///
/// ```
/// use std::path::Path;
/// let digests = mayhap_store::digests_path(Path::new("day/seen.mayhap"))?;
/// assert_eq!(digests, Path::new("day/seen.mayhap.digests"));
/// # Ok::<(), mayhap_store::Error>(())
/// ```
pub fn digests_path(path: &Path) -> Result<PathBuf, Error> {
    path_of(&resolve_links(&disk::Real, path)?)
}

/// The digests of all keys of a filter, in the file beside it, read without the filter's lock.
///
/// # Examples
///
/// ```
/// use mayhap::native::{Header, Native};
/// use mayhap_store::{Error, FilterLock, KeptDigests, LockOptions};
///
/// # let folder = tempfile::tempdir()?;
/// # let path = &folder.path().join("seen.mayhap");
/// let mut filter = mayhap::AnyFilter::builder().expected_items(10).target_fpp(0.01).build()?;
/// let digest = filter.digest_function().digest("key");
/// filter.insert_digest(digest);
/// let lock = FilterLock::take(path, &mut LockOptions::new("build"))?;
/// let header = Header::of(&filter, "");
/// lock.save_with_digests(&header, &filter.segments(), vec![digest], false)?;
///
/// let kept = KeptDigests::open(path)?.expect("the file is there");
/// let mut all = Vec::new();
/// kept.for_each(|digests| Ok::<(), Error>(all.extend_from_slice(digests)))?;
/// assert_eq!((all, kept.digests()), (vec![digest], 1));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct KeptDigests {
    file: Box<dyn DiskFile>,
    path: PathBuf,
    contents: DigestFile,
    bytes: u64,
}

impl KeptDigests {
    /// Opens the digests beside the filter at `path`; `None` if there are none, or a file of
    /// another program has their name. Reads the records, and the runs that no image has yet.
    ///
    /// # Errors
    ///
    /// [`Error::DigestsDamaged`] if their header is; [`Error::Format`] if it is of a newer version;
    /// [`Error::Io`].
    pub fn open(path: &Path) -> Result<Option<Self>, Error> {
        let filter = resolve_links(&disk::Real, path)?;
        let image = Image::open(&disk::Real, &filter).ok();
        let there = Self::read(path_of(&filter)?, image.as_ref())?;
        let is_its = |kept: &Self| image.as_ref().is_none_or(|it| kept.covers(it).unwrap_or(true));
        if there.as_ref().is_some_and(is_its) {
            return Ok(there);
        }
        // Another process is replacing the filter, or was killed while it did.
        let waiting = Self::read(waiting_path(&filter)?, image.as_ref()).ok().flatten();
        Ok(waiting.filter(|kept| image.is_some() && is_its(kept)).or(there))
    }

    fn read(path: PathBuf, image: Option<&Image>) -> Result<Option<Self>, Error> {
        let file = match open_regular(&disk::Real, &path, How::Read) {
            Ok(file) => file,
            Err(error) if error.is_not_found() => return Ok(None),
            Err(Error::NotRegular { .. }) => return Ok(None),
            Err(error) => return Err(error),
        };
        let fingerprint = image.map(Image::fingerprint).transpose()?;
        let Some(contents) = DigestFile::read(&*file, &path, fingerprint)? else { return Ok(None) };
        let bytes = file.look().map_err(Error::io("look at", &path))?.bytes;
        Ok(Some(Self { file, path, contents, bytes }))
    }

    /// The path of the file.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The length of the file.
    pub const fn bytes(&self) -> u64 {
        self.bytes
    }

    /// The number of digests in the file; a digest that was added in several runs counts several
    /// times.
    pub fn digests(&self) -> u64 {
        self.contents.digests()
    }

    /// Whether it has the digests of all keys of an image: not if a program that does not keep it
    /// has changed the filter.
    ///
    /// # Errors
    ///
    /// [`Error::Io`].
    pub fn covers(&self, image: &Image) -> Result<bool, Error> {
        covers(&self.contents, image)
    }

    /// Reads all digests, and compares the checksums of their runs.
    ///
    /// # Errors
    ///
    /// [`Error::DigestsDamaged`]; [`Error::Io`].
    pub fn check(&self) -> Result<(), Error> {
        self.contents.check(&*self.file, &self.path)
    }

    /// Passes all distinct digests to `each`, in ascending order, in batches of at most 1024.
    ///
    /// # Errors
    ///
    /// [`Error::DigestsDamaged`], possibly after digests of the damaged part were passed;
    /// [`Error::Io`]; the errors of `each`.
    pub fn for_each<E: From<Error>>(
        &self,
        each: impl FnMut(&[Digest]) -> Result<(), E>,
    ) -> Result<(), E> {
        merge::for_each(&*self.file, &self.path, &self.contents.runs, each)
    }
}
