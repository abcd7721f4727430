//! Where a filter is, and what is known of it before it is opened.

use mayhap::SecretKey;
use mayhap_formats::{Format, KeyType, Shape};
use mayhap_redis::Server;

/// Where a filter is.
#[derive(Debug, Clone)]
pub struct Origin {
    /// The server.
    pub server: Server,
    /// The URL, without the password, for messages.
    pub url: String,
    /// The name there.
    pub name: String,
}

/// What is known of a filter before it is opened.
#[derive(Debug, Clone, Copy, Default)]
pub struct Known {
    /// The secret key of one in mayhap's own layout.
    pub secret_key: Option<SecretKey>,
    /// Whether the secret key is for several filters, of which some have none; else it is an error
    /// if this one has none.
    pub key_of_several: bool,
    /// Its format; else it is found out.
    pub format: Option<Format>,
    /// What its system hashes of a key; else the usual type.
    pub key_type: Option<KeyType>,
    /// m and k of a bare bitmap.
    pub shape: Option<Shape>,
    /// Over how many bitmaps a filter of Java-BloomFilter is spread, if over several.
    pub num_bitmaps: Option<u32>,
}
