//! Lists of keys in their usual forms, as batches of lines with their keys and digests.
//!
//! file or pipe → decompressed bytes ([`Input`]) → lines → keys ([`mayhap_keys`]) → digests →
//! [`Batch`] of a [`LineReader`]
//!
//! `input/` opens sources and judges their contents; `lines/` cuts them into keys, on a thread of
//! its own; `sorted.rs` searches a sorted list in place ([`SortedFile`]); `borders.rs` has tests
//! that cut lists at every byte. Nothing is printed: a remark about an input is a [`Note`], a
//! failure an [`Error`]. Without the feature `files` only [`sniff`] is here, which judges first
//! bytes, and knows no filters of other systems then: for browsers, which read and unpack files by
//! themselves.
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

#![cfg_attr(docsrs, feature(doc_cfg))]
#![forbid(unsafe_code)]

#[cfg(all(test, feature = "files"))]
mod borders;
mod input;
#[cfg(feature = "files")]
mod lines;
#[cfg(feature = "files")]
mod sorted;

pub use input::{Compression, NotAList, SAMPLE_BYTES, Sample, sniff};
#[cfg(feature = "files")]
pub use input::{Error, Input, NotSearchable, Note, Reading, Source, Stop, is_filter, look};
#[cfg(feature = "files")]
pub use lines::{Batch, LineReader, Pause, for_each_run};
#[cfg(feature = "files")]
pub use mayhap_keys::KeyOptions;
#[cfg(feature = "files")]
pub use sorted::SortedFile;

/// The example of the README of the crate, run as a test.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct CrateReadme;
