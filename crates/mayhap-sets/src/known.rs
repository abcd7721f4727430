//! Facts about a filter, known before it is opened.

use mayhap::SecretKey;
use mayhap_formats::{Format, KeyType, Shape};

/// Facts about a filter in a file or on a server, known before it is opened.
#[derive(Debug, Clone, Copy, Default)]
pub struct Known {
    /// The secret key of one of mayhap's own.
    pub secret_key: Option<SecretKey>,
    /// Whether the secret key is for several filters, of which some have none; else it is an error
    /// if this one has none.
    pub key_of_several: bool,
    /// Its format; else it is detected.
    pub format: Option<Format>,
    /// The key type; else the one that its users have most.
    pub key_type: Option<KeyType>,
    /// m and k, where the format does not say them.
    pub shape: Option<Shape>,
    /// Over how many bitmaps a filter of Java-BloomFilter on a server is spread, if over several.
    pub num_bitmaps: Option<u32>,
}
