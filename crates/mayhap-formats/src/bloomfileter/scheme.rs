//! Key bytes → positions.

use crate::modulo::Modulo;
use crate::{Error, Scheme};

const PRIMES: [i32; 32] = [
    2, 3, 5, 7, 11, 13, 17, 19, 23, 29, 31, 37, 41, 43, 47, 53, 59, 61, 67, 71, 73, 79, 83, 89, 97,
    101, 103, 107, 109, 113, 127, 131,
];

/// The presets of the class (`MisjudgmentRate`): the number of primes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum BloomFileterRate {
    /// 4.
    VerySmall,
    /// 8.
    Small,
    /// 16, the default.
    #[default]
    Middle,
    /// 32.
    High,
}

impl BloomFileterRate {
    pub(super) const ALL: [Self; 4] = [Self::VerySmall, Self::Small, Self::Middle, Self::High];

    /// k.
    pub fn num_hashes(self) -> u32 {
        4 << self as u32
    }

    /// The rate at its design load: `(1 − 1/e)^k`, if the positions of different keys were
    /// independent.
    ///
    /// # Examples
    ///
    /// ```
    /// use mayhap_formats::BloomFileterRate;
    ///
    /// assert!((BloomFileterRate::Small.fpp() - 0.0255).abs() < 1e-4);
    /// ```
    pub fn fpp(self) -> f64 {
        let fill = 1.0 - libm::exp(-1.0);
        fill.powi(self.num_hashes().cast_signed())
    }

    /// The preset with the fewest bits whose rate is at most `fpp` at its design load; `None` if
    /// there is none.
    ///
    /// With k n bits for n keys, 1 − 1/e of them are set, and the rate is `(1 − 1/e)^k`: 16 %,
    /// 2.5 %, 6.5e-4 and 4.2e-7, were the positions of different keys independent.
    ///
    /// # Examples
    ///
    /// ```
    /// use mayhap_formats::BloomFileterRate;
    ///
    /// assert_eq!(BloomFileterRate::of_fpp(0.03), Some(BloomFileterRate::Small));
    /// assert_eq!(BloomFileterRate::of_fpp(1e-7), None);
    /// ```
    pub fn of_fpp(fpp: f64) -> Option<Self> {
        Self::ALL.into_iter().find(|rate| rate.fpp() <= fpp)
    }

    /// The first k primes.
    pub(super) fn seeds(self) -> &'static [i32] {
        &PRIMES[..self.num_hashes() as usize]
    }

    /// The name of the constant.
    pub fn name(self) -> &'static str {
        match self {
            Self::VerySmall => "VERY_SMALL",
            Self::Small => "SMALL",
            Self::Middle => "MIDDLE",
            Self::High => "HIGH",
        }
    }
}

/// Key bytes → positions: one hash h of the characters, `|h prime| mod size` for every prime.
///
/// As a consequence, swapping the first two characters of a key does not change its hash, only the
/// last 34 or so characters count, all positions of a key are multiples of one number, and numbers
/// after a prefix collide by the hundred.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct BloomFileterScheme {
    rate: BloomFileterRate,
    size: Modulo,
}

impl BloomFileterScheme {
    /// The positions of filters of `size` bits.
    ///
    /// # Errors
    ///
    /// [`Error::BadField`] for a size below 1, since the class would divide by it.
    ///
    /// # Examples
    ///
    /// ```
    /// use mayhap_formats::{BloomFileterRate, BloomFileterScheme, KeyType, Scheme};
    ///
    /// let scheme = BloomFileterScheme::new(BloomFileterRate::Small, 800)?;
    /// let mut scratch = Vec::new();
    /// let mut positions = Vec::new();
    /// scheme.positions(KeyType::Utf16.encode(b"hello", &mut scratch)?, |position| {
    ///     positions.push(position);
    ///     true
    /// });
    /// assert_eq!(positions, [718, 277, 195, 113, 749, 667, 503, 421]);
    /// # Ok::<(), mayhap_formats::Error>(())
    /// ```
    pub fn new(rate: BloomFileterRate, size: i32) -> Result<Self, Error> {
        match u64::try_from(size) {
            Ok(size @ 1..) => Ok(Self { rate, size: Modulo::new(size) }),
            _ => Err(Error::bad("size", "1 and more", size)),
        }
    }

    /// The preset.
    pub fn rate(&self) -> BloomFileterRate {
        self.rate
    }
}

impl Scheme for BloomFileterScheme {
    #[inline]
    fn num_hashes(&self) -> u32 {
        self.rate.num_hashes()
    }

    /// The key is UTF-16 code units, least significant byte first; an odd byte at the end counts as
    /// one unit.
    #[inline]
    fn positions(&self, key: &[u8], mut each: impl FnMut(u64) -> bool) {
        let (units, odd) = key.as_chunks::<2>();
        let units = units.iter().map(|&unit| u16::from_le_bytes(unit));
        let units = units.chain(odd.iter().map(|&byte| u16::from(byte)));
        let hash = (0i32..)
            .zip(units)
            .fold(0i32, |h, (i, unit)| i.wrapping_mul(h).wrapping_add(unit.into()));
        for &prime in self.rate.seeds() {
            let product = hash.wrapping_mul(prime).unsigned_abs();
            if !each(self.size.of(u64::from(product))) {
                return;
            }
        }
    }
}
