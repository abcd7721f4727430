//! The state that a file is an image of: the 32 bytes of a header that can be rewritten in place.
//!
//! | offset | bytes | field | allowed |
//! |---|---|---|---|
//! | 4032 | 16 | `id` | a random number, not 0 |
//! | 4048 | 8 | `epoch` | bits 0 to 62: 1 or more; bit 63: a log was begun |
//! | 4056 | 8 | `identity_checksum` | XXH3-64 of bytes 4032–4055 |
//!
//! All 32 bytes are 0 in a file that is not a state.

use super::checksum::checksum_of;
use crate::Error;

/// The offset of the identity in a header, all of it in one disk sector of 512 bytes.
pub const IDENTITY_OFFSET: usize = 4032;
/// Bytes of an identity.
pub const IDENTITY_BYTES: usize = 32;

const CHECKSUM: usize = IDENTITY_BYTES - 8;
const LOG_BEGUN: u64 = 1 << 63;

/// The identity of a state: a filter that changes over time, as an image and a log of the changes
/// since.
///
/// Two images with the same `id` belong to the same state; the one with the higher `epoch` is
/// newer, and two with the same epoch are the same filter. A log names the image that its records
/// follow.
///
/// # Examples
///
/// ```
/// use mayhap::native::Identity;
///
/// let identity = Identity { id: 7, epoch: 3, log_begun: true };
/// let bytes = Identity::encode(Some(identity));
/// assert_eq!(Identity::decode(&bytes)?, Some(identity));
/// assert_eq!(Identity::decode(&[0; 32])?, None);
/// # Ok::<(), mayhap::Error>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Identity {
    /// The number shared by all images and logs of a state: random, never 0.
    pub id: u128,
    /// The number of the image, from 1.
    pub epoch: u64,
    /// Whether a log was begun since the image was written: the image alone may lack keys.
    pub log_begun: bool,
}

impl Identity {
    /// The identity as stored in a header; zeros for `None`.
    ///
    /// # Panics
    ///
    /// If `id` or `epoch` is 0, or `epoch` is 2^63 or more.
    pub fn encode(identity: Option<Self>) -> [u8; IDENTITY_BYTES] {
        let mut bytes = [0; IDENTITY_BYTES];
        let Some(Self { id, epoch, log_begun }) = identity else { return bytes };
        assert!(id != 0 && epoch != 0 && epoch < LOG_BEGUN, "id {id}, epoch {epoch}");
        bytes[..16].copy_from_slice(&id.to_le_bytes());
        let flags = if log_begun { LOG_BEGUN } else { 0 };
        bytes[16..CHECKSUM].copy_from_slice(&(epoch | flags).to_le_bytes());
        let checksum = checksum_of(&bytes[..CHECKSUM]);
        bytes[CHECKSUM..].copy_from_slice(&checksum.to_le_bytes());
        bytes
    }

    /// Reads an identity; `None` for zeros.
    ///
    /// # Errors
    ///
    /// [`Error::IdentityDamaged`]: a reader may also see this while the bytes are being rewritten,
    /// so it has to read them again to be sure. [`Error::BadField`] for an id or epoch of 0 under a
    /// correct checksum.
    pub fn decode(bytes: &[u8; IDENTITY_BYTES]) -> Result<Option<Self>, Error> {
        if *bytes == [0; IDENTITY_BYTES] {
            return Ok(None);
        }
        let u64_at = |at: usize| u64::from_le_bytes(core::array::from_fn(|i| bytes[at + i]));
        if checksum_of(&bytes[..CHECKSUM]) != u64_at(CHECKSUM) {
            return Err(Error::IdentityDamaged);
        }
        let id = u128::from(u64_at(8)) << 64 | u128::from(u64_at(0));
        let (epoch, log_begun) = (u64_at(16) & !LOG_BEGUN, u64_at(16) & LOG_BEGUN != 0);
        Error::check_field(id != 0, "id", 0)?;
        Error::check_field(epoch != 0, "epoch", 0)?;
        Ok(Some(Self { id, epoch, log_begun }))
    }
}
