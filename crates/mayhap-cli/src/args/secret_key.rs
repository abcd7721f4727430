//! Files of secret keys, and what a key means for a filter that exists.

use crate::error::Error;
use crate::random;
use mayhap::SecretKey;
use mayhap::native::Header;
use std::fs::{File, OpenOptions};
use std::io::{Read, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

/// Longer files are no keys: 32 hex digits and white space.
const MAX_KEY_FILE_BYTES: u64 = 256;

/// Reads a secret key: 16 bytes as they are, or 32 hex digits.
///
/// # Errors
///
/// [`Error::Io`], [`Error::Usage`].
pub fn read(path: &Path) -> Result<SecretKey, Error> {
    let name = path.display().to_string();
    let mut bytes = Vec::new();
    let file = File::open(path).map_err(Error::io("open", &name))?;
    file.take(MAX_KEY_FILE_BYTES).read_to_end(&mut bytes).map_err(Error::io("read", &name))?;
    if let Ok(key) = <[u8; 16]>::try_from(bytes.as_slice()) {
        return Ok(SecretKey::new(key));
    }
    let key = std::str::from_utf8(&bytes).ok().and_then(|text| parse_hex(text.trim()));
    key.map(SecretKey::new).ok_or_else(|| {
        Error::usage(
            format!("{name} has {} bytes, which are not a secret key", bytes.len()),
            "a key file has 32 hex digits or 16 bytes; create one with --new-key-file FILE",
        )
    })
}

fn parse_hex(text: &str) -> Option<[u8; 16]> {
    if text.len() != 32 || !text.bytes().all(|byte| byte.is_ascii_hexdigit()) {
        return None;
    }
    u128::from_str_radix(text, 16).ok().map(u128::to_be_bytes)
}

/// Creates a random secret key and its file, which must not exist yet, with mode 0600.
///
/// # Errors
///
/// [`Error::Io`].
pub fn create(path: &Path) -> Result<SecretKey, Error> {
    let name = path.display().to_string();
    let key = random::bytes()?;
    let mut file = OpenOptions::new()
        .write(true)
        .create_new(true)
        .mode(0o600)
        .open(path)
        .map_err(Error::io("create", &name))?;
    let text = format!("{:032x}\n", u128::from_be_bytes(key));
    file.write_all(text.as_bytes())
        .and_then(|()| file.sync_all())
        .map_err(Error::io("write", &name))?;
    Ok(SecretKey::new(key))
}

/// Checks a key that is given against a file of mayhap's own, also where no key is hashed: it has
/// to be the key of that filter.
///
/// # Errors
///
/// [`Error::Store`] with the file, if the filter has another key or none.
pub fn check(key: Option<SecretKey>, path: &Path, header: &Header) -> Result<(), Error> {
    match key {
        Some(_) => header.digest_function(key).map(drop).map_err(|source| of_file(path, source)),
        None => Ok(()),
    }
}

/// Refuses a key that is given for a filter of another system: none of them has one.
///
/// # Errors
///
/// [`Error::Store`] with the file.
pub fn refuse(key: Option<SecretKey>, path: &Path) -> Result<(), Error> {
    key.map_or(Ok(()), |_| Err(of_file(path, mayhap::Error::NotKeyed)))
}

fn of_file(path: &Path, source: mayhap::Error) -> Error {
    Error::Store(mayhap_store::Error::Format { path: path.to_owned(), source })
}
