//! Filters on a Redis or Valkey server, named by a URL where else a file is named.
//!
//! `connect.rs` connects; what is there is found out by `mayhap_remote`, whose sets the verbs see.
//! `create.rs` creates one, and `union.rs` moves whole ones.

#[cfg(feature = "redis")]
mod connect;
#[cfg(feature = "redis")]
pub mod create;
#[cfg(feature = "redis")]
pub mod union;

#[cfg(feature = "redis")]
use crate::args::url::is_url;
use crate::args::{ForeignArgs, OpenArgs, ReplicaArgs, ServerArgs};
use crate::error::Error;
use crate::io::messages::Talk;
#[cfg(feature = "redis")]
use crate::set::foreign::say_guess;
use mayhap::SecretKey;
use mayhap_keys::KeyOptions;
use mayhap_sets::KeySet;
use std::path::Path;

#[cfg(feature = "redis")]
pub use connect::{Connection, Place};
#[cfg(feature = "redis")]
use mayhap_remote::Opened;
/// The URL of a filter without the password, the filter, and the key options that it keeps, if it
/// does.
pub type Found = (String, Box<dyn KeySet>, Option<KeyOptions>);

/// How a filter on a server is opened.
#[derive(Debug, Clone, Copy)]
pub struct Access<'a> {
    /// The secret key, if one is named.
    pub key: Option<SecretKey>,
    /// Whether the key is for several filters, of which some may have none.
    pub key_of_several: bool,
    /// What it is, where that is not found out.
    pub foreign: &'a ForeignArgs,
    /// Options for the connection to the server.
    pub server: &'a ServerArgs,
    /// What a write has to reach.
    pub replicas: ReplicaArgs,
}

impl<'a> Access<'a> {
    /// As the arguments of a verb say, for queries.
    ///
    /// # Errors
    ///
    /// Those of [`OpenArgs::secret_key`].
    pub fn of(args: &'a OpenArgs) -> Result<Self, Error> {
        let (foreign, server, replicas) = (&args.foreign, &args.server, ReplicaArgs::default());
        let key = args.secret_key()?;
        Ok(Self { key, key_of_several: false, foreign, server, replicas })
    }

    /// Connects to the server of a URL.
    ///
    /// # Errors
    ///
    /// Those of [`Place::of`] and [`Connection::open`].
    #[cfg(feature = "redis")]
    pub fn connect(&self, path: &Path, talk: Talk) -> Result<Connection, Error> {
        Connection::open(Place::of(path)?, self.server, self.replicas, talk)
    }
}

/// The filter that a URL names; `None` for a file. Where it keeps no key options, they are as
/// given.
///
/// # Errors
///
/// [`Error::Remote`], [`Error::Usage`].
#[cfg(feature = "redis")]
pub fn open(path: &Path, access: Access<'_>, talk: Talk) -> Result<Option<Found>, Error> {
    if !is_url(path) {
        return Ok(None);
    }
    let (set, options) = open_server_set(path, access, talk)?;
    Ok(Some((set.url().to_owned(), set.into_key_set(), options)))
}

/// [`open`] with what only servers have, for a URL; says of which type keys are taken to be, if
/// that was guessed.
///
/// # Errors
///
/// [`Error::Remote`], [`Error::Usage`].
#[cfg(feature = "redis")]
pub fn open_server_set(path: &Path, access: Access<'_>, talk: Talk) -> Result<Opened, Error> {
    open_on(&access.connect(path, talk)?, access, talk)
}

/// [`open_server_set`] on a connection.
///
/// # Errors
///
/// [`Error::Remote`].
#[cfg(feature = "redis")]
pub fn open_on(connection: &Connection, access: Access<'_>, talk: Talk) -> Result<Opened, Error> {
    let known = mayhap_remote::Known {
        key_of_several: access.key_of_several,
        ..access.foreign.known_of_server(access.key)
    };
    let (set, options) = mayhap_remote::open(&connection.origin(), &known)?;
    say_guess(set.url(), set.scheme(), set.key_types(), talk);
    Ok((set, options))
}

/// `None`: URLs were refused before.
///
/// # Errors
///
/// None.
#[cfg(not(feature = "redis"))]
pub fn open(_path: &Path, _access: Access<'_>, _talk: Talk) -> Result<Option<Found>, Error> {
    Ok(None)
}
