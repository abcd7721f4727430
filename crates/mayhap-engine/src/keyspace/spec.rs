//! The specification of a filter at its creation, and its encoding in the log.
//!
//! ```text
//! offset  bytes  field
//! 0       1      version: 1
//! 1       1      shape: 1 growing, 2 fixed, 3 counting, 4 window, 5 RedisBloom, 6 file, 7 window
//!                without refresh, 8 clearing, 9 compact, 10 frozen
//! 2       1      hash: 0 keyed, 1 plain
//! 3       8      the plain hash's seed, 0 if keyed
//! 11      8      target_fpp, IEEE 754
//! 19      8      capacity; a window of time: keys that are expected in it
//! 27      8      growing, compact: expansion; fixed: layout id or 0; window of time: its
//!                milliseconds or 0; clearing: share of set bits, IEEE 754
//! ```
//!
//! All numbers are little-endian. A field that a shape does not use is 0.

use mayhap::{DigestFunction, Layout};

/// Bytes of an encoded [`Spec`].
pub const SPEC_BYTES: usize = 35;
const VERSION: u8 = 1;

/// The largest `EXPANSION`.
pub const MAX_EXPANSION: u32 = 32_768;

/// How keys become digests.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Hash {
    /// SipHash-1-3 under the server's secret key: nobody else can construct false positives.
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

/// The kind of filter, and its parameters.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Shape {
    /// Grows with its keys and keeps `target_fpp` overall.
    Growing {
        /// Initial capacity.
        capacity: u64,
        /// The promised rate.
        target_fpp: f64,
        /// `EXPANSION`: only reported back; growth follows our own rule.
        expansion: u32,
    },
    /// Refuses keys when full instead of growing.
    Fixed {
        /// Keys that it has room for.
        capacity: u64,
        /// The promised rate.
        target_fpp: f64,
        /// The layout, if one was named.
        layout: Option<Layout>,
    },
    /// Keys can be removed from it.
    Counting {
        /// Keys that it has room for.
        capacity: u64,
        /// The promised rate.
        target_fpp: f64,
    },
    /// Forgets old keys.
    Window {
        /// Keys that it remembers, or that are expected within its time.
        items: u64,
        /// Milliseconds for which it remembers; 0 if it is limited by the number of keys.
        time_ms: u64,
        /// The promised rate.
        target_fpp: f64,
        /// Whether a repeat makes its key young again.
        refresh: bool,
    },
    /// Forgets all keys whenever a given share of its bits is set.
    Clearing {
        /// Keys that it was sized for.
        capacity: u64,
        /// The promised rate for this capacity.
        target_fpp: f64,
        /// The share of set bits, above 0 and at most 1.
        at: f64,
    },
    /// Keys can be removed from it, in little more memory than the set needs: it stores a copy of
    /// each insertion.
    Compact {
        /// Copies that it has room for.
        capacity: u64,
        /// The promised rate.
        target_fpp: f64,
        /// `EXPANSION`: 0 if it refuses keys when full, else it doubles itself.
        expansion: u32,
    },
    /// A filter of `RedisBloom`, with its scheme.
    RedisBloom,
    /// A fuse or ribbon filter: built elsewhere from all of its keys, and never changed.
    Frozen,
    /// A file in the data folder, read only.
    File,
}

impl Shape {
    /// The number of keys that it was created for, and the promised rate; `None` for dumps, frozen
    /// filters and files.
    pub const fn size(&self) -> Option<(u64, f64)> {
        match *self {
            Self::Growing { capacity, target_fpp, .. }
            | Self::Fixed { capacity, target_fpp, .. }
            | Self::Counting { capacity, target_fpp }
            | Self::Compact { capacity, target_fpp, .. }
            | Self::Clearing { capacity, target_fpp, .. }
            | Self::Window { items: capacity, target_fpp, .. } => Some((capacity, target_fpp)),
            Self::RedisBloom | Self::Frozen | Self::File => None,
        }
    }

    /// The number of keys that it was created for; `None` for dumps, frozen filters and files.
    pub fn capacity(&self) -> Option<u64> {
        self.size().map(|(capacity, _)| capacity)
    }

    /// `EXPANSION`, if it grows.
    pub const fn expansion(&self) -> Option<u32> {
        match *self {
            Self::Growing { expansion, .. } => Some(expansion),
            Self::Compact { expansion, .. } if expansion > 0 => Some(expansion),
            _ => None,
        }
    }
}

/// Which number of a [`Spec`] is out of range.
#[derive(Debug, Clone, Copy, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum SpecError {
    /// No keys.
    #[error("capacity is 0, must be at least 1")]
    ZeroCapacity,
    /// An invalid rate.
    #[error("error rate is {0}, must be above 0 and below 1")]
    Fpp(f64),
    /// An `EXPANSION` outside of 1 to [`MAX_EXPANSION`].
    #[error("expansion is {0}, must be from 1 to {max}", max = MAX_EXPANSION)]
    Expansion(u32),
    /// An invalid share of set bits, `CLEARAT`.
    #[error("a filter cannot be cleared at {0} of its bits, but above 0, up to 1")]
    ClearAt(f64),
    /// A layout that a fixed filter cannot have.
    #[error("layout must be standard or blocked")]
    Layout,
}

