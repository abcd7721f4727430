//! The limits of a keyspace.

use mayhap::SecretKey;

/// The limits of a keyspace, and its key.
#[derive(Debug, Clone, Copy)]
pub struct Options {
    /// The most bytes of one filter.
    pub max_filter_bytes: u64,
    /// The most bytes of all filters together: `max_memory`.
    pub max_memory: u64,
    /// The most bytes of a name.
    pub max_name_bytes: usize,
    /// The key of keyed filters.
    pub secret_key: SecretKey,
}

impl Options {
    /// No limits but that of names, 64 KiB.
    pub const fn new(secret_key: SecretKey) -> Self {
        Self {
            max_filter_bytes: u64::MAX,
            max_memory: u64::MAX,
            max_name_bytes: 64 << 10,
            secret_key,
        }
    }
}
