//! A set on a server, as programs know it.

use crate::error::Error;
use crate::key_set::KeySet;
use crate::state::State;
use mayhap_redis::FilterInfo;
use std::time::Duration;

/// New keys of our own between looks at all bits, at least, and as a part of the capacity.
pub(super) const LOOK_KEYS: u64 = 16_384;
pub(super) const LOOK_PART: u64 = 100;
/// A round trip on one machine, or between two of one rack.
pub(super) const NEAR: Duration = Duration::from_millis(1);

/// A filter on a server: a set of keys, which has a URL and a time to live.
pub trait ServerSet: KeySet + Send {
    /// The URL, without the password.
    fn url(&self) -> &str;

    /// The scheme: `mayhap`, `bf`, `redisson` or `magnuss-redis`.
    fn scheme(&self) -> &'static str;

    /// Its numbers when the server was last read.
    fn seen(&self) -> &FilterInfo;

    /// Its measurements then, and what was inserted since.
    fn state(&self) -> State;

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
}
