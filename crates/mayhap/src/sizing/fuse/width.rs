//! The width of the fingerprints, from which the rate follows.

use super::{SPARE_BITS, Segments, expected_fpp, num_bits};
use crate::Error;
use crate::sizing::{check_fpp, digest_collisions};

/// 2^32: the keys of which a share is counted.
const WHOLE: f64 = 4_294_967_296.0;

/// The bits of a fingerprint of a [`crate::BinaryFuse`], which alone determine its rate: w for some
/// of the keys, w + 1 for the others.
///
/// With w bits for all keys the rate is 2^−w; with one more for a share s of them it is 2^−w · (1 −
/// s / 2), so that every rate from 2^−4 down to 2^−32 is met.
///
/// # Examples
///
/// ```
/// use mayhap::FuseWidth;
/// let width = FuseWidth::for_target(1_000_000, 0.001).unwrap();
/// assert_eq!(width.bits(), 9);
/// assert!((width.mean_bits() - 9.976).abs() < 1e-6 && (width.fpp() - 0.001).abs() < 1e-9);
/// assert_eq!(FuseWidth::from_bits(8), Some(FuseWidth::BITS_8));
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct FuseWidth {
    bits: u8,
    wider: u32,
}

impl FuseWidth {
    /// p = 1/256 = 0.39 % in 9.0 bits per key.
    pub const BITS_8: Self = Self { bits: 8, wider: 0 };
    /// p = 1/65,536 = 0.0015 % in 18.0 bits per key.
    pub const BITS_16: Self = Self { bits: 16, wider: 0 };
    /// The fewest bits of a fingerprint.
    pub const MIN_BITS: u32 = 4;
    /// The most bits of a fingerprint.
    pub const MAX_BITS: u32 = 32;

    /// The lowest rate.
    pub(crate) const WIDEST: Self = Self { bits: Self::MAX_BITS as u8, wider: 0 };

    /// The width with this many bits for all keys: 4 to 32.
    pub const fn from_bits(bits: u32) -> Option<Self> {
        Self::mixed(bits, 0)
    }

    /// The width with `bits` for all keys but `wider` in 2^32, which have one more; `None` unless
    /// all have 4 to 32.
    ///
    /// # Examples
    ///
    /// ```
    /// use mayhap::FuseWidth;
    /// let width = FuseWidth::mixed(9, 1 << 31).unwrap(); // half of them
    /// assert_eq!((width.mean_bits(), width.fpp()), (9.5, 0.75 / 512.0));
    /// assert!(FuseWidth::mixed(32, 1).is_none() && FuseWidth::mixed(3, 1).is_none());
    /// ```
    pub const fn mixed(bits: u32, wider: u32) -> Option<Self> {
        let most = if wider == 0 { Self::MAX_BITS } else { Self::MAX_BITS - 1 };
        if bits < Self::MIN_BITS || bits > most {
            return None;
        }
        Some(Self { bits: bits as u8, wider })
    }

    /// The bits of the narrower fingerprints, w: 4 to 32.
    pub const fn bits(self) -> u32 {
        self.bits as u32
    }

    /// The keys in 2^32 whose fingerprint has one bit more.
    pub const fn wider(self) -> u32 {
        self.wider
    }

    /// The bits of a fingerprint on average: w + s.
    pub fn mean_bits(self) -> f64 {
        f64::from(self.bits) + self.share()
    }

    /// 2^−w · (1 − s / 2), the rate determined by the width.
    pub fn fpp(self) -> f64 {
        (1.0 - self.share() / 2.0) / power_of_two(self.bits())
    }

    /// Whether slots are bytes or 16-bit numbers, as in the files of all releases.
    pub const fn is_whole_bytes(self) -> bool {
        matches!((self.bits, self.wider), (8 | 16, 0))
    }

