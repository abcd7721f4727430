//! A file of digests that is kept in step with its filter.

use super::aside::settle;
use super::contents::DigestFile;
use super::merge;
use super::place::{covers, is_ours, path_of, waiting_path};
use super::record::{HEADER_BYTES, RECORD_BYTES, Record, Run, encode_header};
use super::run::write_run;
use crate::disk::{
    Disk, DiskFile, How, is_at, look_for, open_regular, protect, sync_folder, write_all_at,
};
use crate::log::Meaning;
use crate::temporary::Temporary;
use crate::{Error, FilterLock, Image};
use mayhap::Digest;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Digests in memory beyond which they are written: 32 MiB.
const SPILL: usize = 1 << 22;

/// The digests of a filter whose lock is held: in the file, and noted since.
///
/// It never has fewer digests than the filter: [`Keeper::cover`] is called before an image gets its
/// name, and everything noted before is on disk then.
#[derive(Debug)]
pub(crate) struct Keeper {
    disk: Arc<dyn Disk>,
    file: Box<dyn DiskFile>,
    path: PathBuf,
    contents: DigestFile,
    noted: Vec<Digest>,
    /// A sync failed: the contents on disk are unknown.
    is_poisoned: bool,
}

impl Keeper {
    /// Opens the digests of an image, to keep them; `None` if there are none.
    ///
    /// # Errors
    ///
    /// [`Error::DigestsBehind`] if they are not the digests of the image; [`Error::DigestsNotKept`]
    /// unless `keeps`; [`Error::DigestsDamaged`], for which all are read; [`Error::Format`],
    /// [`Error::Io`].
    pub(crate) fn open(
        disk: &Arc<dyn Disk>,
        image: &Image,
        keeps: bool,
    ) -> Result<Option<Self>, Error> {
        settle(&**disk, image.path())?;
        let path = path_of(image.path())?;
        let Some(entry) = look_for(&**disk, &path, true)? else { return Ok(None) };
        if entry.not_regular.is_some() {
            return Ok(None);
        }
        let how = if keeps { How::Change } else { How::Read };
        let file = open_regular(&**disk, &path, how)?;
        let contents = DigestFile::read(&*file, &path, Some(image.fingerprint()?))?;
        let Some(contents) = contents else { return Ok(None) };
        let filter = || image.path().to_path_buf();
        if !covers(&contents, image)? {
            return Err(Error::DigestsBehind { path, filter: filter() });
        }
        if !keeps {
            return Err(Error::DigestsNotKept { path, filter: filter() });
        }
        // None is added to a damaged file.
        contents.check(&*file, &path)?;
        Ok(Some(Self::of(disk, file, path, contents)))
    }

    /// Creates the file for a filter that is about to be saved, replacing an earlier one if
    /// `replace`; it is readable only by its owner if the filter is. It waits next to the earlier
    /// one until [`super::settle`] is called after the filter was saved.
    ///
    /// # Errors
    ///
    /// [`Error::Exists`], also for files of other programs; [`Error::NoSpace`], [`Error::Io`].
    pub(crate) fn create(
        lock: &FilterLock,
        meaning: Meaning,
        replace: bool,
    ) -> Result<Self, Error> {
        let (disk, path) = (lock.disk(), path_of(lock.path())?);
        if look_for(&**disk, &path, false)?.is_some() && !(replace && is_ours(&**disk, &path)?) {
            return Err(Error::Exists { path });
        }
        let old = look_for(&**disk, lock.path(), true)?;
        let temporary = Temporary::create(lock, meaning.digest_id != 1 || old.is_some())?;
        protect(&**disk, temporary.file(), old.and_then(|old| old.permissions), &path)?;
        write_all_at(temporary.file(), &encode_header(&meaning), 0)
            .map_err(Error::write(&path, HEADER_BYTES as u64))?;
        let waiting = waiting_path(lock.path())?;
        let file = temporary.commit_to(&waiting)?;
        Ok(Self::of(disk, file, waiting, DigestFile::new(meaning)))
    }

    fn of(
        disk: &Arc<dyn Disk>,
        file: Box<dyn DiskFile>,
        path: PathBuf,
        contents: DigestFile,
    ) -> Self {
        let disk = Arc::clone(disk);
        Self { disk, file, path, contents, noted: Vec::new(), is_poisoned: false }
    }

    /// Notes digests that are inserted into the filter; returns them.
    pub(crate) fn note(&mut self, digests: impl IntoIterator<Item = Digest>) -> &[Digest] {
        let before = self.noted.len();
        self.noted.extend(digests);
        &self.noted[before..]
    }

    /// Notes digests that are inserted into a filter that is about to be saved for the first time.
    pub(crate) fn note_all(&mut self, digests: Vec<Digest>) {
        debug_assert!(self.noted.is_empty());
        self.noted = digests;
    }

