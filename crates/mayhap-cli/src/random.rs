//! The one source of random bytes.

use crate::error::Error;
use std::io;

/// Unpredictable bytes from the system.
///
/// # Errors
///
/// [`Error::Io`] where the system has none.
pub fn bytes<const LEN: usize>() -> Result<[u8; LEN], Error> {
    let mut bytes = [0; LEN];
    let filled = getrandom::fill(&mut bytes).map_err(io::Error::other);
    filled.map_err(Error::io("read", "random bytes"))?;
    Ok(bytes)
}
