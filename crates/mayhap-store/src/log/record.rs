//! One record: a batch of digests with its place in the chain.

use mayhap::Digest;
use xxhash_rust::xxh3::xxh3_64;

pub(super) const MAX_DIGESTS: usize = 1 << 16;
pub(super) const MAX_RECORD_BYTES: usize = DIGESTS + MAX_DIGESTS * 8 + 8;
const MAGIC: [u8; 4] = *b"\x89mhr";
const MAGIC_OFFSET: usize = 20;
const DIGESTS: usize = 24;

/// A record that is sound in itself.
pub(super) struct Record<'a> {
    pub(super) previous: u64,
    pub(super) sequence: u64,
    pub(super) checksum: u64,
    /// Bytes in the whole record.
    pub(super) bytes: usize,
    digests: &'a [[u8; 8]],
}

impl Record<'_> {
    pub(super) fn digests(&self) -> impl Iterator<Item = Digest> + '_ {
        self.digests.iter().map(|bytes| Digest::new(u64::from_le_bytes(*bytes)))
    }
}

/// Appends a record of at most [`MAX_DIGESTS`] to `out` and returns its checksum.
pub(super) fn encode(out: &mut Vec<u8>, previous: u64, sequence: u64, digests: &[Digest]) -> u64 {
    debug_assert!((1..=MAX_DIGESTS).contains(&digests.len()));
    let start = out.len();
    out.extend_from_slice(&previous.to_le_bytes());
    out.extend_from_slice(&sequence.to_le_bytes());
    out.extend_from_slice(&(digests.len() as u32).to_le_bytes());
    out.extend_from_slice(&MAGIC);
    out.extend(digests.iter().flat_map(|digest| digest.get().to_le_bytes()));
    let checksum = xxh3_64(&out[start..]);
    out.extend_from_slice(&checksum.to_le_bytes());
    checksum
}

/// The record at the start of `bytes`, if a sound one is there as a whole.
pub(super) fn decode(bytes: &[u8]) -> Option<Record<'_>> {
    let (prefix, rest) = bytes.split_at_checked(DIGESTS)?;
    if prefix[MAGIC_OFFSET..] != MAGIC {
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
    if xxh3_64(&bytes[..DIGESTS + count * 8]) != checksum {
        return None;
    }
    let u64_at = |at: usize| u64::from_le_bytes(std::array::from_fn(|i| prefix[at + i]));
    let (previous, sequence) = (u64_at(0), u64_at(8));
    Some(Record { previous, sequence, checksum, bytes: DIGESTS + count * 8 + 8, digests })
}
