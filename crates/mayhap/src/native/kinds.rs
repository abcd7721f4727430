//! The table of kinds: which blocks a header of each promises.

use super::{Fields, Kind, Native};
use crate::{
    AnyFilter, BinaryFuse, BloomMatrix, CompactFilter, CountingBloomFilter, Error,
    ScalableBloomFilter, Segment, WindowBloomFilter,
};
use alloc::vec::Vec;

impl Kind {
    /// Like [`Native::segment_blocks`], for the kind.
    pub(super) fn segment_blocks(self, fields: &Fields) -> Result<Vec<u64>, Error> {
        match self {
            Self::Bloom => AnyFilter::segment_blocks(fields),
            Self::Compact => CompactFilter::segment_blocks(fields),
            Self::Counting => CountingBloomFilter::segment_blocks(fields),
            Self::Fuse => BinaryFuse::segment_blocks(fields),
            Self::Matrix => BloomMatrix::segment_blocks(fields),
            #[cfg(not(target_family = "wasm"))]
            Self::Ribbon => crate::RibbonFilter::segment_blocks(fields),
            // The modules for browsers, which have a limit to their size, refuse it by name.
            #[cfg(target_family = "wasm")]
            Self::Ribbon => Err(Error::WrongKind { wanted: "bloom", found: "ribbon" }),
            Self::Scalable => ScalableBloomFilter::segment_blocks(fields),
            Self::Window => WindowBloomFilter::segment_blocks(fields),
            Self::Segment => Segment::segment_blocks(fields),
        }
    }
}