    /// Writes the noted digests if they take much memory. They may be more than any image will
    /// have.
    ///
    /// # Errors
    ///
    /// Same as [`Keeper::append`].
    pub(crate) fn spill(&mut self) -> Result<(), Error> {
        if self.noted.len() > SPILL { self.append() } else { Ok(()) }
    }

    /// Makes the noted digests survive a power cut, with a record that the image with this
    /// fingerprint has no other keys. To be called before that image gets its name.
    ///
    /// # Errors
    ///
    /// Same as [`Keeper::append`].
    pub(crate) fn cover(&mut self, fingerprint: u64) -> Result<(), Error> {
        self.append()?;
        if self.is_removed()? {
            return Ok(());
        }
        // A cover is never on disk before the runs that it covers.
        self.sync()?;
        let (record, at) = (Record::Cover(fingerprint), self.contents.end);
        self.write(&record.encode(at), at)?;
        self.sync()?;
        self.contents.push(record, at + RECORD_BYTES as u64);
        Ok(())
    }

    fn sync(&mut self) -> Result<(), Error> {
        self.file.sync_data().map_err(|source| {
            self.is_poisoned = true;
            Error::io("sync", &self.path)(source)
        })
    }

    /// Passes all distinct digests to `each`: [`super::KeptDigests::for_each`].
    ///
    /// # Errors
    ///
    /// The errors of [`Keeper::append`] and [`super::KeptDigests::for_each`].
    pub(crate) fn for_each<E: From<Error>>(
        &mut self,
        each: impl FnMut(&[Digest]) -> Result<(), E>,
    ) -> Result<(), E> {
        self.append()?;
        merge::for_each(&*self.file, &self.path, &self.contents.runs, each)
    }

    /// Writes the noted digests as a run, after the runs that others have appended.
    ///
    /// # Errors
    ///
    /// [`Error::DigestsBehind`] if another file has the name by now; [`Error::Poisoned`];
    /// [`Error::NoSpace`], [`Error::Io`], after which it can be called again.
    fn append(&mut self) -> Result<(), Error> {
        if self.is_poisoned {
            return Err(Error::Poisoned { path: self.path.clone() });
        }
        if self.is_removed()? {
            self.noted.clear();
            return Ok(());
        }
        self.contents.read_on(&*self.file, &self.path, None)?;
        // A torn write, whose end would remain behind a shorter record.
        let bytes = self.file.look().map_err(Error::io("look at", &self.path))?.bytes;
        if bytes > self.contents.end {
            let cut = self.file.set_len(self.contents.end);
            cut.map_err(Error::io("cut the torn end of", &self.path))?;
        }
        self.noted.sort_unstable();
        self.noted.dedup();
        if self.noted.is_empty() {
            return Ok(());
        }
        let run = self.write_run()?;
        self.contents.push(Record::Run(run), run.at + run.bytes);
        self.noted = Vec::new();
        Ok(())
    }

    /// Writes the codes, and then the record before them.
    fn write_run(&self) -> Result<Run, Error> {
        let offset = self.contents.end;
        let at = offset + RECORD_BYTES as u64;
        let run = write_run(&self.noted, at, |bytes, at| self.write(bytes, at))?;
        self.write(&Record::Run(run).encode(offset), offset)?;
        Ok(run)
    }

    fn write(&self, bytes: &[u8], at: u64) -> Result<(), Error> {
        write_all_at(&*self.file, bytes, at).map_err(Error::write(&self.path, bytes.len() as u64))
    }

    /// Whether the file was removed, in order to continue without it.
    fn is_removed(&self) -> Result<bool, Error> {
        if is_at(&*self.disk, &*self.file, &self.path)? {
            return Ok(false);
        }
        if look_for(&*self.disk, &self.path, false)?.is_none() {
            return Ok(true);
        }
        let filter = self.path.with_extension("");
        Err(Error::DigestsBehind { path: self.path.clone(), filter })
    }
}

/// [`Error::DigestsBehind`] if there are digests beside a filter that does not exist yet, following
/// links.
pub(crate) fn refuse_digests(disk: &dyn Disk, filter: &Path) -> Result<(), Error> {
    settle(disk, filter)?;
    let path = path_of(filter)?;
    if look_for(disk, &path, false)?.is_some() && is_ours(disk, &path)? {
        return Err(Error::DigestsBehind { path, filter: filter.into() });
    }
    Ok(())
}

/// Removes the digests of the filter at a path, with links followed, that was replaced or removed;
/// files of other programs stay.
///
/// # Errors
///
/// [`Error::Io`].
pub(crate) fn remove_digests_of(disk: &dyn Disk, path: &Path) -> Result<bool, Error> {
    let path = path_of(path)?;
    if look_for(disk, &path, false)?.is_none() || !is_ours(disk, &path)? {
        return Ok(false);
    }
    disk.remove(&path).map_err(Error::io("remove", &path))?;
    sync_folder(disk, &path)?;
    Ok(true)
}
