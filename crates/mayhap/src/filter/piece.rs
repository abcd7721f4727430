//! Pieces of the bits of a filter, as bytes: where one lies, and how many of its bits are new.

use crate::bits::{Block, Storage};
use crate::{Error, FilterParams};
use core::ops::Range;

/// What a piece of bits would add to a filter: [`crate::AnyFilter::gain_of`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Gain {
    /// The bits of the filter that are set where the piece lies.
    pub ones: u64,
    /// The bits of the piece that the filter lacks.
    pub lacking: u64,
}

/// Checks that these bytes are a piece of the bits of a filter with these parameters, from byte
/// `offset` of its body on; returns the blocks that they are.
///
/// # Errors
///
/// [`Error::NoPiece`]; [`Error::BadField`] for a bit past `num_bits`.
pub(super) fn place_of(
    params: &FilterParams,
    offset: u64,
    bytes: &[u8],
) -> Result<Range<usize>, Error> {
    let (num_bytes, len) = (params.num_bytes(), bytes.len() as u64);
    let is_whole = |bytes: u64| bytes.is_multiple_of(Block::BYTES as u64);
    let end = offset.saturating_add(len);
    if len == 0 || !is_whole(len) || !is_whole(offset) || end > num_bytes {
        return Err(Error::NoPiece { offset, bytes: len, num_bytes });
    }
    let used_bits = params.num_bits() % Block::BITS;
    if end == num_bytes && used_bits != 0 {
        let last = &bytes[bytes.len() - Block::BYTES..];
        let past_end = (used_bits..Block::BITS)
            .filter(|bit| last[(bit / 8) as usize] >> (bit % 8) & 1 == 1)
            .count() as u64;
        Error::check_field(past_end == 0, "bits past num_bits", past_end)?;
    }
    Ok(offset as usize / Block::BYTES..end as usize / Block::BYTES)
}

/// The words of a piece.
pub(super) fn words_of(bytes: &[u8]) -> impl Iterator<Item = u64> {
    bytes.as_chunks::<8>().0.iter().map(|word| u64::from_le_bytes(*word))
}

/// What a piece would add to these blocks, which are the ones where it lies.
pub(super) fn gain_of(blocks: &impl Storage, at: Range<usize>, bytes: &[u8]) -> Gain {
    let mut gain = Gain { ones: 0, lacking: 0 };
    for (i, piece) in at.zip(bytes.as_chunks::<{ Block::BYTES }>().0) {
        for (lane, bits) in blocks.block(i).0.into_iter().zip(words_of(piece)) {
            gain.ones += u64::from(lane.count_ones());
            gain.lacking += u64::from((bits & !lane).count_ones());
        }
    }
    gain
}
