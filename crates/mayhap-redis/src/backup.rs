//! `BF.BACKUP` of `mayhap serve`: the files of its data folder, while it keeps running.

use crate::server::{Command, words};
use crate::{Error, Server};
use redis::{Value, cmd};

const BACKUP: &str = "BF.BACKUP";
/// The server's reply to reads on another connection.
const NOT_BEGUN: &str = "no backup was begun on this connection";
/// Bytes per reply; the server allows no more.
const READ_BYTES: usize = 1 << 20;

/// The files of the data folder of `mayhap serve` that together are a backup.
///
/// The server keeps them until [`RemoteBackup::end`], until the connection is closed, or until
/// nothing was read for a minute. All that was acknowledged before [`RemoteBackup::begin`] is in
/// them.
#[derive(Debug)]
pub struct RemoteBackup {
    server: Server,
    segments: Vec<(u64, u64)>,
}

impl RemoteBackup {
    /// Begins a backup; a previous one of this connection is over. Requires the right `admin`.
    ///
    /// # Errors
    ///
    /// The errors of a call; [`Error::Refused`] by servers without data folder or without the
    /// command.
    pub async fn begin(server: &Server) -> Result<Self, Error> {
        let reply = server.one(Command::write("", words(&[BACKUP, "BEGIN"]))).await?;
        let strange = |value: &Value| Error::strange(BACKUP, value);
        let number = |value: &Value| match value {
            Value::Int(number) => u64::try_from(*number).map_err(|_| strange(value)),
            _ => Err(strange(value)),
        };
        let segments = match reply.of("", BACKUP)? {
            Value::Array(flat) if flat.len() % 2 == 0 => {
                let pairs = flat.as_chunks::<2>().0.iter();
                pairs.map(|[of, bytes]| Ok((number(of)?, number(bytes)?))).collect::<Result<_, _>>()
            }
            other => Err(strange(&other)),
        };
        Ok(Self { server: server.clone(), segments: segments? })
    }

    /// The segments of the log: the number of each, and how many bytes of it belong to the backup.
    pub fn segments(&self) -> &[(u64, u64)] {
        &self.segments
    }

    /// Reads a part of a file, at most 1 MiB: less only at its end. `None` if there is no such
    /// file.
    ///
    /// # Errors
    ///
    /// The errors of a call; [`Error::Refused`] if the backup is over; [`Error::Broken`] if the
    /// connection was replaced meanwhile.
    pub async fn read(&self, path: &str, offset: u64) -> Result<Option<Vec<u8>>, Error> {
        let mut read = cmd(BACKUP);
        read.arg("READ").arg(path).arg(offset).arg(READ_BYTES);
        // Resent if the reply is late: to a connection that replaced this one, the server says that
        // no backup was begun there.
        let reply = self.server.one(Command::write("", read)).await;
        let value =
            reply.and_then(|reply| reply.of("", BACKUP)).map_err(|error| self.broken(error));
        match value? {
            Value::BulkString(bytes) if bytes.len() <= READ_BYTES => Ok(Some(bytes)),
            Value::Nil => Ok(None),
            other => Err(Error::strange(BACKUP, &other)),
        }
    }

    /// The error of a connection that a backup has lost, however it shows.
    fn broken(&self, error: Error) -> Error {
        let is_broken = match &error {
            Error::Lost { .. } | Error::Unavailable { .. } => true,
            // The client has reconnected, and no backup was begun there.
            Error::Refused { reason, .. } => reason.contains(NOT_BEGUN),
            _ => false,
        };
        if is_broken {
            Error::Broken { server: self.server.name().into(), what: "the backup" }
        } else {
            error
        }
    }

    /// Whether a part of a file is its last one.
    pub const fn is_last(part: &[u8]) -> bool {
        part.len() < READ_BYTES
    }

    /// Ends the backup: the server may remove the files.
    ///
    /// # Errors
    ///
    /// The errors of a call.
    pub async fn end(self) -> Result<(), Error> {
        let reply = self.server.one(Command::write("", words(&[BACKUP, "END"]))).await?;
        reply.of("", BACKUP).map(drop)
    }
}
