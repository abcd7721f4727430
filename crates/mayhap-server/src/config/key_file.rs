//! The file of a secret key: 16 bytes as they are, or 32 hex digits.

use mayhap::SecretKey;
use std::fmt;
use std::fs::File;
use std::io::{self, Read};
use std::path::{Path, PathBuf};

/// A longer file holds no key, and is not read further.
const MAX_BYTES: u64 = 256;

/// The permission of others to read. Groups are a way to hand secrets to a service.
#[cfg(unix)]
const READ_BY_OTHERS: u32 = 0o004;

/// Why a file gives no secret key.
#[derive(Debug)]
#[non_exhaustive]
pub enum KeyFileError {
    /// It cannot be opened or read.
    Io {
        /// The file.
        path: PathBuf,
        /// The system's answer.
        source: io::Error,
    },
    /// Other users of the machine may read it.
    Readable {
        /// The file.
        path: PathBuf,
        /// Its permissions.
        mode: u32,
    },
    /// It holds something else.
    NoKey {
        /// The file.
        path: PathBuf,
        /// The bytes that were read of it.
        bytes: usize,
    },
}

/// Reads a secret key.
///
/// # Errors
///
/// [`KeyFileError`].
pub fn read_key_file(path: &Path) -> Result<SecretKey, KeyFileError> {
    let failed = |source| KeyFileError::Io { path: path.into(), source };
    let mut bytes = Vec::new();
    let file = File::open(path).map_err(failed)?;
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;

        let mode = file.metadata().map_err(failed)?.permissions().mode() & 0o777;
        if mode & READ_BY_OTHERS != 0 {
            return Err(KeyFileError::Readable { path: path.into(), mode });
        }
    }
    file.take(MAX_BYTES).read_to_end(&mut bytes).map_err(failed)?;
    let key = <[u8; 16]>::try_from(bytes.as_slice()).ok().map(SecretKey::new);
    let key = key.or_else(|| crate::durable::parse_key(&bytes));
    key.ok_or_else(|| KeyFileError::NoKey { path: path.into(), bytes: bytes.len() })
}

impl fmt::Display for KeyFileError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Io { path, source } => write!(f, "cannot read {}: {source}", path.display()),
            Self::Readable { path, mode } => write!(
                f,
                "{} is readable by every user of this machine (mode {mode:03o}); run chmod o= on \
                 it, and use another key if somebody may have read it",
                path.display()
            ),
            Self::NoKey { path, bytes } => {
                write!(f, "{} has {bytes} bytes, which are not a secret key", path.display())
            }
        }
    }
}

impl std::error::Error for KeyFileError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            Self::Io { source, .. } => Some(source),
            Self::NoKey { .. } | Self::Readable { .. } => None,
        }
    }
}
