//! How filters outlive the process: one log of digests for the data folder, and images.
//!
//! ```text
//! insert ─► Recorder ─► frame ─► segment ─► replay ─► Replay (the keyspace)
//!           a turn      write    log/N.log   at start
//! Filters ─► checkpoint ─► image, list, manifest ─► Replay
//! ```
//!
//! The parts of a log, each an object: [`Log`] (`log.rs`) is the front of them, and opens them on
//! what `recover.rs` finds. `journal/` has the records in their order: `recorder.rs` collects those
//! of a turn of a thread (`batch.rs`), `contents.rs` those of a filter that comes with contents;
//! they go to the `tail.rs`; `safety.rs` says which answers may be sent (`ticket.rs`), `trouble.rs`
//! why writes are refused, `turns.rs` has the turns of threads, and `spare.rs` reserves space for
//! deletions. `tally.rs` counts the keys of a filter and those not yet safe, `announced.rs` lets a
//! checkpoint wait for insertions in progress. `checkpoint.rs` makes images with `images.rs` and
//! lists with `listing.rs` and `lists.rs`, and drops the log before them, if `room.rs` finds that
//! they fit onto the disk; `previous.rs` is the state that it leaves to the next one; `undo.rs`
//! puts filters back that a refused turn has changed; `lease.rs` keeps the files of a folder while
//! they are copied over a connection. `watch.rs` detects missing files, `threads.rs` runs all of
//! these.
//!
//! `recover.rs` reads a folder (`report.rs`), `load.rs` its images and `replay.rs` passes them to
//! the keyspace, `repair.rs` cuts out damage, `backup.rs` copies a folder that is in use, read
//! through `source.rs`, `census.rs` counts its filters, `incomplete.rs` keeps servers from a copy
//! that was cut short. File formats: `store.rs` and `folder.rs` (the folder), `segment.rs`,
//! `frame.rs`, `operation.rs` and `item.rs` (the log), read from `input.rs`, `manifest.rs`,
//! `list.rs` (filters and their images), `image.rs`, `pack.rs` (images of small filters together).
//! `options.rs`, `stats.rs` and `error.rs` are for callers. All I/O goes through `disk.rs`, so that
//! the tests in `tests/` can lose and fail each operation.

mod announced;
mod backup;
mod batch;
mod census;
mod checkpoint;
mod contents;
mod disk;
mod error;
mod folder;
mod frame;
mod image;
mod images;
mod incomplete;
mod input;
mod item;
mod journal;
mod lease;
mod list;
mod listing;
mod lists;
mod load;
mod log;
mod manifest;
mod operation;
mod options;
mod pack;
mod previous;
mod recorder;
mod recover;
mod repair;
mod replay;
mod report;
mod room;
mod safety;
mod segment;
mod source;
mod spare;
mod stats;
mod store;
mod tail;
mod tally;
#[cfg(test)]
pub(crate) mod tests;
mod threads;
mod ticket;
mod trouble;
mod turns;
mod undo;
mod watch;

pub use backup::{Backup, back_up, back_up_from};
pub use checkpoint::Saves;
pub use contents::Contents;
pub use error::{Error, ImageError, Refused, ReplayError};
pub use folder::{DataFolder, parse_key};
pub use image::{Image, read_native, read_set, write_segments};
pub use lease::{Lease, LeaseError};
pub use log::Log;
pub use operation::Operation;
pub use options::{Options, Policy};
pub use recorder::Recorder;
pub use repair::{Repaired, repair};
pub use replay::{Answered, Filters, Piece, ReadBack, Replay, Saved, Snapshot};
pub use report::{Dropped, Progress, Report};
pub use source::Source;
pub use stats::Stats;
pub use tally::Tally;
pub use threads::Threads;
pub use ticket::{Logged, State, Ticket};
pub use trouble::{Displaced, Trouble};
pub use turns::Unwritten;

use store::Store;
