//! Which bits of a filter are counted.

use super::meta::Meta;
use crate::observe::windows;
use mayhap::Block;
use std::ops::Range;

/// Which bits are counted.
#[derive(Debug, Clone, Copy)]
pub(super) enum Extent {
    All,
    Sample,
}

/// A shard and bytes of its blocks.
pub(super) type Piece = (usize, Range<u64>);

impl Extent {
    /// The pieces, none of them empty or part of a trailer.
    pub(super) fn pieces(self, meta: &Meta) -> Vec<Piece> {
        let cut = &meta.cut;
        match self {
            Self::All => {
                (0..cut.num_shards() as usize).map(|i| (i, 0..cut.body_bytes(i))).collect()
            }
            Self::Sample => {
                let within = |bytes: Range<u64>| {
                    let (shard, bit) = cut.place(bytes.start * 8);
                    let end = (bit / 8 + bytes.end - bytes.start).min(cut.body_bytes(shard));
                    (shard, bit / 8..end)
                };
                windows(meta.params.num_blocks() * Block::BYTES as u64)
                    .into_iter()
                    .map(within)
                    .collect()
            }
        }
    }
}
