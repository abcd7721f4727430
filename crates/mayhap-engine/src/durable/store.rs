//! The folder: the role of each file, and how one is replaced without ever being partly visible.
//!
//! ```text
//! lock               locked while a process serves the folder
//! key                the secret key of its digests
//! manifest           the lists of filters, and where the log begins
//! spare              space for the records of deletions
//! log/N.log          segments, N = 1, 2, 3, …
//! filters/N.mayhap   images, N = 1, 2, 3, …; never by the name of a filter
//! filters/N.pack     images of small filters together, N of the same numbers
//! filters/N.list     lists of filters and their images, N of the same numbers
//! import/            users' own files
//! incomplete         in a copy of a folder until it is complete
//! *.tmp              files being written; removed at start
//! ```

use super::Error;
use super::disk::{Disk, DiskFile, again, write_all_at};
use crate::fail_point::fail_point_of;
use std::io::{self, Read};
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Bytes that are copied at a time.
const COPY_BYTES: usize = 1 << 20;
pub(super) const LOG: &str = "log";
pub(super) const FILTERS: &str = "filters";
pub(super) const IMPORT: &str = "import";
pub(super) const MANIFEST: &str = "manifest";
pub(super) const KEY: &str = "key";
/// The name of the file that is in a copy until it is complete.
pub(super) const INCOMPLETE: &str = "incomplete";
const TEMPORARY: &str = ".tmp";

pub(super) fn segment_path(number: u64) -> String {
    format!("{LOG}/{number}.log")
}

pub(super) fn image_path(number: u64) -> String {
    format!("{FILTERS}/{number}.mayhap")
}

pub(super) fn pack_path(number: u64) -> String {
    format!("{FILTERS}/{number}.pack")
}

pub(super) fn list_path(number: u64) -> String {
    format!("{FILTERS}/{number}.list")
}

/// The path of a file with this number.
type PathOf = fn(u64) -> String;

/// The files in the folder of images: their suffixes and their paths.
pub(super) const IMAGES: [(&str, PathOf); 3] =
    [(".mayhap", image_path), (".pack", pack_path), (".list", list_path)];

/// The number in a name made by [`segment_path`], [`image_path`], [`pack_path`] or [`list_path`].
pub(super) fn number_in(name: &str, suffix: &str) -> Option<u64> {
    let digits = name.strip_suffix(suffix)?;
    let number = digits.parse().ok()?;
    // One file, one number: neither `+7` nor `007`.
    (digits == format!("{number}")).then_some(number)
}

/// A disk, and its path for messages.
#[derive(Debug, Clone)]
pub(super) struct Store {
    pub(super) disk: Arc<dyn Disk>,
    /// The folder for users.
    pub(super) root: PathBuf,
}

impl Store {
    pub(super) fn new(disk: Arc<dyn Disk>, root: &Path) -> Self {
        Self { disk, root: root.into() }
    }

    /// Whether a file that the folder cannot do without exists, as far as known.
    pub(super) fn has(&self, path: &str) -> bool {
        !matches!(self.disk.id(path), Err(error) if error.kind() == io::ErrorKind::NotFound)
    }

    /// The path of a file for users.
    pub(super) fn path(&self, path: &str) -> PathBuf {
        self.root.join(path)
    }

    pub(super) fn error(
        &self,
        action: &'static str,
        path: &str,
    ) -> impl FnOnce(io::Error) -> Error + use<> {
        Error::io(action, self.path(path))
    }

    pub(super) fn open(&self, path: &str) -> Result<Arc<dyn DiskFile>, Error> {
        self.disk.open(path).map_err(self.error("open", path))
    }

    /// Opens a file, or returns `None` if it does not exist.
    pub(super) fn open_if_there(&self, path: &str) -> Result<Option<Arc<dyn DiskFile>>, Error> {
        match self.disk.open(path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            opened => opened.map(Some).map_err(self.error("open", path)),
        }
    }

    /// Opens a file that has to exist, for this reason.
    pub(super) fn open_needed(
        &self,
        path: &str,
        why: &'static str,
    ) -> Result<Arc<dyn DiskFile>, Error> {
        self.open_if_there(path)?.ok_or_else(|| Error::Missing { path: self.path(path), why })
    }

    /// Opens a file with images, which the manifest names.
    pub(super) fn open_image(&self, path: &str) -> Result<Arc<dyn DiskFile>, Error> {
        self.open_needed(path, "the manifest states that it existed")
    }

    /// The same for a file of this length.
    pub(super) fn open_whole(&self, path: &str, bytes: u64) -> Result<Arc<dyn DiskFile>, Error> {
        let file = self.open_image(path)?;
        let found = file.bytes().map_err(self.error("look at", path))?;
        if found != bytes {
            let what = format!("the file has {found} bytes instead of {bytes}");
            return Err(self.damaged(path, found.min(bytes), what));
        }
        Ok(file)
    }

    pub(super) fn damaged(&self, path: &str, offset: u64, what: impl Into<String>) -> Error {
        Error::Damaged { path: self.path(path), offset, what: what.into() }
    }

    pub(super) fn list(&self, path: &str) -> Result<Vec<String>, Error> {
        self.disk.list(path).map_err(self.error("list", path))
    }

