//! One file of the log: a header, then frames.
//!
//! | offset | bytes | field | allowed |
//! |---|---|---|---|
//! | 0 | 8 | `magic` | `\x89mhpseg\n` |
//! | 8 | 2 | `version` | 1 |
//! | 10 | 2 | `digest` | as in filter files |
//! | 12 | 4 | reserved | 0 |
//! | 16 | 8 | `digest_parameter` | as in filter files |
//! | 24 | 8 | `log_id` | random |
//! | 32 | 8 | `segment` | the number in the file's name |
//! | 40 | 16 | reserved | 0 |
//! | 56 | 8 | `checksum` | XXH3-64 of bytes 0–55 |
//!
//! A segment gets its name after its header is on the disk, and frames after that. So whatever
//! happens, an incomplete header is damage.

use super::disk::{DiskFile, read_up_to};
use super::frame::{self, Frame};
use super::store::segment_path;
use super::{Error, Store};
use mayhap::DigestFunction;
use std::sync::Arc;
use xxhash_rust::xxh3::xxh3_64;

pub(super) const HEADER_BYTES: usize = 64;
const MAGIC: &[u8; 8] = b"\x89mhpseg\n";
const VERSION: u16 = 1;
const CHECKSUM: usize = HEADER_BYTES - 8;
/// Bytes read at a time.
const WINDOW_BYTES: usize = 1 << 20;

/// The identity of a log, equal in all its files.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Identity {
    pub(super) log_id: u64,
    pub(super) digest_id: u16,
    pub(super) digest_parameter: u64,
}

impl Identity {
    pub(super) fn new(log_id: u64, digest_function: &DigestFunction) -> Self {
        let (digest_id, digest_parameter) = (digest_function.id(), digest_function.parameter());
        Self { log_id, digest_id, digest_parameter }
    }

    fn encode(&self, number: u64) -> [u8; HEADER_BYTES] {
        let mut bytes = [0; HEADER_BYTES];
        bytes[..8].copy_from_slice(MAGIC);
        bytes[8..10].copy_from_slice(&VERSION.to_le_bytes());
        bytes[10..12].copy_from_slice(&self.digest_id.to_le_bytes());
        bytes[16..24].copy_from_slice(&self.digest_parameter.to_le_bytes());
        bytes[24..32].copy_from_slice(&self.log_id.to_le_bytes());
        bytes[32..40].copy_from_slice(&number.to_le_bytes());
        let checksum = xxh3_64(&bytes[..CHECKSUM]);
        bytes[CHECKSUM..].copy_from_slice(&checksum.to_le_bytes());
        bytes
    }
}

/// Creates an empty segment, safe from power cuts.
pub(super) fn create(
    store: &Store,
    identity: &Identity,
    number: u64,
) -> Result<Arc<dyn DiskFile>, Error> {
    store.replace(&segment_path(number), &identity.encode(number))
}

/// A segment being read.
#[derive(Debug)]
pub(super) struct Segment<'a> {
    store: &'a Store,
    pub(super) path: String,
    pub(super) file: Arc<dyn DiskFile>,
    pub(super) bytes: u64,
    log_id: u64,
    window: Vec<u8>,
    start: u64,
}

impl<'a> Segment<'a> {
    /// Opens a segment and checks its header.
    pub(super) fn open(store: &'a Store, identity: &Identity, number: u64) -> Result<Self, Error> {
        let path = segment_path(number);
        let why = "the manifest or a later segment states that it existed";
        let file = store.open_needed(&path, why)?;
        let bytes = file.bytes().map_err(store.error("look at", &path))?;
        let (window, start) = (Vec::new(), 0);
        let mut segment = Self { store, path, file, bytes, log_id: identity.log_id, window, start };
        let wanted = identity.encode(number);
        let header = segment.at(0, HEADER_BYTES)?;
        if *header == wanted {
            return Ok(segment);
        }
        let header = header.to_vec();
        Err(segment.wrong_header(&header))
    }

    fn wrong_header(&self, header: &[u8]) -> Error {
        let sound = header.len() == HEADER_BYTES
            && header.starts_with(MAGIC)
            && xxh3_64(&header[..CHECKSUM]).to_le_bytes() == header[CHECKSUM..];
        let version = header.get(8..10).map_or(0, |bytes| u16::from_le_bytes([bytes[0], bytes[1]]));
        if sound && version > VERSION {
            let path = self.store.path(&self.path);
            return Error::Newer { path, found: version, supported: VERSION };
        }
        self.damaged(0, if sound { "the header of another log" } else { "the header" })
    }

    pub(super) fn damaged(&self, offset: u64, what: &str) -> Error {
        self.store.damaged(&self.path, offset, what)
    }

    /// The bytes from an offset on: as many as requested, or fewer at the end.
    fn at(&mut self, offset: u64, bytes: usize) -> Result<&[u8], Error> {
        let bytes = (bytes as u64).min(self.bytes.saturating_sub(offset)) as usize;
        let end = self.start + self.window.len() as u64;
        if offset < self.start || end < offset + bytes as u64 {
            let left = self.bytes.saturating_sub(offset);
            self.window.clear();
            self.window.resize(left.min(bytes.max(WINDOW_BYTES) as u64) as usize, 0);
            let found = read_up_to(&*self.file, &mut self.window, offset)
                .map_err(self.store.error("read", &self.path))?;
            self.window.truncate(found);
            self.start = offset;
        }
        let from = (offset - self.start) as usize;
        let to = (from + bytes).min(self.window.len());
        Ok(self.window.get(from..to).unwrap_or_default())
    }

    /// The frame at an offset with its payload, if it is sound and complete.
    pub(super) fn frame_at(&mut self, offset: u64) -> Result<Option<(Frame, &[u8])>, Error> {
        let log_id = self.log_id;
        let header = self.at(offset, frame::HEADER_BYTES)?;
        let Some(frame) = Frame::decode(header, log_id) else { return Ok(None) };
        let whole = self.at(offset, frame.bytes())?;
        let payload = whole.get(frame::HEADER_BYTES..).unwrap_or_default();
        let sound = frame.has(payload, log_id);
        Ok(sound.then_some((frame, payload)))
    }

    /// The first sound header of a frame at or after an offset, at any byte.
    pub(super) fn find_header(&mut self, from: u64) -> Result<Option<(u64, Frame)>, Error> {
        let log_id = self.log_id;
        let mut offset = from;
        while offset + (frame::HEADER_BYTES as u64) <= self.bytes {
            let window = self.at(offset, WINDOW_BYTES)?;
            if window.len() < frame::HEADER_BYTES {
                break;
            }
            let starts = window.len() - frame::HEADER_BYTES + 1;
            let found = (0..starts).find_map(|i| {
                (window[i] == frame::MAGIC[0])
                    .then(|| Frame::decode(&window[i..], log_id))
                    .flatten()
                    .map(|frame| (offset + i as u64, frame))
            });
            if found.is_some() {
                return Ok(found);
            }
            offset += starts as u64;
        }
        Ok(None)
    }
}
