//! A dump as its bytes arrive: its length, its parts, and the resulting filter.
//!
//! An announced length is not trusted: a header states how many bytes follow, and none of them is
//! allocated before it has arrived.

use super::kind::{Contents, check_header, decode, empty, redisbloom};
use super::{BadFilter, Options, Shape, Spec};
use mayhap::native::{HEADER_BYTES, Header, MAGIC};

/// A dump that is being loaded.
#[derive(Debug)]
pub(super) struct Loading {
    /// The header, and the bytes received after it.
    pub(super) bytes: Vec<u8>,
    header_bytes: usize,
    /// Bytes after the header.
    pub(super) needed: u64,
    redisbloom: bool,
}

impl Loading {
    /// Begins with a header, native or of `RedisBloom`, which is checked completely.
    pub(super) fn new(header: &[u8], options: &Options) -> Result<Self, BadFilter> {
        let redisbloom = !header.starts_with(&MAGIC);
        let needed = if redisbloom {
            redisbloom::body_bytes(header, options)?
        } else {
            if header.len() != HEADER_BYTES {
                let (found, expected) = (header.len(), HEADER_BYTES);
                return Err(BadFilter::HeaderBytes { found, expected });
            }
            let decoded = Header::decode(header)?;
            check_header(&decoded, options)?;
            if decoded.body_bytes() > options.max_filter_bytes {
                let (found, limit) = (decoded.body_bytes(), options.max_filter_bytes);
                return Err(BadFilter::TooLarge { found, limit });
            }
            decoded.file_bytes() - HEADER_BYTES as u64
        };
        Ok(Self { bytes: header.to_vec(), header_bytes: header.len(), needed, redisbloom })
    }

    /// The same from the first bytes of a complete dump, which continue after the header.
    pub(super) fn of_bytes(bytes: &[u8], options: &Options) -> Result<Self, BadFilter> {
        let header_bytes =
            if bytes.starts_with(&MAGIC) { HEADER_BYTES } else { redisbloom::header_bytes(bytes) };
        let Some((header, rest)) = bytes.split_at_checked(header_bytes) else {
            return Err(BadFilter::SplitHeader);
        };
        let mut loading = Self::new(header, options)?;
        loading.push(rest)?;
        Ok(loading)
    }

    /// Bytes received after the header.
    pub(super) const fn received(&self) -> u64 {
        (self.bytes.len() - self.header_bytes) as u64
    }

    pub(super) const fn is_whole(&self) -> bool {
        self.received() == self.needed
    }

    /// Appends the next bytes.
    pub(super) fn push(&mut self, bytes: &[u8]) -> Result<(), BadFilter> {
        let sum = self.received() + bytes.len() as u64;
        if sum > self.needed {
            return Err(BadFilter::TooLong { found: sum, expected: self.needed });
        }
        self.bytes.try_reserve(bytes.len()).map_err(|_| BadFilter::OutOfMemory)?;
        self.bytes.extend_from_slice(bytes);
        Ok(())
    }

    /// Whether there is a header and nothing of the bits that it speaks of: of a filter that came
    /// in pieces, before the first of them.
    pub(super) const fn is_empty(&self) -> bool {
        !self.redisbloom && self.received() == 0 && self.needed > 0
    }

    /// The empty filter of a header.
    pub(super) fn decode_empty(
        &self,
        options: &Options,
    ) -> Result<(Box<dyn Contents>, Spec), BadFilter> {
        empty(&Header::decode(&self.bytes)?, options)
    }

    /// The filter, every byte of it checked as far as its format allows; `shape` if its bytes do
    /// not state it.
    pub(super) fn decode(
        &self,
        shape: Option<Shape>,
        options: &Options,
    ) -> Result<(Box<dyn Contents>, Spec), BadFilter> {
        if !self.redisbloom {
            return decode(&self.bytes, shape, options);
        }
        let (header, bits) = self.bytes.split_at(self.header_bytes);
        let filter = redisbloom::from_dump(header, bits, options)?;
        let spec = filter.spec();
        Ok((filter, spec))
    }
}
