//! A filter and its header.

use mayhap::AnyFilter;
use mayhap::native::Header;

/// A filter and the header of its file.
#[derive(Debug)]
pub struct Loaded<F = AnyFilter> {
    /// The filter, in its own memory.
    pub filter: F,
    /// The header, with the key options.
    pub header: Header,
}
