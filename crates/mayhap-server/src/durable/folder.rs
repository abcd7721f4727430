//! A data folder that is locked, and its secret key.

use super::disk::{Disk, Folder};
use super::manifest::Manifest;
use super::recover::check_new;
use super::store::KEY;
use super::{Error, Store, incomplete};
use mayhap::SecretKey;
use std::io;
use std::path::Path;
use std::sync::Arc;

/// A data folder that no other process has while this lives.
///
/// # Examples
///
/// ```
/// use mayhap_server::durable::DataFolder;
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
}

impl DataFolder {
    /// Opens a folder, or makes one for its owner alone.
    ///
    /// # Errors
    ///
    /// [`Error::Locked`] if another process has it; [`Error::Incomplete`] for a copy that was cut
    /// short, in which nothing is changed; [`Error::Io`].
    pub fn open(path: &Path) -> Result<Self, Error> {
        incomplete::check(path)?;
        let folder = Self::lock(path)?;
        // A copy may have been begun meanwhile, and ended.
        incomplete::check(path)?;
        Ok(folder)
    }

    /// The same whatever is in the folder.
    pub(super) fn lock(path: &Path) -> Result<Self, Error> {
        match Folder::open(path) {
            Ok(disk) => Ok(Self::on(Arc::new(disk), path)),
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                Err(Error::Locked { folder: path.into() })
            }
            Err(error) if error.kind() == io::ErrorKind::Unsupported => {
                Err(Error::io("lock", path.into())(error))
            }
            Err(error) => Err(Error::io("open", path.into())(error)),
        }
    }

    /// The same also where the file system has no locks: for a copy, which nobody serves.
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
        Self { store: Store::new(disk, path) }
    }

    /// The key of the folder's digests: 32 hex digits in the file `key`, which only its owner can
    /// read. The first call in a new folder makes it, at random.
    ///
    /// # Errors
    ///
    /// [`Error::NoKey`] if the folder has filters, and no key; [`Error::Missing`] if it has a log
    /// or images of which nothing says what key they need; [`Error::Damaged`] if the file holds
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
            self.store.keep_key(text.as_bytes());
            return Ok(SecretKey::new(key));
        };
        let key = parse_key(&bytes).ok_or_else(|| Error::Damaged {
            path: self.store.path(KEY),
            offset: 0,
            what: format!("{} bytes that are not 32 hex digits", bytes.len()),
        })?;
        self.store.keep_key(&bytes);
        Ok(key)
    }

    /// The error of a folder with filters and without their key.
    pub(super) fn no_key(&self, manifest: &Manifest) -> Error {
        Error::NoKey { path: self.store.path(KEY), id: manifest.identity.digest_parameter }
    }
}

/// A secret key as text: 32 hex digits, with white space around them.
pub(crate) fn parse_key(text: &[u8]) -> Option<SecretKey> {
    let text = std::str::from_utf8(text).ok()?.trim();
    let digits = text.len() == 32 && text.bytes().all(|byte| byte.is_ascii_hexdigit());
    let key = u128::from_str_radix(text, 16).ok().filter(|_| digits)?;
    Some(SecretKey::new(key.to_be_bytes()))
}
