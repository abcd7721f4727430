//! Filters of Redisson's `RBloomFilter`: a bitmap in a string and its parameters in a separate
//! hash.
//!
//! `script.rs` has the scripts, `config.rs` reads the hash, `filter.rs` is the filter. Hashes,
//! sizing and the fields are defined by [`mayhap_formats::RedissonScheme`] and
//! [`mayhap_formats::RedissonConfig`].

mod config;
mod filter;
mod script;

pub use filter::RemoteRedisson;
