//! Lists of keys in their usual forms, as batches of lines with their keys and digests.
//!
//! file or pipe → decompressed bytes ([`Input`]) → lines → keys ([`mayhap_keys`]) → digests →
//! [`Batch`] of a [`LineReader`]
//!
//! `input/` opens sources and judges their contents; `lines/` cuts them into keys, on a thread of
//! its own; `sorted.rs` searches a sorted list in place ([`SortedFile`]); `borders.rs` has tests
//! that cut lists at every byte. Nothing is printed: a remark about an input is a [`Note`], a
//! failure an [`Error`].
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
