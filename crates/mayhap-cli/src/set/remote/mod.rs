//! Filters on a Redis or Valkey server, named by a URL where else a file is named.
//!
//! `connect.rs` connects, `file.rs` is a filter on a server as the verbs see it ([`OnServer`]),
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
use crate::set::state::State;
use mayhap::{Bitmap, Digest, DigestFunction, FilterParams, SecretKey};
use mayhap_keys::KeyOptions;
use std::fmt;
use std::path::Path;

#[cfg(feature = "redis")]
pub use connect::{Connection, Place};
#[cfg(feature = "redis")]
pub use file::RemoteFile;

/// A filter on a server, and the key options that it keeps.
pub type Found = (Box<dyn OnServer>, KeyOptions);

/// The filter that a URL names, to be asked; `None` for a file.
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
    Ok(Some((Box::new(file), options)))
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

/// A filter on a server, as the verbs that insert and ask see it.
pub trait OnServer: fmt::Debug {
    /// The URL, without the password.
    fn name(&self) -> &str;

    /// Its numbers.
    fn params(&self) -> FilterParams;

    /// How keys become digests.
    fn digest_function(&self) -> DigestFunction;

    /// How keys are cut, as in the header of a file.
    fn key_options(&self) -> String;

    /// Inserts many digests; which were new, as far as is known. After an error any of them may be
    /// in it.
    ///
    /// # Errors
    ///
    /// [`Error::Remote`].
    fn insert_digests_into(&mut self, digests: &[Digest], new: &mut Bitmap) -> Result<(), Error>;

    /// Asks for many digests.
    ///
    /// # Errors
    ///
    /// [`Error::Remote`].
    fn contains_digests_into(&self, digests: &[Digest], found: &mut Bitmap) -> Result<(), Error>;

    /// Counts its bits.
    ///
    /// # Errors
    ///
    /// [`Error::Remote`].
    fn look(&mut self) -> Result<(), Error>;

    /// Distinct keys: those that the bits spoke of when they were counted last, and those that came
    /// from here since.
    fn items(&self) -> u64;

    /// The [`OnServer::items`] at which it is full beyond chance (99 %), which the bits are subject
    /// to.
    fn full_at(&self) -> u64;

    /// Whether a round trip to the server takes more than a millisecond.
    fn is_far(&self) -> bool;

    /// Its state when its bits were counted last.
    fn state(&self) -> State;

    /// Warns of what only filters on a server have: replies that were lost.
    fn warn(&self, talk: Talk);
}
