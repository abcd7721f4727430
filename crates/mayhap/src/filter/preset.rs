//! Sizes in bits per item, for memory budgets.

/// A size for [`super::Builder::preset`] in bits per item, which determines the rate.
///
/// k is the best one for the layout. The table has the predicted false-positive probability with
/// `expected_items` inserted ([`crate::FilterParams::expected_fpp`]), for a million items:
///
/// | preset | `standard` (k) | `blocked` (k) |
/// |---|---|---|
/// | [`Preset::Bits4`] | 0.147 (3) | 0.162 (4) |
/// | [`Preset::Bits8`] | 0.0216 (6) | 0.0253 (4) |
/// | [`Preset::Bits16`] | 4.59e-4 (11) | 9.09e-4 (8) |
/// | [`Preset::Bits32`] | 2.10e-7 (22) | 5.71e-6 (16) |
///
/// These four sizes are customary for Bloom filters with one hash function for each bit per item (k
/// = 4, 8, 16, 32, seeded with the first primes), for which rates of 0.147, 0.0216, 4.66e-4 and
/// 2.12e-7 are reported. Those rates belong to k = 3, 6, 12 and 24; with 4, 8, 16 and 32 functions,
/// which [`super::Builder::num_hashes`] can set, they are 0.160, 0.0255, 6.50e-4 and 4.22e-7.
///
/// # Examples
///
/// ```
/// use mayhap::{BloomFilter, Preset};
///
/// let mut seen = BloomFilter::builder().expected_items(1_000).preset(Preset::Bits16).build()?;
/// assert_eq!((seen.params().num_bits(), seen.params().num_hashes()), (16_000, 11));
/// assert!(seen.insert("key") && !seen.insert("key")); // add if it does not exist, in one step
/// # Ok::<(), mayhap::Error>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Preset {
    /// 4 bits per item: the answer for one in seven absent keys is "maybe".
    Bits4,
    /// 8 bits per item: one in 46.
    Bits8,
    /// 16 bits per item: one in 2,200.
    Bits16,
    /// 32 bits per item: one in 4.7 million.
    Bits32,
}

impl Preset {
    /// 4, 8, 16 or 32.
    pub const fn bits_per_item(self) -> u64 {
        match self {
            Self::Bits4 => 4,
            Self::Bits8 => 8,
            Self::Bits16 => 16,
            Self::Bits32 => 32,
        }
    }
}
