//! Lists of keys as streams of bytes: files and pipes, decompressed, and checked to be lists.
//!
//! [`Source`] names a file or standard input (`source.rs`). [`Input`] opens it (`open.rs`): the
//! first bytes determine its compression (`compression.rs`; `decoder.rs` unpacks it, with `gzip.rs`
//! and `lz4.rs` for the parts that those crates leave out), and the first 64 KiB after
//! decompression whether these are lines at all (`sniff.rs`): a byte-order mark is no part of keys,
//! archives, filters and UTF-16 are refused (`not_a_list.rs`, among the errors of `error.rs`).
//! [`Reading`] has the options of all this, and [`Note`] is a message about an input
//! (`reading.rs`); [`Stop`] ends it (`stop.rs`).

mod compression;
#[cfg(feature = "files")]
mod decoder;
#[cfg(feature = "files")]
mod error;
#[cfg(feature = "files")]
mod gzip;
#[cfg(feature = "files")]
mod lz4;
mod not_a_list;
#[cfg(feature = "files")]
mod open;
#[cfg(feature = "files")]
mod reading;
mod sniff;
#[cfg(feature = "files")]
mod source;
#[cfg(feature = "files")]
mod stop;

pub use compression::Compression;
#[cfg(feature = "files")]
pub use error::{Error, NotSearchable};
pub use not_a_list::NotAList;
#[cfg(feature = "files")]
pub use open::{Input, is_filter, look};
#[cfg(feature = "files")]
pub use reading::{Note, Reading};
pub use sniff::{SAMPLE_BYTES, Sample, sniff};
#[cfg(feature = "files")]
pub use source::Source;
#[cfg(feature = "files")]
pub use stop::Stop;
