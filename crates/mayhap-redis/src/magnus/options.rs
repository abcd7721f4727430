//! The number of bitmaps and their time to live.

use crate::Error;
use mayhap_formats::{MagnusHash, MagnusScheme, Scheme};
use std::time::Duration;

/// The salt of the digests is one byte: the number after the 1,024th is the first one again.
const MAX_HASHES_TO_CHOOSE: u32 = 1_023;
const MAX_BITMAPS: u32 = 65_536;

/// The number of bitmaps of a filter and their time to live.
///
/// # Examples
///
/// ```
/// use mayhap_redis::MagnusOptions;
/// use std::time::Duration;
///
/// // `bloomfilter.expireDays=30`
/// let days = |days: u64| Duration::from_secs(days * 24 * 60 * 60);
/// let options = MagnusOptions { expires_after: Some(days(30)), ..MagnusOptions::default() };
/// assert_eq!(options.num_bitmaps, 1);
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct MagnusOptions {
    /// 1: the bits are in the key of the name itself, as in the class. More, up to 65,536: bitmap i
    /// is in the key `name:i` and each has m bits.
    ///
    /// A key has all its bits in the bitmap `abs(createHashes(key, k + 1)[k] % num_bitmaps)`: the
    /// number that the class would compute next, so the choice is independent of the bits.
    pub num_bitmaps: u32,
    /// The time to live of a bitmap from its creation, by [`super::RemoteMagnus::create`] or by an
    /// insertion after it has expired or was deleted. An existing bitmap keeps its expiry.
    pub expires_after: Option<Duration>,
}

impl Default for MagnusOptions {
    /// One bitmap that never expires.
    fn default() -> Self {
        Self { num_bitmaps: 1, expires_after: None }
    }
}

impl MagnusOptions {
    /// The keys of the bitmaps.
    pub(super) fn keys(&self, name: &str) -> Vec<String> {
        match self.num_bitmaps {
            1 => vec![name.to_owned()],
            bitmaps => (0..bitmaps).map(|i| format!("{name}:{i}")).collect(),
        }
    }

    /// The choice among several bitmaps.
    pub(super) fn chooser(&self, num_hashes: u32) -> Result<Option<Chooser>, Error> {
        let too_large = |field, limit: u32, found: u32| {
            let (limit, found) = (u64::from(limit), u64::from(found));
            Error::Format(mayhap_formats::Error::TooLarge { field, limit, found })
        };
        match self.num_bitmaps {
            0 => Err(mayhap_formats::Error::Zero { field: "number of bitmaps" }.into()),
            1 => Ok(None),
            2..=MAX_BITMAPS if num_hashes <= MAX_HASHES_TO_CHOOSE => {
                let bitmaps = self.num_bitmaps.cast_signed();
                Ok(Some(Chooser(MagnusScheme::new(MagnusHash::Md5, num_hashes + 1, bitmaps)?)))
            }
            2..=MAX_BITMAPS => {
                let field = "number of hash functions of a filter in several bitmaps";
                Err(too_large(field, MAX_HASHES_TO_CHOOSE, num_hashes))
            }
            bitmaps => Err(too_large("number of bitmaps", MAX_BITMAPS, bitmaps)),
        }
    }
}

/// Key bytes → bitmap.
#[derive(Debug)]
pub(super) struct Chooser(MagnusScheme);

impl Chooser {
    pub(super) fn bitmap_of(&self, key: &[u8]) -> usize {
        let mut last = 0;
        self.0.positions(key, |number| {
            last = number;
            true
        });
        last as usize
    }
}
