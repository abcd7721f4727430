//! The header of a file of digests, and its records, as bytes.

use crate::log::Meaning;
use xxhash_rust::xxh3::{xxh3_64, xxh3_64_with_seed};

use super::rice::low_bits;

pub(super) const MAGIC: &[u8; 8] = b"\x89mhpdig\n";
pub(super) const HEADER_BYTES: usize = 64;
pub(super) const RECORD_BYTES: usize = 40;
/// The newest version, which is the one written.
pub(super) const VERSION: u16 = 1;
const HEADER_CHECKSUM: usize = HEADER_BYTES - 8;
const RECORD_MAGIC: &[u8; 4] = b"\x89mhd";
const RECORD_CHECKSUM: usize = RECORD_BYTES - 8;

const RUN: u16 = 1;
const COVER: u16 = 2;

/// The header of a file of digests with this meaning.
pub(super) fn encode_header(meaning: &Meaning) -> [u8; HEADER_BYTES] {
    let mut bytes = [0; HEADER_BYTES];
    bytes[..8].copy_from_slice(MAGIC);
    bytes[8..10].copy_from_slice(&VERSION.to_le_bytes());
    bytes[10..12].copy_from_slice(&meaning.digest_id.to_le_bytes());
    bytes[16..24].copy_from_slice(&meaning.digest_parameter.to_le_bytes());
    bytes[24..32].copy_from_slice(&meaning.key_options_hash.to_le_bytes());
    let checksum = xxh3_64(&bytes[..HEADER_CHECKSUM]);
    bytes[HEADER_CHECKSUM..].copy_from_slice(&checksum.to_le_bytes());
    bytes
}

/// Reads a header that begins with the magic.
pub(super) fn decode_header(bytes: &[u8; HEADER_BYTES]) -> Result<Meaning, mayhap::Error> {
    let u64_at = |at: usize| u64_at(bytes, at);
    let version = u16::from_le_bytes([bytes[8], bytes[9]]);
    let is_sound = xxh3_64(&bytes[..HEADER_CHECKSUM]) == u64_at(HEADER_CHECKSUM);
    if is_sound && version > VERSION {
        return Err(mayhap::Error::NewerVersion { found: version, supported: VERSION });
    }
    let meaning = Meaning {
        digest_id: u16::from_le_bytes([bytes[10], bytes[11]]),
        digest_parameter: u64_at(16),
        key_options_hash: u64_at(24),
    };
    // Encoding its meaning again must give the same bytes: version, reserved bytes and checksum.
    if encode_header(&meaning) == *bytes { Ok(meaning) } else { Err(mayhap::Error::HeaderDamaged) }
}

/// Sorted digests in a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Run {
    pub(super) count: u64,
    /// The offset of the codes.
    pub(super) at: u64,
    /// Bytes of the codes.
    pub(super) bytes: u64,
    /// Their checksum.
    pub(super) checksum: u64,
}

/// A record.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Record {
    Run(Run),
    /// The runs before it have all keys of the image with this fingerprint.
    Cover(u64),
}

impl Record {
    /// The first bytes of the record at this offset: all of a cover, what is before the codes of a
    /// run.
    pub(super) fn encode(&self, offset: u64) -> [u8; RECORD_BYTES] {
        let (kind, value, payload, checksum) = match *self {
            Self::Run(Run { count, bytes, checksum, .. }) => (RUN, count, bytes, checksum),
            Self::Cover(fingerprint) => (COVER, fingerprint, 0, 0),
        };
        let mut bytes = [0; RECORD_BYTES];
        bytes[..4].copy_from_slice(RECORD_MAGIC);
        bytes[4..6].copy_from_slice(&kind.to_le_bytes());
        bytes[8..16].copy_from_slice(&value.to_le_bytes());
        bytes[16..24].copy_from_slice(&payload.to_le_bytes());
        bytes[24..32].copy_from_slice(&checksum.to_le_bytes());
        // The seed is the offset, so that what was left behind elsewhere is no record.
        let checksum = xxh3_64_with_seed(&bytes[..RECORD_CHECKSUM], offset);
        bytes[RECORD_CHECKSUM..].copy_from_slice(&checksum.to_le_bytes());
        bytes
    }

    /// The record that begins at this offset with these bytes; `None` if it is not sound.
    pub(super) fn decode(bytes: &[u8; RECORD_BYTES], offset: u64) -> Option<Self> {
        let u64_at = |at: usize| u64_at(bytes, at);
        let record = match u16::from_le_bytes([bytes[4], bytes[5]]) {
            RUN => {
                let (count, payload) = (u64_at(8), u64_at(16));
                let at = offset.checked_add(RECORD_BYTES as u64)?;
                let run = Run { count, at, bytes: payload, checksum: u64_at(24) };
                Self::Run(run.is_possible().then_some(run)?)
            }
            COVER => Self::Cover(u64_at(8)),
            _ => return None,
        };
        (record.encode(offset) == *bytes).then_some(record)
    }

    /// The offset after the record that begins at this one; `None` past the end of all files.
    pub(super) fn end(&self, offset: u64) -> Option<u64> {
        let payload = if let Self::Run(run) = self { run.bytes } else { 0 };
        offset.checked_add(RECORD_BYTES as u64)?.checked_add(payload)
    }
}

impl Run {
    /// Whether so many digests can have so few bytes: a code has a bit and the low bits at least.
    fn is_possible(&self) -> bool {
        let least_bits = u128::from(self.count) * u128::from(low_bits(self.count) + 1);
        self.count > 0 && least_bits <= u128::from(self.bytes) * 8
    }
}

fn u64_at(bytes: &[u8], at: usize) -> u64 {
    u64::from_le_bytes(std::array::from_fn(|i| bytes[at + i]))
}
