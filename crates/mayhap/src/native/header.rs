//! The 4 KiB header: what the filter is, with a checksum of its own.
//!
//! | offset | bytes | field | allowed |
//! |---|---|---|---|
//! | 0 | 8 | `magic` | `89 6D 61 79 68 61 70 0A` (`\x89mayhap\n`) |
//! | 8 | 2 | `version` | 1 |
//! | 10 | 2 | `kind` | 1: Bloom filter |
//! | 12 | 2 | `layout` | 1: standard, 2: blocked |
//! | 14 | 2 | `digest` | 1: xxh3, 2: sip13 |
//! | 16 | 8 | `digest_parameter` | the seed, or the id of the secret key |
//! | 24 | 8 | `num_bits` | m: 64 (blocked: 512 and a multiple of it) to 2^56 |
//! | 32 | 4 | `num_hashes` | k: 1–32 (blocked: 8 or 16) |
//! | 36 | 2 | `key_options_bytes` | 0–2048 |
//! | 38 | 2 | reserved | 0 |
//! | 40 | 8 | `expected_items` | n ≥ 1 |
//! | 48 | 8 | `target_fpp` | p as an IEEE 754 double, 0 < p < 1 |
//! | 56 | 8 | `inserted_items` | insertions that were new |
//! | 64 | 8 | `table_checksum` | XXH3-64 of the checksum table |
//! | 72 | 56 | reserved | 0 |
//! | 128 | 2048 | `key_options` | UTF-8 text, then zeros |
//! | 2176 | 1912 | reserved | 0 |
//! | 4088 | 8 | `header_checksum` | XXH3-64 of bytes 0–4087 |

use super::PAGE_BYTES;
use crate::bits::Block;
use crate::{AnyFilter, DigestFunction, Error, FilterParams, Layout, SecretKey};
use alloc::string::String;
use xxhash_rust::xxh3::xxh3_64;

/// Bytes in a header.
pub const HEADER_BYTES: usize = 4096;
/// The first eight bytes: not ASCII, so no text; with a line feed, so damage by text tools shows.
pub const MAGIC: [u8; 8] = *b"\x89mayhap\n";
/// The version of the format that this crate writes, and the newest that it reads.
pub const VERSION: u16 = 1;
/// The longest text of key options.
pub const MAX_KEY_OPTIONS_BYTES: usize = 2048;

const KIND_BLOOM: u16 = 1;
const KEY_OPTIONS: usize = 128;
const CHECKSUM: usize = HEADER_BYTES - 8;

/// What a file says of its filter: everything but the bits.
#[derive(Debug, Clone, PartialEq)]
pub struct Header {
    params: FilterParams,
    digest_id: u16,
    digest_parameter: u64,
    inserted_items: u64,
    table_checksum: u64,
    key_options: String,
}

impl Header {
    /// The header of a filter, with a table checksum still to come.
    ///
    /// # Panics
    ///
    /// If `key_options` is longer than [`MAX_KEY_OPTIONS_BYTES`].
    pub fn of<S: AsRef<[Block]>>(filter: &AnyFilter<S>, key_options: &str) -> Self {
        let found = key_options.len();
        assert!(found <= MAX_KEY_OPTIONS_BYTES, "key_options has {found} bytes, at most 2048 fit");
        Self {
            params: *filter.params(),
            digest_id: filter.digest_function().id(),
            digest_parameter: filter.digest_function().parameter(),
            inserted_items: filter.inserted_items(),
            table_checksum: 0,
            key_options: key_options.into(),
        }
    }

    /// The filter's numbers.
    pub const fn params(&self) -> &FilterParams {
        &self.params
    }

    /// The id of the digest function: 1 for `xxh3`, 2 for `sip13`.
    pub const fn digest_id(&self) -> u16 {
        self.digest_id
    }

    /// The seed of `xxh3`, or the id of the secret key of `sip13`.
    pub const fn digest_parameter(&self) -> u64 {
        self.digest_parameter
    }

    /// Insertions that were new.
    pub const fn inserted_items(&self) -> u64 {
        self.inserted_items
    }

    /// The checksum of the checksum table.
    pub const fn table_checksum(&self) -> u64 {
        self.table_checksum
    }

    /// How key bytes are cut from input lines: `name=value` lines; empty means "as they are".
    ///
    /// The core carries the text and gives it no meaning. A reader that finds a name it does not know
    /// must refuse the file, since it would ask for other keys than were inserted.
    pub fn key_options(&self) -> &str {
        &self.key_options
    }

    /// The digest function, given the secret key if the filter is keyed.
    ///
    /// # Errors
    ///
    /// [`Error::WrongKey`] if the filter is keyed and `secret_key` is absent or another one.
    pub fn digest_function(&self, secret_key: Option<SecretKey>) -> Result<DigestFunction, Error> {
        match (self.digest_id, secret_key) {
            (1, _) => Ok(DigestFunction::xxh3(self.digest_parameter)),
            (_, Some(key)) if key.id() == self.digest_parameter => Ok(DigestFunction::sip13(key)),
            (_, key) => {
                let given = key.map(SecretKey::id);
                Err(Error::WrongKey { needed: self.digest_parameter, given })
            }
        }
    }

    /// Pages of the body.
    pub const fn num_pages(&self) -> u64 {
        self.params.num_bytes().div_ceil(PAGE_BYTES as u64)
    }

    /// Bytes of the body: whole pages.
    pub const fn body_bytes(&self) -> u64 {
        self.num_pages() * PAGE_BYTES as u64
    }

