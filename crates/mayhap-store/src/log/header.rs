//! The log's header: which digests it holds.

use crate::Error;
use crate::file::{read_exact_at, read_up_to};
use mayhap::DigestFunction;
use std::fs::File;
use std::path::Path;
use xxhash_rust::xxh3::xxh3_64;

pub(crate) const MAGIC: &[u8; 8] = b"\x89mhplog\n";
pub(super) const HEADER_BYTES: usize = 64;
const VERSION: u16 = 1;
const CHECKSUM: usize = HEADER_BYTES - 8;

/// What ties a log to its filter: the meaning of digests, which is their function and the way keys
/// are cut. Not the filter's size, so that a log can be replayed into a larger filter.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Header {
    digest_id: u16,
    digest_parameter: u64,
    key_options_hash: u64,
    /// Makes the checksums of two logs differ, so that records cannot stray between them.
    log_id: u64,
    /// The id of the filter file that the records are added to, and to no other; 0 if
    /// adding them again changes nothing, so that any will do.
    checkpoint: u64,
}

impl Header {
    pub(crate) fn new(digest_function: &DigestFunction, key_options: &str) -> Self {
        use std::hash::BuildHasher;
        Self {
            digest_id: digest_function.id(),
            digest_parameter: digest_function.parameter(),
            key_options_hash: xxh3_64(key_options.as_bytes()),
            // The standard library's hasher keys are the random numbers at hand.
            log_id: std::hash::RandomState::new().hash_one(0),
            checkpoint: 0,
        }
    }

    /// The same for records that are to be added once, to the filter file of this id.
    pub(crate) const fn after(self, checkpoint: u64) -> Self {
        Self { checkpoint, ..self }
    }

    /// Whether records of `log` are in the filter already; `self` is the filter's side.
    pub(crate) const fn has_all_of(&self, log: &Self) -> bool {
        self.checkpoint != 0 && self.checkpoint != log.checkpoint
    }

    pub(super) fn encode(&self) -> [u8; HEADER_BYTES] {
        let mut bytes = [0; HEADER_BYTES];
        bytes[..8].copy_from_slice(MAGIC);
        bytes[8..10].copy_from_slice(&VERSION.to_le_bytes());
        bytes[10..12].copy_from_slice(&self.digest_id.to_le_bytes());
        bytes[16..24].copy_from_slice(&self.digest_parameter.to_le_bytes());
        bytes[24..32].copy_from_slice(&self.key_options_hash.to_le_bytes());
        bytes[32..40].copy_from_slice(&self.log_id.to_le_bytes());
        bytes[40..48].copy_from_slice(&self.checkpoint.to_le_bytes());
        let checksum = xxh3_64(&bytes[..CHECKSUM]);
        bytes[CHECKSUM..].copy_from_slice(&checksum.to_le_bytes());
        bytes
    }

    /// The start of the chain: the first record's `previous`.
    pub(super) fn checksum(&self) -> u64 {
        xxh3_64(&self.encode()[..CHECKSUM])
    }

    /// Reads and checks the header of a log.
    pub(crate) fn read(file: &File, path: &Path) -> Result<Self, Error> {
        let mut bytes = [0; HEADER_BYTES];
        read_exact_at(file, &mut bytes, 0).map_err(Error::io("read", path))?;
        if !bytes.starts_with(MAGIC) {
            return Err(Error::NotALog { path: path.into() });
        }
        let u16_at = |at: usize| u16::from_le_bytes([bytes[at], bytes[at + 1]]);
        let u64_at = |at: usize| u64::from_le_bytes(std::array::from_fn(|i| bytes[at + i]));
        let version = u16_at(8);
        let sound = xxh3_64(&bytes[..CHECKSUM]) == u64_at(CHECKSUM);
        if sound && version > VERSION {
            let source = mayhap::Error::NewerVersion { found: version, supported: VERSION };
            return Err(Error::format(path)(source));
        }
        let header = Self {
            digest_id: u16_at(10),
            digest_parameter: u64_at(16),
            key_options_hash: u64_at(24),
            log_id: u64_at(32),
            checkpoint: u64_at(40),
        };
        // What it means written again must be what is there: version, reserved bytes and checksum.
        if header.encode() == bytes {
            Ok(header)
        } else {
            Err(Error::format(path)(mayhap::Error::HeaderDamaged))
        }
    }

    /// For a file of at most a header's length: `true` if it is what a creation that was cut short
    /// leaves behind, `false` if a whole header stands there.
    ///
    /// # Errors
    ///
    /// [`Error::NotALog`] if it is neither, but something of the user's.
    pub(crate) fn check_unfinished(file: &File, path: &Path) -> Result<bool, Error> {
        let mut bytes = [0; HEADER_BYTES];
        let found = read_up_to(file, &mut bytes, 0).map_err(Error::io("read", path))?;
        let start = &bytes[..found];
        if found == HEADER_BYTES && start.starts_with(MAGIC) {
            return Ok(false);
        }
        let unfinished = MAGIC.starts_with(&start[..found.min(MAGIC.len())]);
        if unfinished || start.iter().all(|&byte| byte == 0) {
            Ok(true)
        } else {
            Err(Error::NotALog { path: path.into() })
        }
    }

    /// [`Error::LogMismatch`] unless digests mean the same in both; `self` is the filter's side.
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