    pub(super) fn create_dir(&self, path: &str) -> Result<(), Error> {
        self.disk.create_dir(path).map_err(self.error("create", path))
    }

    /// The numbers of the files in a folder that have this suffix, in order.
    pub(super) fn numbers(&self, folder: &str, suffix: &str) -> Result<Vec<u64>, Error> {
        let names = self.list(folder)?;
        let mut numbers: Vec<u64> = names.iter().filter_map(|n| number_in(n, suffix)).collect();
        numbers.sort_unstable();
        Ok(numbers)
    }

    pub(super) fn sync(&self, file: &dyn DiskFile, path: &str) -> Result<(), Error> {
        again(|| file.sync()).map_err(self.error("sync", path))
    }

    pub(super) fn sync_dir(&self, path: &str) -> Result<(), Error> {
        again(|| self.disk.sync_dir(path)).map_err(self.error("sync", path))
    }

    /// Writes a new file with what is read from another one, and syncs it; returns its length.
    pub(super) fn copy(&self, mut input: impl Read, from: &Path, path: &str) -> Result<u64, Error> {
        let to = self.disk.create(path).map_err(self.error("create", path))?;
        let (mut buffer, mut done) = (vec![0; COPY_BYTES], 0);
        loop {
            let found =
                again(|| input.read(&mut buffer)).map_err(Error::io("read", from.into()))?;
            if found == 0 {
                break;
            }
            write_all_at(&*to, &buffer[..found], done).map_err(self.error("write", path))?;
            done += found as u64;
        }
        self.sync(&*to, path)?;
        Ok(done)
    }

    /// Gives a file these contents: at any moment, and after any crash, the path has the old ones
    /// or the new ones.
    pub(super) fn replace(&self, path: &str, bytes: &[u8]) -> Result<Arc<dyn DiskFile>, Error> {
        let file = self.prepare(path, bytes)?;
        self.put_in_place(path)?;
        Ok(file)
    }

    /// The first half of [`Store::replace`], after which nothing has changed.
    pub(super) fn prepare(&self, path: &str, bytes: &[u8]) -> Result<Arc<dyn DiskFile>, Error> {
        let temporary = &format!("{path}{TEMPORARY}");
        let file = self.disk.create(temporary).map_err(self.error("create", temporary))?;
        fail_point_of("replace.created", path);
        write_all_at(&*file, bytes, 0).map_err(self.error("write", temporary))?;
        fail_point_of("replace.written", path);
        self.sync(&*file, temporary)?;
        fail_point_of("replace.synced", path);
        Ok(file)
    }

    /// The second half of [`Store::replace`]. After an error it is unknown which contents a crash
    /// would leave.
    pub(super) fn put_in_place(&self, path: &str) -> Result<(), Error> {
        let temporary = &format!("{path}{TEMPORARY}");
        self.disk.rename(temporary, path).map_err(self.error("replace", path))?;
        fail_point_of("replace.renamed", path);
        self.sync_dir(path.rsplit_once('/').map_or("", |(folder, _)| folder))?;
        fail_point_of("replace.done", path);
        Ok(())
    }

    /// The paths of our files at the top and in the folders of the log and of images, unfinished
    /// ones (`*.tmp`) among them.
    pub(super) fn files(&self) -> Result<Vec<String>, Error> {
        let mut files = Vec::new();
        for folder in ["", LOG, FILTERS] {
            for name in self.list(folder)? {
                let whole = name.strip_suffix(TEMPORARY).unwrap_or(&name);
                let is_ours = match folder {
                    "" => whole == MANIFEST || whole == KEY,
                    LOG => number_in(whole, ".log").is_some(),
                    _ => IMAGES.iter().any(|(suffix, _)| number_in(whole, suffix).is_some()),
                };
                if is_ours {
                    files.push(if folder.is_empty() { name } else { format!("{folder}/{name}") });
                }
            }
        }
        Ok(files)
    }

    /// Removes files that a crash left half written.
    pub(super) fn remove_temporaries(&self) -> Result<(), Error> {
        let files = self.files()?;
        files.iter().filter(|path| path.ends_with(TEMPORARY)).try_for_each(|path| self.remove(path))
    }

    pub(super) fn remove(&self, path: &str) -> Result<(), Error> {
        self.disk.remove(path).map_err(self.error("remove", path))
    }

    /// The whole contents of a small file, or `None` if it does not exist.
    pub(super) fn read(&self, path: &str) -> Result<Option<Vec<u8>>, Error> {
        let file = self.open_if_there(path)?;
        file.map(|file| self.read_file(&*file, path)).transpose()
    }

    /// The whole contents of an open file.
    pub(super) fn read_file(&self, file: &dyn DiskFile, path: &str) -> Result<Vec<u8>, Error> {
        let bytes = file.bytes().map_err(self.error("look at", path))?;
        let mut contents = Vec::new();
        let room = usize::try_from(bytes).map_err(|_| io::ErrorKind::FileTooLarge.into());
        room.and_then(|room| contents.try_reserve_exact(room).map(|()| room).map_err(Into::into))
            .and_then(|room| {
                contents.resize(room, 0);
                super::disk::read_up_to(file, &mut contents, 0)
            })
            .map(|found| contents.truncate(found))
            .map_err(self.error("read", path))?;
        Ok(contents)
    }
}