    /// The narrowest width that keeps `target_fpp` for `items` keys, if one does.
    ///
    /// # Examples
    ///
    /// ```
    /// use mayhap::FuseWidth;
    /// use mayhap::sizing::fuse::expected_fpp;
    /// let width = FuseWidth::for_target(1_000_000, 1e-6).unwrap();
    /// let fpp = expected_fpp(width, 1_000_000);
    /// assert!((0.99e-6..=1e-6).contains(&fpp));
    /// assert_eq!(FuseWidth::for_target(1_000_000, 0.5), FuseWidth::from_bits(4));
    /// assert_eq!(FuseWidth::for_target(1_000_000, 1e-10), None);
    /// ```
    pub fn for_target(items: u64, target_fpp: f64) -> Option<Self> {
        Self::meeting(items, target_fpp, expected_fpp)
    }

    /// The narrowest width whose rate by this model, which [`FuseWidth::fpp`] is close to, keeps
    /// `target_fpp`.
    pub(crate) fn meeting(
        items: u64,
        target_fpp: f64,
        expected_fpp: impl Fn(Self, u64) -> f64,
    ) -> Option<Self> {
        let collisions = digest_collisions(items);
        let fpp = (target_fpp - collisions) / (1.0 - collisions);
        let wider = |bits: &u32| fpp * power_of_two(bits + 1) <= 1.0;
        let bits =
            Self::MIN_BITS + (Self::MIN_BITS..Self::MAX_BITS).take_while(wider).count() as u32;
        // Below 0, and so 0, for a rate above that of the fewest bits.
        let share = 2.0 - fpp * power_of_two(bits + 1);
        // Bits and the share as one number, in which a whole share is one bit more.
        let first = (u64::from(bits) << 32).saturating_add(libm::ceil(share * WHOLE) as u64);
        // Roundings, each below 2^−50; no width is wide enough for a rate of 0 or below.
        (first..first.saturating_add(4))
            .filter_map(|width| Self::mixed((width >> 32) as u32, width as u32))
            .find(|&width| expected_fpp(width, items) <= target_fpp)
    }

    /// Like [`FuseWidth::for_target`], with an error that says which rates there are.
    ///
    /// # Errors
    ///
    /// [`Error::FppOutOfRange`], [`Error::FppUnreachable`].
    ///
    /// # Examples
    ///
    /// ```
    /// use mayhap::{Error, FuseWidth};
    /// let error = FuseWidth::check_target(1_000_000, 1e-10).unwrap_err();
    /// assert!(matches!(error, Error::FppUnreachable { lowest_fpp, .. } if lowest_fpp > 2e-10));
    /// ```
    pub fn check_target(items: u64, target_fpp: f64) -> Result<Self, Error> {
        check_fpp(target_fpp)?;
        let lowest_fpp = expected_fpp(Self::WIDEST, items.max(1));
        let unreachable = Error::FppUnreachable { target_fpp, lowest_fpp };
        Self::for_target(items, target_fpp).ok_or(unreachable)
    }

    /// The widest width whose filter of `items` keys has at most `max_bits`, if one has.
    ///
    /// # Examples
    ///
    /// ```
    /// use mayhap::FuseWidth;
    /// use mayhap::sizing::fuse::num_bits;
    /// let width = FuseWidth::fitting(1_000_000, 12_000_000).unwrap();
    /// assert!(width.bits() == 10 && num_bits(width, 1_000_000)? <= 12_000_000);
    /// # Ok::<(), mayhap::Error>(())
    /// ```
    pub fn fitting(items: u64, max_bits: u64) -> Option<Self> {
        (Self::MIN_BITS..=Self::MAX_BITS).rev().find_map(|bits| {
            let width = Self::from_bits(bits)?;
            let plain = num_bits(width, items).ok()?;
            let one_more = Self::mixed(bits, 1).unwrap_or(width);
            let segments = Segments::of(one_more, items);
            let narrow_bits = segments.num_slots() * u64::from(bits) + SPARE_BITS;
            let spare = max_bits.checked_sub(narrow_bits);
            let wider = spare.map_or(0, |spare| segments.wider_within(spare));
            match Self::mixed(bits, wider) {
                Some(mixed) if wider > 0 => Some(mixed),
                _ => (plain <= max_bits).then_some(width),
            }
        })
    }

    fn share(self) -> f64 {
        f64::from(self.wider) / WHOLE
    }
}

/// 2^bits, by which a product or a quotient is exact.
pub(super) const fn power_of_two(bits: u32) -> f64 {
    (1_u64 << bits) as f64
}
