//! A filter and its header.

use mayhap::AnyFilter;
use mayhap::native::Header;

/// A filter and what its file says of it.
#[derive(Debug)]
pub struct Loaded<F = AnyFilter> {
    /// The filter, in memory of its own.
    pub filter: F,
    /// The header, with the key options.
    pub header: Header,
}
