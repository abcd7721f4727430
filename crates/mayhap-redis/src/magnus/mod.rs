//! Filters of Java-BloomFilter's Redis variant: one bitmap in a string, or several of them.
//!
//! `params.rs` has m, n and k as the class computes and compares them, `options.rs` the bitmaps and
//! their expiry, `filter.rs` the filter. The hashes are defined by
//! [`mayhap_formats::MagnusScheme`].

mod filter;
mod options;
mod params;

#[cfg(test)]
mod tests;

pub use filter::RemoteMagnus;
pub use options::MagnusOptions;
pub use params::MagnusParams;
