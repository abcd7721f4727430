//! The list of layouts: their ids, names and shapes.

/// The mapping from digests to bits.
///
/// | id | name | bits per key at 10 % / 1 % / 0.1 % / 0.01 % | cache lines per query |
/// |---|---|---|---|
/// | 1 | `standard` | 4.81 / 9.59 / 14.38 / 19.17 | up to k |
/// | 2 | `blocked` | 4.89 / 10.10 / 15.72 / 22.88 | 1 |
/// | 3 | `blocked128` | 6.22 / 11.43 / 19.40 / 32.48 | 1 |
/// | 4 | `blocked64` | 6.71 / 13.43 / 25.34 / 48.51 | 1 |
///
/// The figures for `blocked` are for the best of three values of k: 4 for rates of 1.86 % and
/// above, 16 for 1.8e-4 and below, and 8 in between ([`crate::sizing::blocked`] has a table). The
/// last two layouts are the plain forms of counting filters with 4 and 8 bits
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

    /// The bits of a block, which holds all bits of a key and divides m: 1 for `standard`, which
    /// has no blocks.
    pub const fn block_bits(self) -> u64 {
        match self {
            Self::Standard => 1,
            Self::Blocked => 512,
            Self::Blocked128 => 128,
            Self::Blocked64 => 64,
        }
    }

    /// The possible k of a layout with blocks, in ascending order; empty for `standard`, which has
    /// many.
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
