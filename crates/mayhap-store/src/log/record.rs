//! One record: a batch of digests with its place in the chain.

use super::header::{VERSION, u64_at};
use mayhap::Digest;
use xxhash_rust::xxh3::xxh3_64;

pub(crate) const MAX_DIGESTS: usize = 1 << 16;
pub(super) const MAX_RECORD_BYTES: usize = digests_at(VERSION) + MAX_DIGESTS * 8 + 8;
const MAGIC: [u8; 4] = *b"\x89mhr";
const MAGIC_OFFSET: usize = 20;
const SEQUENCE: usize = 8;
const OPERATION: usize = 24;
const TIME: usize = 32;
const SAFE: usize = 40;

/// The operation on the digests of a record.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Operation {
    /// They are inserted.
    Insert = 1,
    /// They are removed, from a compact or counting filter.
    Remove = 2,
    /// No change to digests: only the time advanced. There is one digest, without a meaning.
    Pass = 3,
}

/// The contents of a record.
#[derive(Debug, Clone, Copy)]
pub struct Record<'a> {
    /// The operation.
    pub operation: Operation,
    /// The time before the operation: in the unit of a time window, or the number of keys offered
    /// so far to a count window; `None` in logs of version 1, which have none.
    pub time: Option<u64>,
    /// The digests, in order.
    pub digests: &'a [Digest],
}

/// The end of a sound record, or of the header.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Position {
    /// The offset of the next record.
    pub(crate) bytes: u64,
    /// The checksum of the preceding record or header.
    pub(crate) previous: u64,
    /// The number of the next record.
    pub(crate) sequence: u64,
}

/// The offset of the digests in a record of this version of the log.
const fn digests_at(version: u16) -> usize {
    if version == 1 { 24 } else { 48 }
}

/// Whether the 8 bytes at this offset of a record may be zeros: its number if it is the first one,
/// its time, and `safe`. Checksums and digests are zero only once in 2^64.
pub(super) const fn may_be_zero(at: u64, sequence: u64) -> bool {
    at == SEQUENCE as u64 && sequence == 0 || at == TIME as u64 || at == SAFE as u64
}

/// A record that is sound in itself.
pub(super) struct Sound<'a> {
    pub(super) previous: u64,
    pub(super) sequence: u64,
    pub(super) checksum: u64,
    /// Bytes in the whole record.
    pub(super) bytes: usize,
    /// Only its number if it is unknown to this version.
    pub(super) operation: Result<Operation, u64>,
    /// The time; version 1 has none.
    pub(super) time: Option<u64>,
    /// Records with a lower number were on disk when this one was written.
    pub(super) safe: u64,
    digests: &'a [[u8; 8]],
}

impl Sound<'_> {
    pub(super) fn digests(&self) -> impl Iterator<Item = Digest> + '_ {
        self.digests.iter().map(|bytes| Digest::new(u64::from_le_bytes(*bytes)))
    }
}

/// Appends a record of at most [`MAX_DIGESTS`] to `out` and returns its checksum.
pub(super) fn encode(
    out: &mut Vec<u8>,
    (previous, sequence, safe): (u64, u64, u64),
    (operation, time): (Operation, u64),
    digests: &[Digest],
) -> u64 {
    debug_assert!((1..=MAX_DIGESTS).contains(&digests.len()));
    let start = out.len();
    out.extend_from_slice(&previous.to_le_bytes());
    out.extend_from_slice(&sequence.to_le_bytes());
    out.extend_from_slice(&(digests.len() as u32).to_le_bytes());
    out.extend_from_slice(&MAGIC);
    out.extend_from_slice(&u64::from(operation as u16).to_le_bytes());
    out.extend_from_slice(&time.to_le_bytes());
    out.extend_from_slice(&safe.to_le_bytes());
    out.extend(digests.iter().flat_map(|digest| digest.get().to_le_bytes()));
    let checksum = xxh3_64(&out[start..]);
    out.extend_from_slice(&checksum.to_le_bytes());
    checksum
}

/// The record at the start of `bytes`, if it is complete and sound.
pub(super) fn decode(bytes: &[u8], version: u16) -> Option<Sound<'_>> {
    let digests_at = digests_at(version);
    let (prefix, rest) = bytes.split_at_checked(digests_at)?;
    if prefix[MAGIC_OFFSET..MAGIC_OFFSET + 4] != MAGIC {
        return None;
    }
    let count = u32::from_le_bytes([prefix[16], prefix[17], prefix[18], prefix[19]]) as usize;
    if !(1..=MAX_DIGESTS).contains(&count) {
        return None;
    }
    let (digests, [checksum, ..]) = rest.as_chunks::<8>().0.split_at_checked(count)? else {
        return None;
    };
    let checksum = u64::from_le_bytes(*checksum);
    if xxh3_64(&bytes[..digests_at + count * 8]) != checksum {
        return None;
    }
    let u64_at = |at: usize| u64_at(prefix, at);
    let (operation, time, safe) = if version == 1 {
        (Ok(Operation::Insert), None, 0)
    } else {
        let operation = match u64_at(OPERATION) {
            1 => Ok(Operation::Insert),
            2 => Ok(Operation::Remove),
            3 => Ok(Operation::Pass),
            other => Err(other),
        };
        (operation, Some(u64_at(TIME)), u64_at(SAFE))
    };
    let (previous, sequence) = (u64_at(0), u64_at(SEQUENCE));
    let bytes = digests_at + count * 8 + 8;
    Some(Sound { previous, sequence, checksum, bytes, operation, time, safe, digests })
}