    /// Bytes of the whole file: header, body and checksum table.
    pub const fn file_bytes(&self) -> u64 {
        HEADER_BYTES as u64 + self.body_bytes() + self.num_pages() * 8
    }

    /// Checks the length of a file before anything is read or allocated.
    ///
    /// # Errors
    ///
    /// [`Error::WrongLength`].
    pub fn check_file_bytes(&self, found: u64) -> Result<(), Error> {
        let expected = self.file_bytes();
        if found == expected {
            Ok(())
        } else {
            Err(Error::WrongLength { field: "file", expected, found })
        }
    }

    /// The header as it stands in files.
    pub fn encode(&self, table_checksum: u64) -> [u8; HEADER_BYTES] {
        let mut bytes = [0; HEADER_BYTES];
        let mut put = |offset: usize, field: &[u8]| {
            bytes[offset..offset + field.len()].copy_from_slice(field);
        };
        put(0, &MAGIC);
        put(8, &VERSION.to_le_bytes());
        put(10, &KIND_BLOOM.to_le_bytes());
        put(12, &self.params.layout().id().to_le_bytes());
        put(14, &self.digest_id.to_le_bytes());
        put(16, &self.digest_parameter.to_le_bytes());
        put(24, &self.params.num_bits().to_le_bytes());
        put(32, &self.params.num_hashes().to_le_bytes());
        put(36, &(self.key_options.len() as u16).to_le_bytes());
        put(40, &self.params.expected_items().to_le_bytes());
        put(48, &self.params.target_fpp().to_le_bytes());
        put(56, &self.inserted_items.to_le_bytes());
        put(64, &table_checksum.to_le_bytes());
        put(KEY_OPTIONS, self.key_options.as_bytes());
        let checksum = xxh3_64(&bytes[..CHECKSUM]);
        bytes[CHECKSUM..].copy_from_slice(&checksum.to_le_bytes());
        bytes
    }

    /// Reads the header at the start of `bytes`, which may go on after it.
    ///
    /// # Errors
    ///
    /// [`Error::NotAFilter`], [`Error::NewerVersion`], [`Error::WrongLength`] if there are fewer than
    /// [`HEADER_BYTES`], [`Error::HeaderDamaged`], and [`Error::BadField`] or a sizing error for values
    /// that no filter has.
    pub fn decode(bytes: &[u8]) -> Result<Self, Error> {
        if !bytes.starts_with(&MAGIC) {
            return Err(Error::NotAFilter);
        }
        let Some(header) = bytes.first_chunk::<HEADER_BYTES>() else {
            let (expected, found) = (HEADER_BYTES as u64, bytes.len() as u64);
            return Err(Error::WrongLength { field: "header", expected, found });
        };
        let version = u16_at(header, 8);
        if version > VERSION {
            return Err(Error::NewerVersion { found: version, supported: VERSION });
        }
        if xxh3_64(&header[..CHECKSUM]) != u64_at(header, CHECKSUM) {
            return Err(Error::HeaderDamaged);
        }
        Self::decode_fields(header)
    }

    fn decode_fields(header: &[u8; HEADER_BYTES]) -> Result<Self, Error> {
        let bad_field = |field, found| Err(Error::BadField { field, found });
        let (version, kind) = (u16_at(header, 8), u16_at(header, 10));
        if version == 0 {
            return bad_field("version", 0);
        }
        if kind != KIND_BLOOM {
            return bad_field("kind", kind.into());
        }
        let layout_id = u16_at(header, 12);
        let Some(layout) = Layout::from_id(layout_id) else {
            return bad_field("layout", layout_id.into());
        };
        let digest_id = u16_at(header, 14);
        if digest_id != 1 && digest_id != 2 {
            return bad_field("digest", digest_id.into());
        }
        let key_options_bytes = usize::from(u16_at(header, 36));
        if key_options_bytes > MAX_KEY_OPTIONS_BYTES {
            return bad_field("key_options_bytes", key_options_bytes as u64);
        }
        let key_options_end = KEY_OPTIONS + key_options_bytes;
        for reserved in [&header[38..40], &header[72..128], &header[key_options_end..CHECKSUM]] {
            if let Some(&byte) = reserved.iter().find(|&&byte| byte != 0) {
                return bad_field("reserved", byte.into());
            }
        }
        let Ok(key_options) = core::str::from_utf8(&header[KEY_OPTIONS..key_options_end]) else {
            return bad_field("key_options (UTF-8)", 0);
        };
        let num_hashes = u32::from_le_bytes(array_at(header, 32));
        let target_fpp = f64::from_le_bytes(array_at(header, 48));
        let (num_bits, expected_items) = (u64_at(header, 24), u64_at(header, 40));
        Ok(Self {
            params: FilterParams::new(layout, num_bits, num_hashes, expected_items, target_fpp)?,
            digest_id,
            digest_parameter: u64_at(header, 16),
            inserted_items: u64_at(header, 56),
            table_checksum: u64_at(header, 64),
            key_options: key_options.into(),
        })
    }
}

fn array_at<const N: usize>(header: &[u8; HEADER_BYTES], offset: usize) -> [u8; N] {
    core::array::from_fn(|i| header[offset + i])
}

fn u16_at(header: &[u8; HEADER_BYTES], offset: usize) -> u16 {
    u16::from_le_bytes(array_at(header, offset))
}

fn u64_at(header: &[u8; HEADER_BYTES], offset: usize) -> u64 {
    u64::from_le_bytes(array_at(header, offset))
}
