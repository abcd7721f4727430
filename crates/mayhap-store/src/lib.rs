//! Files for [`mayhap`] filters: saved atomically, checked when loaded, mapped in constant time,
//! and kept alive across crashes.
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
//! assert!(mapped.contains("https://example.org/")?); // checks the pages that it reads
//! mapped.verify()?; // reads and checks all of it
//!
//! let loaded = mayhap_store::load(path, None)?; // checks while it reads
//! assert!(!loaded.filter.contains("https://example.org/other"));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # Which call
//!
//! | purpose | call | reads | memory |
//! |---|---|---|---|
//! | read the parameters of a file | [`read_header`] | 4 KiB | – |
//! | query at once, from many processes | [`open_mapped`] | 4 KiB, then on demand, checked | shared pages |
//! | query fast, or insert | [`load`] | all, checked | the filter, once |
//! | query while others add | [`Snapshot`] | all, and its log | the filter, once |
//! | verify a file | [`verify()`] | all | 1 MiB |
//! | write a file | [`save`], [`save_new`] | – | 1/512 of the filter |
//! | write a small filter without whole pages | [`save_short`] | – | 8 KiB |
//! | merge many files into one | [`FilterLock::merge`] | all of all, checked | 1 MiB |
//! | copy a filter to another place, or from one | [`Image::blocks`], [`Incoming::begin`] | all, checked | 1 MiB |
//! | files of other systems, as bytes | [`read_bytes`], [`save_bytes`] | all | the file, once |
//! | keep a filter that survives kill -9 | [`LiveFilter`] | all, and its log | the filter, once |
//! | add to a filter from many processes | [`Session`] | all, and its log | the filter, once |
//! | keep others from changing a file | [`FilterLock`] | – | – |
//! | warnings about work that succeeded | [`notices`] | – | – |
//! | sort more digests than fit into memory | [`DigestSorter`] | – | a buffer of your size |
//! | read the digests of all keys, where they are kept | [`KeptDigests`] | all of them | 64 KiB |
//!
//! # Guarantees
//!
//! * **Save**: whatever happens (kill -9, full disk, power cut), the path holds either the complete
//!   old file or the complete new one. A temporary file `.NAME.mayhap-tmp` in the same folder is
//!   written, synced, renamed, and the folder is synced. A crash can leave that file behind; it is
//!   never read, and the next save removes it. If the path is a symbolic link, the file it points
//!   to is replaced, and the link stays. The permissions of a replaced file are kept, not its owner
//!   or attributes. A name has at most 243 bytes, where the file system allows 255. An operation
//!   that a file system does not support is a [`Notice`]: without syncs of folders, a power cut may
//!   bring back the old file.
//! * **One writer at a time**: a process that saves, replaces or adds to a filter holds the lock of
//!   the file `.NAME.mayhap-lck` ([`FilterLock`]), which exists only meanwhile; after kill -9 it
//!   can be left behind, which is harmless. Readers need no lock. A file system without locks is an
//!   error, unless another way is chosen ([`LockKind`]).
//! * **Load**: every byte is covered by a checksum. Damage, truncation, foreign files and newer
//!   versions are reported as such; nothing is allocated before the header has been found sound and
//!   the length of the file correct.
//! * **Map**: the header is checked when the file is opened, the table of checksums before the
//!   first query, and each page before it is first read. If a page is damaged, another program
//!   truncates or overwrites the file, or the disk fails, [`MappedFilter::check`] reports it, and
//!   on Linux nothing worse happens ([`open_mapped`]). [`open_trusted`] leaves pages unchecked.
//! * **States**: a recorded digest is in the filter after any crash of the process, and also after
//!   a power cut if it was synced. See [`Session`] and [`LiveFilter`]. A write-ahead log is only
//!   replayed into the image for which it was begun: a file that was replaced, copied or restored
//!   never receives the keys of another one, and a missing log is reported, as is one that ends in
//!   the middle of a record.
//! * **Digests**: where the digests of all keys are kept beside a filter, they always include the
//!   digests of the filter at the path, even after a crash, and are replaced together with it
//!   (meanwhile one of the two files is called `.NAME.mayhap-dig`); if another program has changed
//!   the filter without them, that is reported ([`KeptDigests::covers`], [`Error::DigestsBehind`]).
//!
//! A file is never changed in place, except for 32 bytes of its header that record that a log was
//! begun (`STATES.md`), so any number of processes may map or load a file while another one saves
//! it.

// | file | contents |
// |---|---|
// | `body.rs` | bodies of files: read page by page, with every byte checked |
// | `digests/` | the digests of all keys of a filter, kept in a file beside it |
// | `disk/` | the file system as this crate uses it, so that tests can stop |
// | `external/` | files without a name, for filters of more digests than there is memory for |
// | `error/` | the errors of this crate |
// | `file.rs` | paths: resolving links, and names beside a file |
// | `guard.rs` | a lost page of a mapped file becomes an error of that map |
// | `holder.rs` | the holder of a lock |
// | `image.rs` | an image: an open filter file, whatever its name refers to by now |
// | `load.rs` | file → filter, every byte checked |
// | `loaded.rs` | a filter and its header |
// | `lock.rs` | the lock that the writers of a filter take in turns |
// | `log/` | the write-ahead log of a state |
// | `map.rs` | a file's bytes seen as memory |
// | `mapped.rs` | filters that are queried in place: in the file |
// | `merge.rs` | files → one file with the keys of all, in one pass and constant memory |
// | `notice.rs` | warnings about work that succeeded |
// | `pages.rs` | the pages of a mapped body |
// | `pieces.rs` | plain filters that are read and written in pieces |
// | `save.rs` | filter → file, atomically |
// | `segments.rs` | files of segments → one file of the whole filter |
// | `short.rs` | short files, seen as files with pages |
// | `stamp.rs` | whether a file is the one that was opened, unchanged |
// | `state/` | filters that change over time: an image, and a log of the changes since |
// | `temporary.rs` | the temporary file that becomes the saved one |
// | `union.rs` | a filter file that is put together from others |

mod body;
mod digests;
mod disk;
mod error;
mod external;
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
mod notice;
mod pages;
mod pieces;
mod save;
mod segments;
mod short;
mod stamp;
mod state;
mod temporary;
mod union;

pub use digests::{KeptDigests, digests_path};
pub use disk::sync_names;
// For the log of the engine.
#[doc(hidden)]
pub use disk::{Positioned, make_private, read_up_to, write_all_at};
pub use error::Error;
pub use external::{DigestSorter, ScratchFile, SortedFile};
pub use holder::Holder;
pub use image::Image;
pub use load::{load, load_as, read_header, verify, verify_with};
pub use loaded::Loaded;
pub use lock::{FilterLock, LockKind, LockOptions, Wait};
pub use log::{Operation, Record};
pub use map::MappedBlocks;
pub use mapped::{MappedFilter, open_mapped, open_trusted};
pub use merge::{MergeOptions, common_key_options};
pub use notice::{Notice, notices};
pub use pieces::Incoming;
pub use save::{read_bytes, save, save_bytes, save_new, save_set, save_short};
pub use segments::assemble;
pub use stamp::{Changed, FileStamp};
pub use state::{
    Finished, Found, LiveFilter, LogFound, Memory, Opening, Recovery, Session, SessionOptions,
    Snapshot, apply, log_path,
};
pub use union::Assembled;

/// The example of the README of the crate, run as a test.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct CrateReadme;
