//! The header of a file of digests, and its records, as bytes.

use super::rice::low_bits;
pub(super) use crate::log::HEADER_BYTES;
use crate::log::{Meaning, seal, u64_at, unseal};
use xxhash_rust::xxh3::xxh3_64_with_seed;

pub(super) const MAGIC: &[u8; 8] = b"\x89mhpdig\n";
pub(super) const RECORD_BYTES: usize = 40;
/// The newest version, which is the one written.
pub(super) const VERSION: u16 = 1;
const RECORD_MAGIC: &[u8; 4] = b"\x89mhd";
const RECORD_CHECKSUM: usize = RECORD_BYTES - 8;

const RUN: u16 = 1;
const COVER: u16 = 2;

/// The header of a file of digests with this meaning.
pub(super) fn encode_header(meaning: &Meaning) -> [u8; HEADER_BYTES] {
    seal(*MAGIC, VERSION, meaning, |_| {})
}

/// Reads a header that begins with the magic.
pub(super) fn decode_header(bytes: &[u8; HEADER_BYTES]) -> Result<Meaning, mayhap::Error> {
    let (_, meaning) = unseal(bytes, VERSION)?;
    // Encoding its meaning again must give the same bytes: version, reserved bytes and checksum.
    if encode_header(&meaning) == *bytes { Ok(meaning) } else { Err(mayhap::Error::HeaderDamaged) }
}

/// Sorted digests in a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Run {
    pub(super) count: u64,
    /// The offset of the codes.
    pub(crate) at: u64,
    /// Bytes of the codes.
    pub(crate) bytes: u64,
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
    /// The first bytes of the record at this offset: a whole cover, or a run up to its codes.
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
        // The seed is the offset, so that leftovers from elsewhere are no records.
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
    /// The offset of its record; 0 for one without.
    pub(super) const fn offset(&self) -> u64 {
        self.at.saturating_sub(RECORD_BYTES as u64)
    }

    /// Whether this number of digests fits into this number of bytes: a code has at least one bit
    /// and the low bits.
    fn is_possible(&self) -> bool {
        let least_bits = u128::from(self.count) * u128::from(low_bits(self.count) + 1);
        self.count > 0 && least_bits <= u128::from(self.bytes) * 8
    }
}
