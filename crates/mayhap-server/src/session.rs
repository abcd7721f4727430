//! The server's state of one connection.

use crate::command::Queue;
use crate::config::Rights;
use mayhap_engine::durable::Lease;
use std::net::SocketAddr;
use std::ops::{Deref, DerefMut};

/// The server's state of one connection.
#[derive(Debug, Default)]
pub struct Session {
    /// `CLIENT ID`: 1, 2, 3, …
    pub id: u64,
    /// The client's address.
    pub address: Option<SocketAddr>,
    /// The client's name and library.
    pub info: Tracked<ClientInfo>,
    /// The rights of its user.
    pub rights: Rights,
    /// The version of the users at that time.
    pub(crate) users_version: u64,
    /// Wrong passwords since the last right one.
    pub failed_logins: u32,
    /// The requests since `MULTI`.
    pub(crate) queue: Option<Box<Queue>>,
    /// The lease of a backup in progress.
    pub(crate) lease: Option<Lease>,
}

/// A client's own description.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ClientInfo {
    /// `CLIENT SETNAME`.
    pub name: Vec<u8>,
    /// `CLIENT SETINFO LIB-NAME` and `LIB-VER`.
    pub library: [Vec<u8>; 2],
    /// The user that has logged in; `None` until then if a password is required.
    pub user: Option<String>,
    /// Whether `HELLO 3` has selected RESP3.
    pub resp3: bool,
}

/// A value that knows whether it may have changed: whether it was borrowed to be changed.
///
/// # Examples
///
/// ```
/// let mut session = mayhap_server::Session::default();
/// session.info.name = b"crawler".to_vec();
/// assert!(session.info.take_changed());
/// assert_eq!(session.info.name, b"crawler");
/// assert!(!session.info.take_changed());
/// ```
#[derive(Debug, Clone, Default)]
pub struct Tracked<T> {
    value: T,
    may_have_changed: bool,
}

impl<T> Tracked<T> {
    /// Whether it may have changed since this was last called, or since the start.
    pub const fn take_changed(&mut self) -> bool {
        std::mem::replace(&mut self.may_have_changed, false)
    }
}

impl<T> Deref for Tracked<T> {
    type Target = T;

    fn deref(&self) -> &T {
        &self.value
    }
}

impl<T> DerefMut for Tracked<T> {
    fn deref_mut(&mut self) -> &mut T {
        self.may_have_changed = true;
        &mut self.value
    }
}

impl Session {
    /// A new connection, with the rights before a login.
    pub fn new(id: u64, address: Option<SocketAddr>, rights: Rights) -> Self {
        Self { id, address, rights, ..Self::default() }
    }

    /// Whether a required login is missing.
    #[inline]
    pub(crate) fn needs_login(&self) -> bool {
        self.info.user.is_none() && !self.rights.has_any()
    }

    /// The user, as answers name it.
    pub(crate) fn user(&self) -> &str {
        self.info.user.as_deref().unwrap_or("default")
    }
}
