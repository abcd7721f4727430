//! The folder: which file is what, and how one becomes another without ever being half there.
//!
//! ```text
//! lock               locked while a process serves the folder
//! key                the secret key of its digests
//! manifest           which lists of filters there are, where the log begins
//! spare              room for the records of deletions
//! log/N.log          segments, N = 1, 2, 3, …
//! filters/N.mayhap   images, N = 1, 2, 3, …; never by the name of a filter
//! filters/N.pack     images of small filters together, N of the same numbers
//! filters/N.list     lists of filters and their images, N of the same numbers
//! import/            what users put there
//! incomplete         in a copy of a folder until it is complete
//! *.tmp              what is being written; removed at start
//! ```

use super::Error;
use super::disk::{Disk, DiskFile, write_all_at};
use crate::fail_point::fail_point_of;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};

pub(super) const LOG: &str = "log";
pub(super) const FILTERS: &str = "filters";
pub(super) const IMPORT: &str = "import";
pub(super) const MANIFEST: &str = "manifest";
pub(super) const KEY: &str = "key";
/// What is in a copy from its beginning to its end.
pub(super) const INCOMPLETE: &str = "incomplete";
pub(super) const TEMPORARY: &str = ".tmp";

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

/// The number in a name that [`segment_path`], [`image_path`], [`pack_path`] or [`list_path`] made.
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
    root: PathBuf,
    /// What the file `key` has, once it was looked at.
    key: Arc<OnceLock<Box<[u8]>>>,
}

impl Store {
    pub(super) fn new(disk: Arc<dyn Disk>, root: &Path) -> Self {
        Self { disk, root: root.into(), key: Arc::default() }
    }

    /// Keeps what the file `key` has, to be written again should it be removed: without it the
    /// folder would not open any more.
    pub(super) fn keep_key(&self, bytes: &[u8]) {
        // It never changes.
        let _ = self.key.set(bytes.into());
    }

    /// Whether a file that the folder cannot be without is there, as far as is known.
    pub(super) fn has(&self, path: &str) -> bool {
        !matches!(self.disk.id(path), Err(error) if error.kind() == io::ErrorKind::NotFound)
    }

    /// Whether the file `key` was removed.
    pub(super) fn lacks_key(&self) -> bool {
        self.key.get().is_some() && !self.has(KEY)
    }

    /// Makes what a folder has, but for manifest, log and images.
    ///
    /// # Errors
    ///
    /// [`Error::Displaced`], as [`Disk::reclaim`] says; [`Error::Io`].
    pub(super) fn reclaim(&self, is_known: bool) -> Result<(), Error> {
        let displaced = |what| Error::Displaced { folder: self.path(""), what };
        self.disk.reclaim(is_known).map_err(|error| match error.kind() {
            io::ErrorKind::AlreadyExists => displaced("it has the filters of another server"),
            io::ErrorKind::CrossesDevices => displaced("it is on another disk"),
            io::ErrorKind::WouldBlock => displaced("another process serves it"),
            _ => self.error("make", "")(error),
        })?;
        for folder in [LOG, FILTERS, IMPORT] {
            self.create_dir(folder)?;
        }
        if let Some(key) = self.key.get().filter(|_| self.lacks_key()) {
            self.replace(KEY, key)?;
        }
        self.sync_dir("")
    }

    /// The path of a file as users know it.
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

    /// Opens a file with images, which the manifest names.
    pub(super) fn open_image(&self, path: &str) -> Result<Arc<dyn DiskFile>, Error> {
        match self.disk.open(path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                let why = "the manifest states that it existed";
                Err(Error::Missing { path: self.path(path), why })
            }
            opened => opened.map_err(self.error("open", path)),
        }
    }

    pub(super) fn list(&self, path: &str) -> Result<Vec<String>, Error> {
        self.disk.list(path).map_err(self.error("list", path))
    }

    pub(super) fn create_dir(&self, path: &str) -> Result<(), Error> {
        self.disk.create_dir(path).map_err(self.error("create", path))
    }

    /// The numbers of the files of a folder whose names end so, in order.
    pub(super) fn numbers(&self, folder: &str, suffix: &str) -> Result<Vec<u64>, Error> {
        let names = self.list(folder)?;
        let mut numbers: Vec<u64> = names.iter().filter_map(|n| number_in(n, suffix)).collect();
        numbers.sort_unstable();
        Ok(numbers)
    }

    pub(super) fn sync(&self, file: &dyn DiskFile, path: &str) -> Result<(), Error> {
        super::disk::again(|| file.sync()).map_err(self.error("sync", path))
    }

    pub(super) fn sync_dir(&self, path: &str) -> Result<(), Error> {
        super::disk::again(|| self.disk.sync_dir(path)).map_err(self.error("sync", path))
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

    /// The second half of [`Store::replace`]. After an error nobody knows which contents a crash
    /// would leave.
    pub(super) fn put_in_place(&self, path: &str) -> Result<(), Error> {
        let temporary = &format!("{path}{TEMPORARY}");
        self.disk.rename(temporary, path).map_err(self.error("replace", path))?;
        fail_point_of("replace.renamed", path);
        self.sync_dir(path.rsplit_once('/').map_or("", |(folder, _)| folder))?;
        fail_point_of("replace.done", path);
        Ok(())
    }

    /// Removes what a crash left half written.
    pub(super) fn remove_temporaries(&self) -> Result<(), Error> {
        for folder in ["", LOG, FILTERS] {
            for name in self.list(folder)? {
                let ours = name.strip_suffix(TEMPORARY).is_some_and(|name| match folder {
                    LOG => number_in(name, ".log").is_some(),
                    FILTERS => number_in(name, ".mayhap").is_some(),
                    _ => name == MANIFEST || name == KEY,
                });
                if ours {
                    let path = if folder.is_empty() { name } else { format!("{folder}/{name}") };
                    self.remove(&path)?;
                }
            }
        }
        Ok(())
    }

    pub(super) fn remove(&self, path: &str) -> Result<(), Error> {
        self.disk.remove(path).map_err(self.error("remove", path))
    }

    /// The whole of a small file, or `None` if there is none.
    pub(super) fn read(&self, path: &str) -> Result<Option<Vec<u8>>, Error> {
        match self.disk.open(path) {
            Ok(file) => self.read_file(&*file, path).map(Some),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(error) => Err(self.error("open", path)(error)),
        }
    }

    /// The whole of a file that is open.
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
