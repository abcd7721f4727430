//! Lists of keys as streams of bytes: files and pipes, decompressed, and checked to be lists.
//!
//! [`Source`] names a file or standard input (`source.rs`). [`Input`] opens it (`open.rs`): the
//! first bytes determine its compression (`compression.rs`, and `gzip.rs` and `lz4.rs` for the
//! parts that those crates leave out), and the first 64 KiB after decompression whether these are
//! lines at all (`sniff.rs`): a byte-order mark is no part of keys, archives, filters and UTF-16
//! are refused (`not_a_list.rs`, among the errors of `error.rs`). [`Reading`] has the options of
//! all this, and [`Note`] is a message about an input (`reading.rs`); [`Stop`] ends it (`stop.rs`).

mod compression;
mod error;
mod gzip;
mod lz4;
mod not_a_list;
mod open;
mod reading;
mod sniff;
mod source;
mod stop;

pub use compression::Compression;
pub use error::{Error, NotSearchable};
pub use not_a_list::NotAList;
pub use open::{Input, is_filter, look};
pub use reading::{Note, Reading};
pub use sniff::{SAMPLE_BYTES, Sample, sniff};
pub use source::Source;
pub use stop::Stop;
