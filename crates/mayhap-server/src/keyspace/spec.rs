//! What a filter was created to be, and its bytes in the log.
//!
//! ```text
//! offset  bytes  what
//! 0       1      version: 1
//! 1       1      shape: 1 growing, 2 fixed, 3 counting, 4 window, 5 RedisBloom, 6 file, 7 window
//!                without refresh, 8 clearing
//! 2       1      hash: 0 keyed, 1 plain
//! 3       8      the plain hash's seed, 0 where keyed
//! 11      8      error, IEEE 754
//! 19      8      capacity; a window of time: keys that are expected in it
//! 27      8      growing: expansion; fixed: layout id or 0; window of time: its milliseconds or 0;
//!                clearing: share of set bits, IEEE 754
//! ```
//!
//! All numbers are little-endian. A number that a shape has no use for is 0.

use super::SpecError;
use mayhap::{DigestFunction, Layout};

/// Bytes of an encoded [`Spec`].
pub const SPEC_BYTES: usize = 35;
const VERSION: u8 = 1;

/// The largest `EXPANSION`.
pub const MAX_EXPANSION: u32 = 32_768;

/// How keys become digests.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Hash {
    /// SipHash-1-3 under the server's secret key: nobody else can make false positives.
    #[default]
    Keyed,
    /// XXH3-64: for filters whose digests others compute too.
    Plain {
        /// The seed.
        seed: u64,
    },
}

/// How keys become the digests of this function.
pub(super) const fn hash_of(function: &DigestFunction) -> Hash {
    match *function {
        DigestFunction::Xxh3 { seed } => Hash::Plain { seed },
        _ => Hash::Keyed,
    }
}

/// What kind of filter, and its numbers.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Shape {
    /// Grows with its keys and keeps `error` overall.
    Growing {
        /// Initial capacity.
        capacity: u64,
        /// The promised rate.
        error: f64,
        /// `EXPANSION`: reported back; growth is ours.
        expansion: u32,
    },
    /// Says that it is full rather than grow.
    Fixed {
        /// Keys for which it has room.
        capacity: u64,
        /// The promised rate.
        error: f64,
        /// The layout, where one was named.
        layout: Option<Layout>,
    },
    /// Keys can be removed from it.
    Counting {
        /// Keys for which it has room.
        capacity: u64,
        /// The promised rate.
        error: f64,
    },
    /// Forgets old keys.
    Window {
        /// Keys that it remembers, or that are expected in its time.
        items: u64,
        /// Milliseconds for which it remembers; 0 if the number of keys says it.
        time_ms: u64,
        /// The promised rate.
        error: f64,
        /// A repeat makes its key young again.
        refresh: bool,
    },
    /// Forgets all keys whenever so many of its bits are set.
    Clearing {
        /// Keys that it was sized for.
        capacity: u64,
        /// The promised rate of so many keys.
        error: f64,
        /// The share of set bits, above 0 and at most 1.
        at: f64,
    },
    /// A filter of `RedisBloom`, with its scheme.
    RedisBloom,
    /// A file in the data folder, read only.
    File,
}

/// What a filter was created to be.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Spec {
    /// What kind of filter.
    pub shape: Shape,
    /// How keys become digests.
    pub hash: Hash,
}

impl Spec {
    /// A keyed filter that grows: what `BF.RESERVE name error capacity EXPANSION n` asks for.
    pub const fn growing(capacity: u64, error: f64, expansion: u32) -> Self {
        Self { shape: Shape::Growing { capacity, error, expansion }, hash: Hash::Keyed }
    }

    /// A keyed filter that does not grow: `NONSCALING`.
    pub const fn fixed(capacity: u64, error: f64) -> Self {
        Self { shape: Shape::Fixed { capacity, error, layout: None }, hash: Hash::Keyed }
    }

