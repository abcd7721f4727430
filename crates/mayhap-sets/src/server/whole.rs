//! Whole filters of other schemes, to a file and from one.

use super::create::if_there;
use super::error::{Error as ServerError, failed};
use super::open::{find_known, magnus_params, of_found};
use super::origin::Origin;
use super::server_set::ServerSet;
use super::wait::wait;
use crate::error::Error;
use crate::known::Known;
use mayhap::native::{self, HEADER_BYTES, MAGIC, PACKED_MAGIC};
use mayhap_formats::{ForeignFilter, Format, Limits, RedisBloomFilter, Shape};
use mayhap_redis::{BfChunk, Error as RedisError, Found, MagnusOptions, RemoteBf, RemoteMagnus};
use std::time::{Duration, Instant};

/// The bytes after a header that go to a server at once; what `mayhap serve` sends.
const CHUNK_BYTES: usize = 512 << 10;

/// A filter that was copied from a server.
#[derive(Debug)]
pub struct Copied {
    /// The bytes of its file.
    pub bytes: Vec<u8>,
    /// The set there.
    pub set: Box<dyn ServerSet>,
    /// The format of the file, and its m and k, if its bytes do not say them.
    pub unrecorded: Option<(Format, Shape)>,
}

/// The contents of a name that does not hold a filter in mayhap's own layout. A name that holds
/// nothing is found as that, and refused by [`copy`].
///
/// # Errors
///
/// [`Error::Server`].
pub fn find_other(origin: &Origin, known: &Known) -> Result<Option<Found>, Error> {
    if known.format.is_some() {
        return Ok(Some(Found::Bitmap));
    }
    let found = wait(find_known(&origin.server, &origin.name, known))?;
    match found.map_err(|source| failed(&origin.url, source))? {
        Found::Native(_) => Ok(None),
        found => Ok(Some(found)),
    }
}

/// Copies a filter of another scheme: one of `mayhap serve` as a file of mayhap, the others as the
/// files of their systems.
///
/// # Errors
///
/// [`Error::Server`], also beyond `max_bytes`.
pub fn copy(origin: &Origin, found: Found, known: &Known, max_bytes: u64) -> Result<Copied, Error> {
    let fail = |source: RedisError| failed(&origin.url, source);
    let started = Instant::now();
    if let (Found::Bitmap, Some(_)) = (&found, known.shape) {
        let params = magnus_params(known)?;
        let num_bitmaps = known.num_bitmaps.unwrap_or(1);
        let options = MagnusOptions { num_bitmaps, ..MagnusOptions::default() };
        let filter = RemoteMagnus::attach(&origin.server, &origin.name, params, options);
        let filter = wait(filter)?.map_err(fail)?;
        let bytes = wait(filter.bytes(max_bytes))?.map_err(fail)?;
        let unrecorded = known.shape.map(|shape| (Format::MagnusRedis, shape));
        let (set, _) = super::open::other(origin, filter, known, started.elapsed())?;
        return Ok(Copied { bytes, set, unrecorded });
    }
    let (bytes, unrecorded) = match &found {
        Found::Bf(filter) => {
            (file_of(wait(filter.dump(max_bytes))?.map_err(fail)?, origin, max_bytes)?, None)
        }
        Found::Redisson(filter) => {
            let bytes = wait(filter.bytes(max_bytes))?.map_err(fail)?;
            let (num_bits, num_hashes) = (filter.config().size(), filter.config().num_hashes());
            (bytes, Some((Format::Redisson, Shape { num_bits, num_hashes })))
        }
        _ => (Vec::new(), None),
    };
    // Says what is wrong where there is none.
    let (set, _) = of_found(origin, found, known, started.elapsed())?;
    Ok(Copied { bytes, set, unrecorded })
}

/// Whether a dump is of `mayhap serve`: a file, or a small one in another form.
fn is_ours(chunks: &[BfChunk]) -> bool {
    let first = chunks.first().map_or(&[][..], |(_, bytes)| bytes);
    first.starts_with(&MAGIC) || first.starts_with(&PACKED_MAGIC)
}

/// The file that chunks are: mayhap's own, with pages, or that of `RedisBloom`'s dumps.
fn file_of(chunks: Vec<BfChunk>, origin: &Origin, max_bytes: u64) -> Result<Vec<u8>, Error> {
    if is_ours(&chunks) {
        let bytes = chunks.into_iter().flat_map(|(_, bytes)| bytes).collect::<Vec<u8>>();
        let file = native::paged(&bytes);
        let file = file.map_err(|source| failed(&origin.url, RedisError::Filter(source)))?;
        return Ok(file.into_owned());
    }
    let limits = Limits { max_bytes, ..Limits::default() };
    let filter = RedisBloomFilter::from_chunks(&chunks, &limits);
    let filter = filter.map_err(|source| failed(&origin.url, RedisError::Format(source)))?;
    Ok(filter.encode())
}

/// A file as the chunks that a server with `BF.LOADCHUNK` takes; `None` for one of another system.
/// A file of mayhap is taken by `mayhap serve` alone.
///
/// # Errors
///
/// [`mayhap_formats::Error`] for a damaged dump of `RedisBloom`.
pub fn chunks_of(
    bytes: &[u8],
    max_bytes: u64,
) -> Result<Option<Vec<BfChunk>>, mayhap_formats::Error> {
    if bytes.starts_with(&MAGIC) {
        let (header, body) = bytes.split_at(HEADER_BYTES.min(bytes.len()));
        let mut chunks = vec![(1, header.to_vec())];
        let mut cursor = 1i64;
        for chunk in body.chunks(CHUNK_BYTES) {
            cursor += chunk.len().cast_signed() as i64;
            chunks.push((cursor, chunk.to_vec()));
        }
        return Ok(Some(chunks));
    }
    let limits = Limits { max_bytes, ..Limits::default() };
    match RedisBloomFilter::decode(bytes, &limits) {
        Ok(filter) => Ok(Some(filter.to_chunks())),
        Err(mayhap_formats::Error::NotThisFormat { .. }) => Ok(None),
        Err(error) => Err(error),
    }
}

/// Sends chunks: in the place of what is there with `replace`, else under a free name. It expires
/// after `ttl`, if that is some.
///
/// # Errors
///
/// [`Error::Server`], also if the name is taken, or for a server that takes no such filter.
pub fn send(
    origin: &Origin,
    chunks: &[BfChunk],
    (ttl, replace): (Option<Duration>, bool),
    known: &Known,
) -> Result<Box<dyn ServerSet>, Error> {
    let fail = |source: RedisError| failed(&origin.url, source);
    let (server, name) = (&origin.server, &*origin.name);
    if !replace
        && wait(async { if_there(RemoteBf::attach(server, name).await) })?.map_err(fail)?.is_some()
    {
        return Err(ServerError::Exists { url: origin.url.clone() }.into());
    }
    let filter = wait(RemoteBf::replace(server, name, chunks, ttl))?.map_err(fail)?;
    Ok(of_found(origin, Found::Bf(filter), known, Duration::ZERO)?.0)
}
