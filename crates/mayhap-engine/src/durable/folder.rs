//! A locked data folder, and its secret key.

use super::disk::{Disk, Folder};
use super::manifest::Manifest;
use super::recover::check_new;
use super::store::{KEY, MANIFEST};
use super::{Error, Store, incomplete};
use mayhap::SecretKey;
use std::io;
use std::path::Path;
use std::sync::{Arc, OnceLock};

/// A data folder, locked against other processes while this lives.
///
/// # Examples
///
/// ```
/// use mayhap_engine::durable::DataFolder;
///
/// # let path = tempfile::tempdir()?;
/// # let path = path.path();
/// let folder = DataFolder::open(path)?;
/// assert!(DataFolder::open(path).is_err());
/// let key = folder.secret_key()?;
/// drop(folder);
/// assert_eq!(DataFolder::open(path)?.secret_key()?, key);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct DataFolder {
    pub(super) store: Store,
    /// Whether the file `key` was read: the next start needs it, too.
    reads_key: OnceLock<()>,
}

impl DataFolder {
    /// Opens a folder, or creates one for its owner alone.
    ///
    /// # Errors
    ///
    /// [`Error::Locked`] if another process has it; [`Error::Incomplete`] for a copy that was cut
    /// short, which is left unchanged; [`Error::Io`].
    pub fn open(path: &Path) -> Result<Self, Error> {
        incomplete::check(path)?;
        let folder = Self::lock(path)?;
        // A copy may have been begun and ended meanwhile.
        incomplete::check(path)?;
        Ok(folder)
    }

    /// The same, whatever the folder contains.
    pub(super) fn lock(path: &Path) -> Result<Self, Error> {
        match Folder::open(path) {
            Ok(disk) => Ok(Self::on(Arc::new(disk), path)),
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                Err(Error::Locked { folder: path.into() })
            }
            Err(error) => {
                let action =
                    if error.kind() == io::ErrorKind::Unsupported { "lock" } else { "open" };
                Err(Error::io(action, path.into())(error))
            }
        }
    }

    /// The same even if the file system has no locks: for a copy, which no server uses.
    pub(super) fn lock_if_possible(path: &Path) -> Result<Self, Error> {
        match Self::lock(path) {
            Err(Error::Io { action: "lock", path: of, source }) => {
                log::warn!(
                    "{}: the file system has no locks ({source}): nothing keeps another process \
                     out of the copy",
                    of.display()
                );
                let disk = Folder::unlocked(path).map_err(Error::io("open", path.into()))?;
                Ok(Self::on(Arc::new(disk), path))
            }
            locked => locked,
        }
    }

    pub(super) fn on(disk: Arc<dyn Disk>, path: &Path) -> Self {
        Self { store: Store::new(disk, path), reads_key: OnceLock::new() }
    }

    /// The folder, as it was given.
    pub fn path(&self) -> &Path {
        &self.store.root
    }

    /// The key of the folder's digests: 32 hex digits in the file `key`, which only its owner can
    /// read. The first call in a new folder creates it, at random.
    ///
    /// # Errors
    ///
    /// [`Error::NoKey`] if the folder has filters, and no key; [`Error::Missing`] if it has a log
    /// or images and nothing states which key they need; [`Error::Damaged`] if the file holds
    /// something else; [`Error::Io`]. Then nothing was written.
    pub fn secret_key(&self) -> Result<SecretKey, Error> {
        let Some(bytes) = self.store.read(KEY)? else {
            if let Some(manifest) = Manifest::read(&self.store)? {
                return Err(self.no_key(&manifest));
            }
            check_new(&self.store)?;
            let mut key = [0; 16];
            getrandom::fill(&mut key)
                .map_err(|error| self.store.error("make", KEY)(io::Error::other(error)))?;
            let text = format!("{:032x}\n", u128::from_be_bytes(key));
            self.store.replace(KEY, text.as_bytes())?;
            self.reads_key.get_or_init(|| ());
            return Ok(SecretKey::new(key));
        };
        let key = parse_key(&bytes).ok_or_else(|| {
            let what = format!("{} bytes that are not 32 hex digits", bytes.len());
            self.store.damaged(KEY, 0, what)
        })?;
        self.reads_key.get_or_init(|| ());
        Ok(key)
    }

    /// The files at the top of an open folder without which the next start would fail.
    pub(super) fn needed(&self) -> Vec<&'static str> {
        self.reads_key.get().map(|()| KEY).into_iter().chain([MANIFEST]).collect()
    }

    /// The error for a folder that has filters but not their key.
    pub(super) fn no_key(&self, manifest: &Manifest) -> Error {
        Error::NoKey { path: self.store.path(KEY), id: manifest.identity.digest_parameter }
    }
}

/// A secret key as text: 32 hex digits, with white space around them.
pub fn parse_key(text: &[u8]) -> Option<SecretKey> {
    let text = std::str::from_utf8(text).ok()?.trim();
    let digits = text.len() == 32 && text.bytes().all(|byte| byte.is_ascii_hexdigit());
    let key = u128::from_str_radix(text, 16).ok().filter(|_| digits)?;
    Some(SecretKey::new(key.to_be_bytes()))
}
