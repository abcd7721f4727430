//! How filters outlive the process: one log of digests for the data folder, and images.
//!
//! ```text
//! insert ─► Recorder ─► frame ─► segment ─► replay ─► Replay (the keyspace)
//!           a turn      write    log/N.log   at start
//! Filters ─► checkpoint ─► image, list, manifest ─► Replay
//! ```
//!
//! `recorder.rs` is what a turn of a thread writes at once, `tally.rs` what of a filter's keys is
//! safe and what counts; `log.rs` puts records in order and writes them, `trouble.rs` refuses what
//! cannot be written, `turns.rs` knows the turns of threads, `undo.rs` puts filters back
//! that a refused one has changed, `ticket.rs` is
//! what may be acknowledged, `sync.rs` gets records onto the
//! disk, `threads.rs` does so each second, `place.rs` notices when files are gone. `announced.rs`
//! lets a checkpoint wait for insertions that are under way. `checkpoint.rs` makes images by
//! `images.rs` and lists by `lists.rs`, and drops the log before them, if `room.rs` finds that they
//! fit onto the disk (`spare.rs` keeps room for deleting); `previous.rs` is what it leaves to the
//! next one. `recover.rs` opens a folder, `load.rs` reads its images and `replay.rs` is what they
//! give the keyspace, `repair.rs` cuts out what is damaged, `backup.rs` copies a folder that is in
//! use, from where `source.rs` says, `census.rs` counts its filters, `incomplete.rs` keeps servers
//! from a copy that was cut short, and `lease.rs` keeps the files of a folder for those who copy
//! them over a connection. What stands in files: `store.rs` and `folder.rs` (the folder),
//! `segment.rs`, `frame.rs`, `operation.rs` and `item.rs` (the log), `manifest.rs`, `list.rs`
//! (filters and their images), `image.rs`, `pack.rs` (images of small filters together).
//! `options.rs`, `stats.rs`, `shown.rs` and `error.rs` are for callers. Everything goes through
//! `disk.rs`, so that the tests in `tests/` can lose and fail each operation.

mod announced;
mod backup;
mod census;
mod checkpoint;
mod disk;
mod error;
mod folder;
mod frame;
mod image;
mod images;
mod incomplete;
mod item;
mod lease;
mod list;
mod lists;
mod load;
mod log;
mod manifest;
mod operation;
mod options;
mod pack;
mod place;
mod previous;
mod recorder;
mod recover;
mod repair;
mod replay;
mod room;
mod segment;
mod shown;
mod source;
mod spare;
mod stats;
mod store;
mod sync;
mod tally;
#[cfg(test)]
pub(crate) mod tests;
mod threads;
mod ticket;
mod trouble;
mod turns;
mod undo;

pub use backup::{Backup, back_up, back_up_from};
pub use checkpoint::Saves;
pub use error::{Error, ImageError, Refused, ReplayError};
pub use folder::DataFolder;
#[cfg(not(any(loom, shuttle)))]
pub(crate) use folder::parse_key;
pub use image::{Image, read_native, write_native, write_native_with};
pub use lease::{Lease, LeaseError};
pub use log::Log;
pub use operation::Operation;
pub use options::{Options, Policy};
pub use recorder::Recorder;
pub use recover::{Dropped, Progress, Report};
pub use repair::{Repaired, repair};
pub use replay::{Answered, Filters, ReadBack, Replay, Saved, Snapshot};
pub use source::Source;
pub use stats::Stats;
pub use tally::Tally;
pub use threads::Threads;
pub use ticket::{Contents, Logged, State, Ticket};
pub use turns::Unwritten;

use place::Displaced;
use store::Store;
