//! The file of a secret key: 16 bytes as they are, or 32 hex digits.

use super::Config;
use mayhap::SecretKey;
use std::fs::{File, Metadata};
use std::io::{self, Read};
use std::path::{Path, PathBuf};

/// A longer file holds no key and is not read any further.
const MAX_BYTES: u64 = 256;

/// The permission of others to read.
const READ_BY_OTHERS: u32 = 0o004;
/// The permission of the file's group to read.
const READ_BY_GROUP: u32 = 0o040;

/// Why a key file is refused.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum KeyFileError {
    /// It cannot be opened or read.
    #[error("cannot read {}: {source}", .path.display())]
    Io {
        /// The file.
        path: PathBuf,
        /// The system's error.
        source: io::Error,
    },
    /// Other users of the machine may read it.
    #[error(
        "{} is readable by every user of this machine (mode {mode:03o}); run chmod o= on it, and \
         use another key if somebody may have read it; --insecure-key-file takes it as it is",
        .path.display()
    )]
    Readable {
        /// The file.
        path: PathBuf,
        /// Its permissions.
        mode: u32,
    },
    /// It does not hold a key.
    #[error("{} has {bytes} bytes, which are not a secret key", .path.display())]
    NoKey {
        /// The file.
        path: PathBuf,
        /// The bytes that were read from it.
        bytes: usize,
    },
}

/// The secret key of the setting `key_file`, if there is one; with `insecure_key_file` also one
/// that every user of the machine can read.
///
/// # Errors
///
/// [`KeyFileError`].
pub fn read_key_file_of(config: &Config) -> Result<Option<SecretKey>, KeyFileError> {
    config.key_file.as_deref().map(|path| read(path, config.insecure_key_file)).transpose()
}

fn read(path: &Path, insecure: bool) -> Result<SecretKey, KeyFileError> {
    let failed = |source| KeyFileError::Io { path: path.into(), source };
    let mut bytes = Vec::new();
    let file = File::open(path).map_err(failed)?;
    if let Some(mode) = mode(&file.metadata().map_err(failed)?) {
        allow(path, mode, insecure)?;
    }
    file.take(MAX_BYTES).read_to_end(&mut bytes).map_err(failed)?;
    let key = <[u8; 16]>::try_from(bytes.as_slice()).ok().map(SecretKey::new);
    let key = key.or_else(|| mayhap_engine::durable::parse_key(&bytes));
    key.ok_or_else(|| KeyFileError::NoKey { path: path.into(), bytes: bytes.len() })
}

/// Refuses a secret key that every user of the machine can read, and warns about one that its group
/// can read: a group is a way to hand secrets to a service, as with `fsGroup` of Kubernetes.
fn allow(path: &Path, mode: u32, insecure: bool) -> Result<(), KeyFileError> {
    if mode & READ_BY_OTHERS != 0 && !insecure {
        return Err(KeyFileError::Readable { path: path.into(), mode });
    }
    if let Some(text) = readers(path, mode) {
        log::warn!("{text}: it holds the secret key of the filters");
    }
    Ok(())
}

/// Checks the file of the secret key in a data folder, if it exists. If the file system has no
/// permissions, as one of another operating system may, they cannot be corrected: that is a
/// warning.
///
/// # Errors
///
/// [`KeyFileError::Readable`] if every user of the machine can read it, unless `insecure`.
pub(crate) fn check_data_key(data: &Path, insecure: bool) -> Result<(), KeyFileError> {
    let path = data.join("key");
    match std::fs::metadata(&path).ok().as_ref().and_then(mode) {
        Some(mode) => allow(&path, mode, insecure || !keeps_permissions(data)),
        None => Ok(()),
    }
}

/// Whether a file that is created for its owner alone keeps these permissions.
fn keeps_permissions(folder: &Path) -> bool {
    let path = folder.join(".permissions");
    let mut options = File::options();
    options.write(true).create(true).truncate(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    let made = options.open(&path).and_then(|file| file.metadata());
    let _ = std::fs::remove_file(&path);
    // A file that cannot be created is reported elsewhere.
    !made.is_ok_and(|meta| mode(&meta).is_some_and(|mode| mode & READ_BY_OTHERS != 0))
}

/// The message about a secret file that users other than its owner can read.
pub(super) fn readers(path: &Path, mode: u32) -> Option<String> {
    let who = if mode & READ_BY_OTHERS != 0 {
        "every user of this machine"
    } else if mode & READ_BY_GROUP != 0 {
        "its group"
    } else {
        return None;
    };
    Some(format!("{} is readable by {who} (mode {mode:03o})", path.display()))
}

/// The message about a secret file that every user of the machine can read.
pub(super) fn open_to_all(path: &Path, what: &str) -> Option<String> {
    let mode = std::fs::metadata(path).ok().as_ref().and_then(mode)?;
    let text = readers(path, mode).filter(|_| mode & READ_BY_OTHERS != 0)?;
    Some(format!("{text}: it holds {what}; chmod o= keeps it to its owner and group"))
}

/// The permissions of a file, if the system has them.
#[cfg(unix)]
#[expect(clippy::unnecessary_wraps, reason = "elsewhere there are none")]
fn mode(meta: &Metadata) -> Option<u32> {
    use std::os::unix::fs::PermissionsExt;

    Some(meta.permissions().mode() & 0o777)
}

#[cfg(not(unix))]
fn mode(_meta: &Metadata) -> Option<u32> {
    None
}
