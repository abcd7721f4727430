//! Files for [`mayhap`] filters: saved atomically, checked when loaded, mapped in an instant, and
//! kept alive across crashes.
//!
//! ```
//! use mayhap::AnyFilter;
//!
//! # let folder = tempfile::tempdir()?;
//! # let path = &folder.path().join("seen.mayhap");
//! let mut seen = AnyFilter::builder().expected_items(1_000_000).target_fpp(0.001).build()?;
//! seen.insert("https://example.org/");
//! mayhap_store::save(path, &seen, "")?;
//!
//! let mapped = mayhap_store::open_mapped(path, None)?; // reads 4 KiB, whatever the size
//! assert!(mapped.filter().contains("https://example.org/"));
//! mapped.check()?; // nobody has changed the file meanwhile
//! mapped.verify()?; // reads and checks all of it
//!
//! let loaded = mayhap_store::load(path, None)?; // checks while it reads
//! assert!(!loaded.filter.contains("https://example.org/other"));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # Which call
//!
//! | you want | call | reads | memory |
//! |---|---|---|---|
//! | the numbers in a file | [`read_header`] | 4 KiB | – |
//! | to ask at once, from many processes | [`open_mapped`] | 4 KiB, then on demand | shared pages |
//! | to ask fast for long, or to insert | [`load`] | all, checked | the filter, once |
//! | to ask a filter that others add to | [`load_live`], [`Snapshot`] | all, and its log | the filter, once |
//! | to know that a file is sound | [`verify()`] | all | 1 MiB |
//! | to write a file | [`save`], [`save_new`] | – | 1/512 of the filter |
//! | one file of many | [`merge()`], [`merge_new`] | all of all, checked | 1 MiB |
//! | bytes of another system's filter | [`read_bytes`], [`save_bytes`] | all | the file, once |
//! | a filter that survives kill -9 | [`LiveFilter`] | all, and its log | the filter, once |
//! | a filter that many processes add to | [`Session`] | all, and its log | the filter, once |
//! | to keep others from changing a file | [`FilterLock`] | – | – |
//!
//! # What is promised
//!
//! * **Save**: whatever happens (kill -9, full disk, power cut), the path holds the old file or the
//!   new one, whole. A temporary file `.NAME.mayhap-tmp` in the same folder is written, synced,
//!   renamed, and the folder is synced. A crash can leave that file behind; it is never read, and
//!   the next save removes it. If the path is a symbolic link, the file it points to is replaced,
//!   and the link stays. The permissions of a replaced file are kept, not its owner or attributes.
//!   A name has at most 243 bytes, where the file system allows 255.
//! * **One writer at a time**: whoever saves, replaces or adds to a filter holds the lock of the
//!   file `.NAME.mayhap-lck` ([`FilterLock`]), which is there only meanwhile; after kill -9 it can
//!   be left behind, and does no harm. Readers need no lock.
//! * **Load**: every byte is covered by a checksum. Damage, truncation, foreign files and newer
//!   versions are errors that say so; nothing is allocated before the header is found sound and the
//!   file as long as it says.
//! * **Map**: the header is checked, the body is not, until [`MappedFilter::verify`]. When someone
//!   else cuts or overwrites the file, or the disk fails, [`MappedFilter::check`] says so, and on
//!   Linux nothing worse happens ([`open_mapped`]).
//! * **States**: a digest that was recorded is in the filter after any crash of the process; after
//!   a power cut too if it was synced. See [`Session`] and [`LiveFilter`]. A log is replayed into
//!   the one image that it was begun for, and into no other: a file that was replaced, copied or
//!   put back is never given the keys of another one, and one whose log is missing says so.
//!
//! A file is never changed in place, but for 32 bytes of its header that say that a log was begun
//! (`docs/native-format.md`, "States"), so any number of processes may map or load a file while
//! another one saves it.

mod body;
mod bytes;
mod disk;
mod error;
mod file;
#[cfg(target_os = "linux")]
mod guard;
mod holder;
mod image;
mod load;
mod loaded;
mod lock;
mod log;
mod map;
mod mapped;
mod merge;
#[cfg(test)]
mod model;
mod save;
mod sniff;
mod stamp;
mod state;
mod temporary;

pub use bytes::{read_bytes, save_bytes};
pub use error::Error;
pub use holder::Holder;
pub use image::Image;
pub use load::{load, load_as, load_with, read_header, verify, verify_with};
pub use loaded::Loaded;
pub use lock::{FilterLock, LockOptions, Wait};
pub use log::{Operation, Record};
pub use map::MappedBlocks;
pub use mapped::{MappedFilter, open_mapped};
pub use merge::{MergeOptions, Merged, merge, merge_new};
pub use save::{save, save_new};
pub use sniff::looks_like;
pub use stamp::{Changed, FileStamp};
pub use state::{
    Finished, Found, Insert, LiveFilter, LogFound, Memory, Opening, Recovery, Session,
    SessionOptions, Snapshot, apply, load_live, load_live_as, log_path,
};

/// The example of the README of the crate, run as a test.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct CrateReadme;
