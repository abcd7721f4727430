//! Filters on a Redis or Valkey server, named by a URL where else a file is named.
//!
//! `connect.rs` connects, `file.rs` is a filter on a server as the verbs see it,
//! `create.rs` creates one, and `union.rs` moves whole ones.

#[cfg(feature = "redis")]
mod connect;
#[cfg(feature = "redis")]
pub mod create;
#[cfg(feature = "redis")]
mod file;
#[cfg(feature = "redis")]
pub mod union;

#[cfg(feature = "redis")]
use crate::args::url::is_url;
use crate::args::{ReplicaArgs, ServerArgs};
use crate::error::Error;
use crate::io::messages::Talk;
use mayhap::SecretKey;
use mayhap_keys::KeyOptions;
use mayhap_sets::KeySet;
use std::path::Path;

#[cfg(feature = "redis")]
pub use connect::{Connection, Place};
#[cfg(feature = "redis")]
pub use file::RemoteFile;

/// The URL of a filter without the password, the filter, and the key options that it keeps.
pub type Found = (String, Box<dyn KeySet>, KeyOptions);

/// The filter that a URL names, to be queried; `None` for a file.
///
/// # Errors
///
/// [`Error::Remote`], [`Error::Usage`].
pub fn open(
    path: &Path,
    key: Option<SecretKey>,
    args: &ServerArgs,
    talk: Talk,
) -> Result<Option<Found>, Error> {
    open_to_add(path, key, (args, ReplicaArgs::default()), talk)
}

/// [`open`] for keys to be added.
///
/// # Errors
///
/// [`Error::Remote`], [`Error::Usage`].
#[cfg(feature = "redis")]
pub fn open_to_add(
    path: &Path,
    key: Option<SecretKey>,
    (args, replicas): (&ServerArgs, ReplicaArgs),
    talk: Talk,
) -> Result<Option<Found>, Error> {
    if !is_url(path) {
        return Ok(None);
    }
    let (file, options) = RemoteFile::open(path, key, (args, replicas), talk)?;
    Ok(Some((file.url().to_owned(), Box::new(file), options)))
}

/// `None`: URLs were refused before.
///
/// # Errors
///
/// None.
#[cfg(not(feature = "redis"))]
pub fn open_to_add(
    _path: &Path,
    _key: Option<SecretKey>,
    _args: (&ServerArgs, ReplicaArgs),
    _talk: Talk,
) -> Result<Option<Found>, Error> {
    Ok(None)
}
