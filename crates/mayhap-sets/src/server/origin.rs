//! The location of a filter.

use mayhap_redis::Server;

/// Where a filter is.
#[derive(Debug, Clone)]
pub struct Origin {
    /// The server.
    pub server: Server,
    /// The URL, without the password, for messages.
    pub url: String,
    /// The name there.
    pub name: String,
}
