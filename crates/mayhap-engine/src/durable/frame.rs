//! One frame: the records of one turn of one thread, with its place in the chain.
//!
//! | offset | bytes | field | allowed |
//! |---|---|---|---|
//! | 0 | 4 | `magic` | `\x89mhf` |
//! | 4 | 4 | `payload_bytes` | 0–67,108,864 |
//! | 8 | 8 | `sequence` | 0, 1, 2, … through all segments |
//! | 16 | 8 | `previous` | the checksum of the frame before; of the first, the log's id |
//! | 24 | 8 | `safe` | all frames of a lower sequence were on the disk when this one was written |
//! | 32 | 8 | `payload_checksum` | XXH3-64, seeded with the log's id, of the payload |
//! | 40 | 8 | `checksum` | XXH3-64, seeded with the log's id, of bytes 0–39 |
//! | 48 | `payload_bytes` | items | see `item.rs` |
//!
//! The log's id is random and in no key or digest, so that nobody can send a key that contains a
//! frame.

use xxhash_rust::xxh3::xxh3_64_with_seed;

pub(super) const HEADER_BYTES: usize = 48;
pub(super) const MAGIC: [u8; 4] = *b"\x89mhf";
pub(super) const MAX_PAYLOAD_BYTES: usize = 64 << 20;
const CHECKSUM: usize = HEADER_BYTES - 8;

/// The place of a frame in the chain of all frames.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) struct Link {
    pub(super) sequence: u64,
    /// The checksum of the frame before.
    pub(super) previous: u64,
}

/// The header of a frame, verified by its checksum.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Frame {
    pub(super) payload_bytes: usize,
    pub(super) place: Link,
    pub(super) safe: u64,
    pub(super) payload_checksum: u64,
    pub(super) checksum: u64,
}

impl Frame {
    /// The header at the start of these bytes, if it is sound.
    pub(super) fn decode(bytes: &[u8], log_id: u64) -> Option<Self> {
        let bytes: &[u8; HEADER_BYTES] = bytes.first_chunk()?;
        if bytes[..4] != MAGIC {
            return None;
        }
        let u64_at = |at: usize| u64::from_le_bytes(std::array::from_fn(|i| bytes[at + i]));
        let checksum = xxh3_64_with_seed(&bytes[..CHECKSUM], log_id);
        let payload_bytes = u32::from_le_bytes([bytes[4], bytes[5], bytes[6], bytes[7]]) as usize;
        if checksum != u64_at(CHECKSUM) || payload_bytes > MAX_PAYLOAD_BYTES {
            return None;
        }
        Some(Self {
            payload_bytes,
            place: Link { sequence: u64_at(8), previous: u64_at(16) },
            safe: u64_at(24),
            payload_checksum: u64_at(32),
            checksum,
        })
    }

    /// The place of the next frame.
    pub(super) const fn next(&self) -> Link {
        Link { sequence: self.place.sequence + 1, previous: self.checksum }
    }

    /// Size of the whole frame in bytes.
    pub(super) const fn bytes(&self) -> usize {
        HEADER_BYTES + self.payload_bytes
    }

    pub(super) fn has(&self, payload: &[u8], log_id: u64) -> bool {
        payload.len() == self.payload_bytes
            && xxh3_64_with_seed(payload, log_id) == self.payload_checksum
    }
}

/// Writes the fields that do not depend on the frame's place to the front of a frame: all the work
/// that takes time, done before the log is locked.
pub(super) fn seal(frame: &mut [u8], log_id: u64) {
    let (header, payload) = frame.split_at_mut(HEADER_BYTES);
    header[..4].copy_from_slice(&MAGIC);
    header[4..8].copy_from_slice(&(payload.len() as u32).to_le_bytes());
    header[32..40].copy_from_slice(&xxh3_64_with_seed(payload, log_id).to_le_bytes());
}

/// Gives a sealed frame its place in the chain; returns the place after it.
pub(super) fn chain(frame: &mut [u8], place: Link, safe: u64, log_id: u64) -> Link {
    let Link { sequence, previous } = place;
    frame[8..16].copy_from_slice(&sequence.to_le_bytes());
    frame[16..24].copy_from_slice(&previous.to_le_bytes());
    frame[24..32].copy_from_slice(&safe.to_le_bytes());
    let checksum = xxh3_64_with_seed(&frame[..CHECKSUM], log_id);
    frame[CHECKSUM..HEADER_BYTES].copy_from_slice(&checksum.to_le_bytes());
    Link { sequence: sequence + 1, previous: checksum }
}
