//! The log's header: the image that the records follow, and the meaning of their digests.

use crate::Error;
use crate::disk::{DiskFile, read_up_to};
use mayhap::native;
use std::path::Path;
use xxhash_rust::xxh3::xxh3_64;

pub(crate) const MAGIC: &[u8; 8] = b"\x89mhplog\n";
pub(crate) const HEADER_BYTES: usize = 64;
/// The newest version, which is the one written.
pub(super) const VERSION: u16 = 2;
const CHECKSUM: usize = HEADER_BYTES - 8;

/// The meaning of the digests of a log: their function, and how keys are extracted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Meaning {
    pub(crate) digest_id: u16,
    pub(crate) digest_parameter: u64,
    pub(crate) key_options_hash: u64,
}

impl Meaning {
    /// The meaning of the digests of a filter.
    pub(crate) fn of(filter: &native::Header) -> Self {
        Self {
            digest_id: filter.digest_id(),
            digest_parameter: filter.digest_parameter(),
            key_options_hash: xxh3_64(filter.key_options().as_bytes()),
        }
    }

    /// [`Error::LogMismatch`] unless digests have the same meaning in both; `self` is the filter's
    /// side.
    pub(crate) fn check_same(&self, log: &Self, path: &Path) -> Result<(), Error> {
        for (parameter, filter, log) in [
            ("digest function", self.digest_id.into(), log.digest_id.into()),
            ("digest seed or key", self.digest_parameter, log.digest_parameter),
            ("key options (hash)", self.key_options_hash, log.key_options_hash),
        ] {
            if filter != log {
                return Err(Error::LogMismatch { path: path.into(), parameter, filter, log });
            }
        }
        Ok(())
    }
}

/// The image that the records follow.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Owner {
    /// Version 1: any image with keys of the same meaning, or only the file with this checksum.
    Unnamed {
        /// Makes the checksums of two logs differ, so that records cannot stray between them.
        log_id: u64,
        /// XXH3-64 of the header of the one file that lacks the records; 0 if adding them again
        /// changes nothing, so that any file is accepted.
        checkpoint: u64,
    },
    /// Version 2: the image of this state and epoch.
    Image {
        /// [`mayhap::native::Identity::id`].
        id: u128,
        /// [`mayhap::native::Identity::epoch`].
        epoch: u64,
    },
}

/// The header of a log.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Header {
    pub(crate) meaning: Meaning,
    pub(crate) owner: Owner,
}

impl Header {
    pub(super) const fn version(&self) -> u16 {
        match self.owner {
            Owner::Unnamed { .. } => 1,
            Owner::Image { .. } => VERSION,
        }
    }

    pub(super) fn encode(&self) -> [u8; HEADER_BYTES] {
        seal(*MAGIC, self.version(), &self.meaning, |bytes| match self.owner {
            Owner::Unnamed { log_id, checkpoint } => {
                bytes[32..40].copy_from_slice(&log_id.to_le_bytes());
                bytes[40..48].copy_from_slice(&checkpoint.to_le_bytes());
            }
            Owner::Image { id, epoch } => {
                bytes[32..48].copy_from_slice(&id.to_le_bytes());
                bytes[48..56].copy_from_slice(&epoch.to_le_bytes());
            }
        })
    }

    /// The start of the chain: the first record's `previous`.
    pub(super) fn checksum(&self) -> u64 {
        xxh3_64(&self.encode()[..CHECKSUM])
    }

    fn decode(bytes: &[u8; HEADER_BYTES]) -> Result<Self, mayhap::Error> {
        let (version, meaning) = unseal(bytes, VERSION)?;
        let owner = if version == 1 {
            Owner::Unnamed { log_id: u64_at(bytes, 32), checkpoint: u64_at(bytes, 40) }
        } else {
            let id = u128::from(u64_at(bytes, 40)) << 64 | u128::from(u64_at(bytes, 32));
            Owner::Image { id, epoch: u64_at(bytes, 48) }
        };
        let header = Self { meaning, owner };
        // Encoding its meaning again must give the same bytes: version, reserved bytes and
        // checksum.
        if header.encode() == *bytes { Ok(header) } else { Err(mayhap::Error::HeaderDamaged) }
    }
}

/// The header of a log or of a file of digests: magic, version, meaning, other fields, checksum.
pub(crate) fn seal(
    magic: [u8; 8],
    version: u16,
    meaning: &Meaning,
    others: impl FnOnce(&mut [u8; HEADER_BYTES]),
) -> [u8; HEADER_BYTES] {
    let mut bytes = [0; HEADER_BYTES];
    bytes[..8].copy_from_slice(&magic);
    bytes[8..10].copy_from_slice(&version.to_le_bytes());
    bytes[10..12].copy_from_slice(&meaning.digest_id.to_le_bytes());
    bytes[16..24].copy_from_slice(&meaning.digest_parameter.to_le_bytes());
    bytes[24..32].copy_from_slice(&meaning.key_options_hash.to_le_bytes());
    others(&mut bytes);
    let checksum = xxh3_64(&bytes[..CHECKSUM]);
    bytes[CHECKSUM..].copy_from_slice(&checksum.to_le_bytes());
    bytes
}

/// The version and the meaning in such a header; the caller compares it with what it would write.
pub(crate) fn unseal(
    bytes: &[u8; HEADER_BYTES],
    supported: u16,
) -> Result<(u16, Meaning), mayhap::Error> {
    let u16_at = |at: usize| u16::from_le_bytes([bytes[at], bytes[at + 1]]);
    let found = u16_at(8);
    if found > supported && xxh3_64(&bytes[..CHECKSUM]) == u64_at(bytes, CHECKSUM) {
        return Err(mayhap::Error::NewerVersion { found, supported });
    }
    let meaning = Meaning {
        digest_id: u16_at(10),
        digest_parameter: u64_at(bytes, 16),
        key_options_hash: u64_at(bytes, 24),
    };
    Ok((found, meaning))
}

/// A little-endian number.
pub(crate) fn u64_at(bytes: &[u8], at: usize) -> u64 {
    u64::from_le_bytes(std::array::from_fn(|i| bytes[at + i]))
}

/// The contents of a file with the name of a log.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Front {
    /// A log's header.
    Header(Header),
    /// A log left behind by 0.1 after an interrupted creation, in which nothing was ever recorded.
    Unfinished,
    /// A file of the user's.
    NotALog,
}

/// Reads the start of a file that has the name of a log.
///
/// # Errors
///
/// [`Error::Format`] if it is a log of a newer version, or one with records and a damaged header.
pub(crate) fn read_front(file: &dyn DiskFile, path: &Path) -> Result<Front, Error> {
    let mut bytes = [0; HEADER_BYTES + 1];
    let found = read_up_to(file, &mut bytes, 0).map_err(Error::io("read", path))?;
    let start = &bytes[..found.min(MAGIC.len())];
    let is_zero = bytes[..found].iter().all(|&byte| byte == 0);
    let is_ours = MAGIC.starts_with(start) || is_zero && found <= HEADER_BYTES;
    // An empty file may be the output of a command.
    if found == 0 || !is_ours {
        return Ok(Front::NotALog);
    }
    let decoded = match bytes.first_chunk() {
        Some(header) if found >= HEADER_BYTES => Header::decode(header),
        _ => return Ok(Front::Unfinished),
    };
    match decoded {
        Ok(header) => Ok(Front::Header(header)),
        // A header is on disk before there is a record.
        Err(mayhap::Error::HeaderDamaged) if found == HEADER_BYTES => Ok(Front::Unfinished),
        Err(source) => Err(Error::format(path)(source)),
    }
}
