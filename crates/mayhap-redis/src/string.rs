//! Strings that are read in pieces.

use crate::server::{Command, Server};
use crate::{Error, Misfit};
use redis::{Value, cmd};

/// The size of a reply: the server blocks all other clients meanwhile.
const PIECE_BYTES: u64 = 1 << 20;

/// A whole string, without holding up the server for long. Bits that are set meanwhile may be in
/// it or not; all that were set before are.
///
/// # Errors
///
/// [`Error::Layout`] beyond `max_bytes`; the errors of a call.
pub(crate) async fn read(server: &Server, key: &str, max_bytes: u64) -> Result<Vec<u8>, Error> {
    let mut bytes = Vec::new();
    loop {
        let from = bytes.len() as u64;
        let mut get = cmd("GETRANGE");
        get.arg(key).arg(from).arg(from + PIECE_BYTES - 1);
        let value = server.one(Command::read(key, get)).await?.of(key, "GETRANGE")?;
        let Value::BulkString(piece) = value else {
            return Err(Error::strange("GETRANGE", &value));
        };
        if from + piece.len() as u64 > max_bytes {
            return Err(Error::Layout { misfit: Misfit::MoreThan(max_bytes) });
        }
        bytes.extend_from_slice(&piece);
        if (piece.len() as u64) < PIECE_BYTES {
            return Ok(bytes);
        }
    }
}
