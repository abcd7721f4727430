//! The bits of a filter that `mayhap serve` keeps, read in pieces from its dump.

use super::Connection;
use crate::error::Error;
use mayhap::Block;
use mayhap::native::{self, HEADER_BYTES, Header};
use mayhap_redis::{Error as RedisError, RemoteBf};
use mayhap_sets::server::wait;
use std::ops::Range;

/// A dump, which the server keeps while it is read.
#[derive(Debug)]
pub(super) struct Dump<'a> {
    connection: &'a Connection,
    filter: RemoteBf,
    header: Header,
    /// The file of a small filter, which comes at once.
    whole: Option<Vec<u8>>,
}

impl<'a> Dump<'a> {
    /// Begins one; with the header of the filter.
    ///
    /// # Errors
    ///
    /// [`Error::Remote`]; those of [`Header::decode`].
    pub(super) fn begin(connection: &'a Connection) -> Result<(Self, Header), Error> {
        let origin = &connection.origin;
        let filter = connection.wait(RemoteBf::attach(&origin.server, &origin.name))?;
        let (header, whole) = first_part(connection, &filter)?;
        Ok((Self { connection, filter, header: header.clone(), whole }, header))
    }

    /// Some of `all` blocks. One that the server has dropped is begun again: a later one has at
    /// least the bits of this one.
    ///
    /// # Errors
    ///
    /// [`Error::Remote`]; [`Error::Usage`] if another filter has the name by now.
    pub(super) fn blocks(&self, range: Range<u64>, all: u64) -> Result<Vec<Block>, Error> {
        let (mut at, end) = (range.start * Block::BYTES as u64, range.end * Block::BYTES as u64);
        let mut blocks = Vec::with_capacity((range.end - range.start) as usize);
        while at < end {
            let bytes = self.bytes_from(at)?;
            let most = ((end - at) as usize).min(bytes.len());
            let (whole, _) = bytes[..most].as_chunks::<{ Block::BYTES }>();
            if whole.is_empty() {
                let name = self.connection.origin.name.clone();
                return Err(self.connection.error(RedisError::NotFound { name }));
            }
            blocks.extend(whole.iter().map(|block| {
                let lanes = block.as_chunks::<8>().0;
                Block(std::array::from_fn(|lane| u64::from_le_bytes(lanes[lane])))
            }));
            at += (whole.len() * Block::BYTES) as u64;
        }
        if range.end == all {
            self.end()?;
        }
        Ok(blocks)
    }

    /// The server need not keep it for a minute. It may have dropped it.
    ///
    /// # Errors
    ///
    /// [`Error::Stopped`].
    pub(super) fn end(&self) -> Result<(), Error> {
        let _ = wait(self.filter.dump_chunk(i64::MAX))?;
        Ok(())
    }

    /// The error of a filter that cannot be used, as without its secret key.
    pub(super) fn error(&self, source: mayhap::Error) -> Error {
        self.connection.error(RedisError::Filter(source))
    }

    /// The bytes from here on.
    fn bytes_from(&self, at: u64) -> Result<Vec<u8>, Error> {
        if let Some(file) = &self.whole {
            return Ok(body_from(file, at));
        }
        let cursor = at.cast_signed() + 1;
        let chunk = match wait(self.filter.dump_chunk(cursor))? {
            Err(RedisError::Refused { reason, .. }) if reason.contains("no dump was started") => {
                let (header, whole) = first_part(self.connection, &self.filter)?;
                let same = |header: &Header| {
                    let fields = header.fields();
                    (header.kind(), fields.layout, fields.num_bits, fields.num_hashes)
                };
                if same(&header) != same(&self.header) {
                    return Err(Error::usage(
                        format!("{} is another filter now", self.connection.origin.url),
                        "run it again",
                    ));
                }
                if let Some(file) = whole {
                    return Ok(body_from(&file, at));
                }
                self.connection.wait(self.filter.dump_chunk(cursor))?
            }
            chunk => chunk.map_err(|source| self.connection.error(source))?,
        };
        Ok(chunk.1)
    }
}

/// Begins a dump: the header of the filter, and its file if that is all of the dump.
fn first_part(
    connection: &Connection,
    filter: &RemoteBf,
) -> Result<(Header, Option<Vec<u8>>), Error> {
    let (_, bytes) = connection.wait(filter.dump_chunk(0))?;
    let file = native::paged(&bytes)?;
    let header = Header::decode(&file)?;
    Ok((header, (file.len() > HEADER_BYTES).then(|| file.into_owned())))
}

/// The bytes of a file from this offset in its body on.
fn body_from(file: &[u8], at: u64) -> Vec<u8> {
    file.get(HEADER_BYTES + at as usize..).unwrap_or_default().to_vec()
}