/// The specification of a filter at its creation.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Spec {
    /// The kind of filter.
    pub shape: Shape,
    /// How keys become digests.
    pub hash: Hash,
}

impl Spec {
    /// A keyed filter that grows, as created by `BF.RESERVE name error capacity EXPANSION n`.
    pub const fn growing(capacity: u64, target_fpp: f64, expansion: u32) -> Self {
        Self { shape: Shape::Growing { capacity, target_fpp, expansion }, hash: Hash::Keyed }
    }

    /// A keyed filter that does not grow: `NONSCALING`.
    pub const fn fixed(capacity: u64, target_fpp: f64) -> Self {
        Self { shape: Shape::Fixed { capacity, target_fpp, layout: None }, hash: Hash::Keyed }
    }

    /// Its encoding.
    pub fn encode(&self) -> [u8; SPEC_BYTES] {
        let (capacity, target_fpp) = self.shape.size().unwrap_or_default();
        let (shape, last) = match self.shape {
            Shape::Growing { expansion, .. } => (1, expansion.into()),
            Shape::Compact { expansion, .. } => (9, expansion.into()),
            Shape::Fixed { layout, .. } => (2, layout.map_or(0, |layout| layout.id().into())),
            Shape::Counting { .. } => (3, 0),
            Shape::Window { time_ms, refresh, .. } => (if refresh { 4 } else { 7 }, time_ms),
            Shape::Clearing { at, .. } => (8, at.to_bits()),
            Shape::RedisBloom => (5, 0),
            Shape::File => (6, 0),
            Shape::Frozen => (10, 0),
        };
        let (hash, seed) = match self.hash {
            Hash::Keyed => (0, 0),
            Hash::Plain { seed } => (1, seed),
        };
        let mut bytes = [0; SPEC_BYTES];
        bytes[..3].copy_from_slice(&[VERSION, shape, hash]);
        for (i, number) in [seed, target_fpp.to_bits(), capacity, last].into_iter().enumerate() {
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
        let target_fpp = f64::from_bits(number(1));
        let shape = match shape {
            1 => Shape::Growing { capacity, target_fpp, expansion: last.try_into().ok()? },
            2 => {
                let layout = match u16::try_from(last).ok()? {
                    0 => None,
                    id => Some(Layout::from_id(id)?),
                };
                Shape::Fixed { capacity, target_fpp, layout }
            }
            3 => Shape::Counting { capacity, target_fpp },
            4 | 7 => {
                let (items, time_ms, refresh) = (capacity, last, shape == 4);
                Shape::Window { items, time_ms, target_fpp, refresh }
            }
            5 => Shape::RedisBloom,
            6 => Shape::File,
            8 => Shape::Clearing { capacity, target_fpp, at: f64::from_bits(last) },
            9 => Shape::Compact { capacity, target_fpp, expansion: last.try_into().ok()? },
            10 => Shape::Frozen,
            _ => return None,
        };
        let hash = match hash {
            0 => Hash::Keyed,
            1 => Hash::Plain { seed },
            _ => return None,
        };
        let spec = Self { shape, hash };
        // One spec has one encoding, so unused fields have to be 0.
        let sound = version == VERSION && spec.check().is_ok() && spec.encode() == *bytes;
        sound.then_some(spec)
    }

    /// Checks that the numbers are in range.
    ///
    /// # Errors
    ///
    /// [`SpecError`] for the first one that is not.
    pub fn check(&self) -> Result<(), SpecError> {
        match self.shape {
            Shape::Growing { expansion, .. } if !(1..=MAX_EXPANSION).contains(&expansion) => {
                return Err(SpecError::Expansion(expansion));
            }
            Shape::Compact { expansion, .. } if expansion > MAX_EXPANSION => {
                return Err(SpecError::Expansion(expansion));
            }
            Shape::Fixed { layout: Some(Layout::Blocked128 | Layout::Blocked64), .. } => {
                return Err(SpecError::Layout);
            }
            // `contains` of a range is false for NaN. A subnormal number is 0 on some processors.
            Shape::Clearing { at, .. } if !(f64::MIN_POSITIVE..=1.0).contains(&at) => {
                return Err(SpecError::ClearAt(at));
            }
            _ => {}
        }
        let Some((capacity, target_fpp)) = self.shape.size() else { return Ok(()) };
        if capacity == 0 {
            return Err(SpecError::ZeroCapacity);
        }
        // False for NaN.
        if !(target_fpp > 0.0 && target_fpp < 1.0) {
            return Err(SpecError::Fpp(target_fpp));
        }
        Ok(())
    }
}
