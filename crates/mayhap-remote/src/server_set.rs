//! A set on a server, as programs know it.

use mayhap_redis::FilterInfo;
use mayhap_sets::{Error, KeySet};
use std::time::Duration;

/// A filter on a server: a set of keys, which has a URL and a time to live.
pub trait ServerSet: KeySet + Send {
    /// The URL, without the password.
    fn url(&self) -> &str;

    /// The scheme: `mayhap`, `bf`, `redisson` or `magnuss-redis`.
    fn scheme(&self) -> &'static str;

    /// What was seen of it last.
    fn seen(&self) -> &FilterInfo;

    /// Sets when it expires, counted from now; `None`: never.
    ///
    /// # Errors
    ///
    /// [`Error::Server`].
    fn expire(&mut self, after: Option<Duration>) -> Result<(), Error>;

    /// Deletes it; returns whether it was still there.
    ///
    /// # Errors
    ///
    /// [`Error::Server`].
    fn delete(&mut self) -> Result<bool, Error>;

    /// As a set of keys alone.
    fn into_key_set(self: Box<Self>) -> Box<dyn KeySet>;
}
