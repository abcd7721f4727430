//! Digest → positions → bits: one file per layout.

mod blocked;
mod narrow;
mod standard;

pub use blocked::Blocked;
pub use narrow::{Blocked64, Blocked128, NarrowBlocked};
pub use standard::Standard;

use crate::bits::Block;
use crate::sync::AtomicU64;
use crate::{Digest, FilterParams};

/// How a digest becomes bits.
///
/// | id | name | bits per key at 10 % / 1 % / 0.1 % / 0.01 % | cache lines per query |
/// |---|---|---|---|
/// | 1 | `standard` | 4.81 / 9.59 / 14.38 / 19.17 | up to k |
/// | 2 | `blocked` | 4.89 / 10.10 / 15.72 / 22.88 | 1 |
/// | 3 | `blocked128` | 6.22 / 11.43 / 19.40 / 32.48 | 1 |
/// | 4 | `blocked64` | 6.71 / 13.43 / 25.34 / 48.51 | 1 |
///
/// Those of `blocked` are with the best k of three: 4 from a rate of 1.86 % up, 16 from 1.8e-4
/// down, and 8 between them ([`crate::sizing::blocked`] has a table).
/// The last two are what counting filters of 4 and 8 bits become when nothing more is removed
/// ([`crate::CountingBloomFilter::to_blocked`]); no default chooses them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Layout {
    /// k bits anywhere in m ≥ 64 bits.
    Standard,
    /// 4, 8 or 16 bits in one 512-bit block: k/8 in each of its 8 lanes of 64 bits, or for k = 4
    /// one in each of 4 lanes of 128 bits.
    Blocked,
    /// 8 bits in one 128-bit block: one in each of its 8 lanes of 16 bits.
    Blocked128,
    /// 8 bits in one 64-bit block: one in each of its 8 lanes of 8 bits.
    Blocked64,
}

impl Layout {
    /// The stable id that file headers carry.
    pub const fn id(self) -> u16 {
        match self {
            Self::Standard => 1,
            Self::Blocked => 2,
            Self::Blocked128 => 3,
            Self::Blocked64 => 4,
        }
    }

    /// The layout with this id.
    pub const fn from_id(id: u16) -> Option<Self> {
        match id {
            1 => Some(Self::Standard),
            2 => Some(Self::Blocked),
            3 => Some(Self::Blocked128),
            4 => Some(Self::Blocked64),
            _ => None,
        }
    }

    /// The stable name: `standard`, `blocked`, `blocked128` or `blocked64`.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Standard => "standard",
            Self::Blocked => "blocked",
            Self::Blocked128 => "blocked128",
            Self::Blocked64 => "blocked64",
        }
    }

    /// The smallest number of bits of a filter of this layout.
    pub const fn min_bits(self) -> u64 {
        match self {
            Self::Standard => 64,
            _ => self.block_bits(),
        }
    }

    /// The bits of a block, which all bits of a key share and of which m is a multiple: 1 for
    /// `standard`, whose keys share nothing.
    pub const fn block_bits(self) -> u64 {
        match self {
            Self::Standard => 1,
            Self::Blocked => 512,
            Self::Blocked128 => 128,
            Self::Blocked64 => 64,
        }
    }

    /// The k of a layout with blocks, from the fewest on; none for `standard`, which has many.
    pub(crate) const fn num_hashes(self) -> &'static [u32] {
        match self {
            Self::Standard => &[],
            Self::Blocked => &[4, 8, 16],
            Self::Blocked128 | Self::Blocked64 => &[8],
        }
    }

    /// The bits of a lane of a layout with blocks: an eighth of the block, or a quarter for k = 4.
    pub(crate) const fn lane_bits(self, num_hashes: u32) -> u64 {
        self.block_bits() / if num_hashes == 4 { 4 } else { 8 }
    }
}

impl core::fmt::Display for Layout {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.write_str(self.name())
    }
}

/// What a layout does with digests and blocks. Sealed: [`Standard`], [`Blocked`] and
/// [`NarrowBlocked`] are all.
///
/// Batch results are words of bits, key `i` at bit `i % 64` of word `i / 64`; callers pass
/// zeroed words, as many as needed.
#[doc(hidden)]
pub trait LayoutKind: Copy + core::fmt::Debug + Send + Sync + sealed::Sealed {
    const LAYOUT: Layout;
    /// `params` must be of this layout.
    fn new(params: &FilterParams) -> Self;
    /// The instruction set of the hot loops.
    fn kernel_name(&self) -> &'static str;
    fn contains(&self, blocks: &[Block], digest: Digest) -> bool;
    fn insert(&self, blocks: &mut [Block], digest: Digest) -> bool;
    /// Inserts and returns how many bits were clear before.
    fn insert_counted(&self, blocks: &mut [Block], digest: Digest) -> u32;
    /// Asks for the cache lines that the digest needs.
    fn prefetch(&self, blocks: &[Block], digest: Digest);
    fn contains_batch(&self, blocks: &[Block], digests: &[Digest], found: &mut [u64]);
    fn insert_batch(&self, blocks: &mut [Block], digests: &[Digest], new: &mut [u64]);
    fn contains_shared(&self, words: &[AtomicU64], digest: Digest) -> bool;
    /// Of up to 64 digests: digest `i` is bit `i` of the answer.
    #[inline(always)]
    fn contains_shared_group(&self, words: &[AtomicU64], digests: &[Digest]) -> u64 {
        let answers = digests.iter().enumerate();
        answers.fold(0, |found, (i, &digest)| {
            found | u64::from(self.contains_shared(words, digest)) << i
        })
    }
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
    impl<const WORDS: usize> Sealed for super::NarrowBlocked<WORDS> {}
}
