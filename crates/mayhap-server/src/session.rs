//! What the server knows of one connection.

use crate::command::Queue;
use crate::config::Rights;
use crate::durable::Lease;
use std::net::SocketAddr;

/// What the server knows of one connection.
#[derive(Debug)]
pub struct Session {
    /// `CLIENT ID`: 1, 2, 3, …
    pub id: u64,
    /// Where the client is.
    pub address: Option<SocketAddr>,
    /// RESP3 was agreed on by `HELLO 3`.
    pub resp3: bool,
    /// `CLIENT SETNAME`.
    pub name: Vec<u8>,
    /// `CLIENT SETINFO LIB-NAME` and `LIB-VER`.
    pub library: [Vec<u8>; 2],
    /// Who has logged in; `None` until then where a password is required.
    pub user: Option<String>,
    /// What that user may do.
    pub rights: Rights,
    /// The version of the users when that was.
    pub(crate) users_version: u64,
    /// Wrong passwords since the last right one.
    pub failed_logins: u32,
    /// The requests since `MULTI`.
    pub(crate) queue: Option<Box<Queue>>,
    /// The backup that it makes.
    pub(crate) lease: Option<Lease>,
}

impl Session {
    /// A connection that has just been made, with the rights of one who has not logged in.
    pub const fn new(id: u64, address: Option<SocketAddr>, rights: Rights) -> Self {
        Self {
            id,
            address,
            resp3: false,
            name: Vec::new(),
            library: [Vec::new(), Vec::new()],
            user: None,
            rights,
            users_version: 0,
            failed_logins: 0,
            queue: None,
            lease: None,
        }
    }

    /// Whether nobody has logged in who has to.
    #[inline]
    pub(crate) const fn is_stranger(&self) -> bool {
        let Rights { read, write, admin, .. } = self.rights;
        self.user.is_none() && !(read || write || admin)
    }
}
