//! Lists of keys as people have them, as batches of lines with their keys and digests.
//!
//! file or pipe → decompressed bytes ([`Input`]) → lines → keys ([`mayhap_keys`]) → digests →
//! [`Batch`] of a [`LineReader`]
//!
//! `input/` opens what is read and finds out what it is; `lines/` cuts it, on a thread of its own;
//! `sorted.rs` searches a sorted list where it lies ([`SortedFile`]); `borders.rs` has tests that
//! cut lists at every byte.
//! Nothing is printed: what there is to say of an input is a [`Note`], what goes wrong an
//! [`Error`].
//!
//! # Examples
//!
//! ```
//! use mayhap_lists::{Error, KeyOptions, LineReader, Reading, Source};
//!
//! let folder = tempfile::tempdir()?;
//! let path = folder.path().join("list.txt");
//! std::fs::write(&path, "one\r\ntwo\r\n")?;
//! let sources = Source::from_paths(&[path]);
//! let mut list = LineReader::new(sources, &KeyOptions::default(), Reading::default(), None)?;
//! let mut keys = Vec::new();
//! while let Some(batch) = list.next_batch(|| Ok::<(), Error>(()))? {
//!     keys.extend(batch.keys().map(<[u8]>::to_vec));
//! }
//! // A CR before a line feed is no part of a key.
//! assert_eq!(keys, [b"one", b"two"]);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

#![forbid(unsafe_code)]

#[cfg(test)]
mod borders;
mod input;
mod lines;
mod sorted;

pub use input::{
    Compression, Error, Input, NotAList, NotSearchable, Note, Reading, SAMPLE_BYTES, Sample,
    Source, Stop, is_filter, look, sniff,
};
pub use lines::{Batch, LineReader, Pause, for_each_run};
pub use mayhap_keys::KeyOptions;
pub use sorted::SortedFile;
