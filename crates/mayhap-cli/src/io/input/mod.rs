//! Lists of keys as streams of bytes: files and pipes, decompressed, and seen to be lists.
//!
//! [`Source`] names what is read (`source.rs`). [`Input`] opens it (`open.rs`): the first bytes say
//! how it is compressed (`compression.rs`, and `lz4.rs` for what that crate leaves out), and the
//! first 64 KiB of what comes out whether these are lines at all (`sniff.rs`): a byte-order mark
//! and carriage returns are no part of keys, archives, filters and UTF-16 are refused. [`Reading`]
//! is what the command line says about all of it (`reading.rs`).

mod compression;
mod lz4;
mod open;
mod reading;
pub mod sniff;
mod source;

pub use compression::Compression;
pub use open::{Input, is_filter, look};
pub use reading::Reading;
pub use sniff::{BOM_BYTES, Ends, Sample};
pub use source::Source;
