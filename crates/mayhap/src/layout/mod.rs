//! Digest → positions → bits: one file per layout.

mod blocked;
pub(crate) mod positions;
mod standard;

pub use blocked::Blocked;
pub use standard::Standard;

use crate::bits::Block;
use crate::sync::AtomicU64;
use crate::{Digest, FilterParams};

/// How a digest becomes bits.
///
/// | id | name | bits per key at 1 % / 0.1 % / 0.01 % | cache lines per query |
/// |---|---|---|---|
/// | 1 | `standard` | 9.59 / 14.38 / 19.17 | up to k |
/// | 2 | `blocked` | 10.10 / 15.72 / 22.88 | 1 |
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Layout {
    /// k bits anywhere in m ≥ 64 bits.
    Standard,
    /// 8 or 16 bits in one 512-bit block: k/8 in each of its 8 lanes.
    Blocked,
}

impl Layout {
    /// The stable id that file headers carry.
    pub const fn id(self) -> u16 {
        match self {
            Self::Standard => 1,
            Self::Blocked => 2,
        }
    }

    /// The layout with this id.
    pub const fn from_id(id: u16) -> Option<Self> {
        match id {
            1 => Some(Self::Standard),
            2 => Some(Self::Blocked),
            _ => None,
        }
    }

    /// The stable name: `standard` or `blocked`.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Standard => "standard",
            Self::Blocked => "blocked",
        }
    }

    /// The smallest number of bits of a filter of this layout.
    pub const fn min_bits(self) -> u64 {
        match self {
            Self::Standard => 64,
            Self::Blocked => 512,
        }
    }
}

impl core::fmt::Display for Layout {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.write_str(self.name())
    }
}

/// What a layout does with digests and blocks. Sealed: [`Standard`] and [`Blocked`] are all.
///
/// Batch results are words of bits, key `i` at bit `i % 64` of word `i / 64`; callers pass
/// zeroed words, as many as needed.
#[doc(hidden)]
pub trait LayoutKind: Copy + core::fmt::Debug + Send + Sync + sealed::Sealed {
    const LAYOUT: Layout;
    /// `params` must be of this layout.
    fn new(params: &FilterParams) -> Self;
    fn contains(&self, blocks: &[Block], digest: Digest) -> bool;
    fn insert(&self, blocks: &mut [Block], digest: Digest) -> bool;
    fn contains_batch(&self, blocks: &[Block], digests: &[Digest], found: &mut [u64]);
    fn insert_batch(&self, blocks: &mut [Block], digests: &[Digest], new: &mut [u64]);
    fn contains_shared(&self, words: &[AtomicU64], digest: Digest) -> bool;
    fn insert_shared(&self, words: &[AtomicU64], digest: Digest) -> bool;
    /// Asks for the cache lines that the digest needs, to read or to write them.
    fn prefetch_shared<const WRITE: bool>(&self, words: &[AtomicU64], digest: Digest);
    /// The probability that an absent key is answered "maybe" by blocks with these contents.
    fn fpp_of(&self, params: &FilterParams, blocks: &impl crate::Storage) -> f64;
}

pub(crate) mod sealed {
    pub trait Sealed {}
    impl Sealed for super::Standard {}
    impl Sealed for super::Blocked {}
}
