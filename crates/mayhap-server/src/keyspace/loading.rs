//! A dump, as its bytes come in: how long it is, its parts, and the filter that it is.
//!
//! What comes is believed as far as it has come: a header says how many bytes follow, and none of
//! them is allocated before it is there.

use super::contents::{Contents, check_native, limits};
use super::{Options, Spec};
use mayhap::native::{HEADER_BYTES, Header, MAGIC};
use mayhap_formats::{Error, RedisBloomFilter};

/// Bytes of `RedisBloom`'s header before those of its layers, and of each layer.
const CHAIN_BYTES: usize = 20;
const LAYER_BYTES: usize = 53;
/// Twice what the longest chain known has: 257 layers of one key each.
pub(super) const MAX_HASHES: u64 = 8_192;

/// A dump that is coming in.
#[derive(Debug)]
pub(super) struct Loading {
    /// The header, and what came after it.
    bytes: Vec<u8>,
    header_bytes: usize,
    /// Bytes after the header.
    needed: u64,
    redisbloom: bool,
}

impl Loading {
    /// Begins with a header, ours or that of `RedisBloom`, which is checked whole.
    pub(super) fn new(header: &[u8], options: &Options) -> Result<Self, String> {
        let redisbloom = !header.starts_with(&MAGIC);
        let needed = if redisbloom {
            redisbloom_bytes(header, options)?
        } else {
            if header.len() != HEADER_BYTES {
                return Err(format!("the header has {} bytes, not {HEADER_BYTES}", header.len()));
            }
            let decoded = Header::decode(header).map_err(|error| error.to_string())?;
            check_native(&decoded, options)?;
            if decoded.body_bytes() > options.max_filter_bytes {
                let (found, limit) = (decoded.body_bytes(), options.max_filter_bytes);
                return Err(format!(
                    "the filter would take {found} bytes, above the limit of {limit} \
                     (max_filter_bytes)"
                ));
            }
            decoded.file_bytes() - HEADER_BYTES as u64
        };
        Ok(Self { bytes: header.to_vec(), header_bytes: header.len(), needed, redisbloom })
    }

    /// The same from the first bytes of a whole dump, which go on after the header.
    pub(super) fn of_bytes(bytes: &[u8], options: &Options) -> Result<Self, String> {
        let header_bytes = if bytes.starts_with(&MAGIC) {
            HEADER_BYTES
        } else {
            let layers = bytes.get(8..12).and_then(|layers| layers.first_chunk::<4>());
            let layers = layers.map_or(0, |&layers| u32::from_le_bytes(layers) as usize);
            layers.saturating_mul(LAYER_BYTES).saturating_add(CHAIN_BYTES)
        };
        let Some((header, rest)) = bytes.split_at_checked(header_bytes) else {
            return Err("the header does not fit into the first part".to_owned());
        };
        let mut loading = Self::new(header, options)?;
        loading.push(rest)?;
        Ok(loading)
    }

    /// Bytes after the header that have come.
    pub(super) const fn received(&self) -> u64 {
        (self.bytes.len() - self.header_bytes) as u64
    }

    /// Bytes after the header.
    pub(super) const fn needed(&self) -> u64 {
        self.needed
    }

    pub(super) const fn is_whole(&self) -> bool {
        self.received() == self.needed
    }

    /// All that has come, once it is whole.
    pub(super) fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// The next bytes.
    pub(super) fn push(&mut self, bytes: &[u8]) -> Result<(), String> {
        let sum = self.received() + bytes.len() as u64;
        if sum > self.needed {
            return Err(format!("{sum} bytes came, the header says {}", self.needed));
        }
        self.bytes.try_reserve(bytes.len()).map_err(|error| error.to_string())?;
        self.bytes.extend_from_slice(bytes);
        Ok(())
    }

    /// The filter, every byte of it checked as far as its format allows.
    pub(super) fn decode(&self, options: &Options) -> Result<(Contents, Spec), String> {
        if !self.redisbloom {
            return Contents::decode(&self.bytes, options);
        }
        let (header, bits) = self.bytes.split_at(self.header_bytes);
        let mut chunks = vec![(1, header)];
        let mut rest = bits;
        let mut cursor = 1;
        for layer in layer_bytes(header) {
            let Some((bits, after)) = rest.split_at_checked(layer as usize) else { break };
            cursor += layer.cast_signed();
            chunks.push((cursor, bits));
            rest = after;
        }
        let filter = RedisBloomFilter::from_chunks(&chunks, &limits(options))
            .map_err(|error| error.to_string())?;
        Ok((Contents::RedisBloom(filter), super::contents::redisbloom_spec()))
    }
}

/// The bytes of each layer, as the header says.
pub(super) fn layer_bytes(header: &[u8]) -> impl Iterator<Item = u64> + '_ {
    layers(header).map(|layer| u64::from(u32_at(layer, 0)) | u64::from(u32_at(layer, 4)) << 32)
}

fn layers(header: &[u8]) -> impl Iterator<Item = &[u8; LAYER_BYTES]> {
    header.get(CHAIN_BYTES..).unwrap_or(&[]).as_chunks::<LAYER_BYTES>().0.iter()
}

fn u32_at(layer: &[u8; LAYER_BYTES], offset: usize) -> u32 {
    u32::from_le_bytes(std::array::from_fn(|i| layer[offset + i]))
}

/// Checks a header of `RedisBloom` and says how many bytes of bits follow.
fn redisbloom_bytes(header: &[u8], options: &Options) -> Result<u64, String> {
    // Of all layers together: what a question for an absent key costs.
    let hashes: u64 = layers(header).map(|layer| u64::from(u32_at(layer, 40))).sum();
    if hashes > MAX_HASHES {
        return Err(format!("{hashes} hashes for a key are above the limit of {MAX_HASHES}"));
    }
    // It is checked before the bits are missed, and a sound one says how many are.
    match RedisBloomFilter::from_chunks(&[(1, header)], &limits(options)) {
        Err(Error::Truncated { field: "bits of the layers", needed, left: 0 }) => Ok(needed),
        Err(error) => Err(error.to_string()),
        Ok(_) => Err("a filter without bits".to_owned()),
    }
}