    /// Its bytes.
    pub fn encode(&self) -> [u8; SPEC_BYTES] {
        let (shape, error, capacity, last) = match self.shape {
            Shape::Growing { capacity, error, expansion } => (1, error, capacity, expansion.into()),
            Shape::Fixed { capacity, error, layout } => {
                (2, error, capacity, layout.map_or(0, |layout| layout.id().into()))
            }
            Shape::Counting { capacity, error } => (3, error, capacity, 0),
            Shape::Window { items, time_ms, error, refresh } => {
                (if refresh { 4 } else { 7 }, error, items, time_ms)
            }
            Shape::Clearing { capacity, error, at } => (8, error, capacity, at.to_bits()),
            Shape::RedisBloom => (5, 0.0, 0, 0),
            Shape::File => (6, 0.0, 0, 0),
        };
        let (hash, seed) = match self.hash {
            Hash::Keyed => (0, 0),
            Hash::Plain { seed } => (1, seed),
        };
        let mut bytes = [0; SPEC_BYTES];
        bytes[..3].copy_from_slice(&[VERSION, shape, hash]);
        for (i, number) in [seed, error.to_bits(), capacity, last].into_iter().enumerate() {
            bytes[3 + 8 * i..][..8].copy_from_slice(&number.to_le_bytes());
        }
        bytes
    }

    /// The spec of these bytes; `None` for bytes that [`Spec::encode`] does not make.
    pub fn decode(bytes: &[u8]) -> Option<Self> {
        let bytes: &[u8; SPEC_BYTES] = bytes.try_into().ok()?;
        let [version, shape, hash, ..] = *bytes;
        let number = |i: usize| {
            let mut number = [0; 8];
            number.copy_from_slice(&bytes[3 + 8 * i..][..8]);
            u64::from_le_bytes(number)
        };
        let (seed, capacity, last) = (number(0), number(2), number(3));
        let error = f64::from_bits(number(1));
        let shape = match shape {
            1 => Shape::Growing { capacity, error, expansion: last.try_into().ok()? },
            2 => {
                let layout = match u16::try_from(last).ok()? {
                    0 => None,
                    id => Some(Layout::from_id(id)?),
                };
                Shape::Fixed { capacity, error, layout }
            }
            3 => Shape::Counting { capacity, error },
            4 | 7 => Shape::Window { items: capacity, time_ms: last, error, refresh: shape == 4 },
            5 => Shape::RedisBloom,
            6 => Shape::File,
            8 => Shape::Clearing { capacity, error, at: f64::from_bits(last) },
            _ => return None,
        };
        let hash = match hash {
            0 => Hash::Keyed,
            1 => Hash::Plain { seed },
            _ => return None,
        };
        let spec = Self { shape, hash };
        // One spec has one encoding, so nothing stands where it has no meaning.
        let sound = version == VERSION && spec.check().is_ok() && spec.encode() == *bytes;
        sound.then_some(spec)
    }

    /// Whether the numbers are in their ranges, and what is wrong.
    ///
    /// # Errors
    ///
    /// [`SpecError`] for the first one that is not.
    pub fn check(&self) -> Result<(), SpecError> {
        let (capacity, error) = match self.shape {
            Shape::Growing { capacity, error, expansion } => {
                if !(1..=MAX_EXPANSION).contains(&expansion) {
                    return Err(SpecError::Expansion(expansion));
                }
                (capacity, error)
            }
            Shape::Fixed { capacity, error, layout } => {
                if matches!(layout, Some(Layout::Blocked128 | Layout::Blocked64)) {
                    return Err(SpecError::Layout);
                }
                (capacity, error)
            }
            Shape::Counting { capacity, error } | Shape::Window { items: capacity, error, .. } => {
                (capacity, error)
            }
            Shape::Clearing { capacity, error, at } => {
                // As below. What is next to 0 is 0 on some processors.
                if !(f64::MIN_POSITIVE..=1.0).contains(&at) {
                    return Err(SpecError::ClearAt(at));
                }
                (capacity, error)
            }
            Shape::RedisBloom | Shape::File => return Ok(()),
        };
        if capacity == 0 {
            return Err(SpecError::ZeroCapacity);
        }
        // `contains` of a range is false for NaN.
        if !(error > 0.0 && error < 1.0) {
            return Err(SpecError::Fpp(error));
        }
        Ok(())
    }
}
