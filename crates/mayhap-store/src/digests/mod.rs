//! The digests of all keys of a filter, kept in a file beside it, so that a larger filter can be
//! built without the keys.
//!
//! `STATES.md`, "Digests", is the specification, byte by byte. In short: the file is
//! only appended to; a run has sorted digests, and a cover names an image all of whose keys are in
//! the runs before it. A writer that changes the filter first appends its new digests, and the
//! cover of its image, so at any moment the file has at least the digests of the image beside it. A
//! writer that replaces the filter by another one replaces the file of digests too.
//!
//! | file | contents |
//! |---|---|
//! | `rice.rs` | sorted digests as bits: Rice codes of their differences |
//! | `record.rs` | the header and the records as bytes |
//! | `run.rs` | sorted digests, written |
//! | `contents.rs` | the records of a file, up to a torn write |
//! | `merge.rs` | the distinct digests of all runs, in order |
//! | `place.rs` | where digests are, and whether a file has them |
//! | `aside.rs` | files that wait while their filter is replaced |
//! | `keeper.rs` | a file that is kept in step with its filter |
//! | `kept.rs` | a file that is only read |

mod aside;
mod contents;
mod keeper;
mod kept;
mod merge;
mod place;
mod record;
mod rice;
mod run;
#[cfg(test)]
mod tests;

pub(crate) use aside::{forget, set_aside, settle};
pub(crate) use keeper::{Keeper, refuse_digests, remove_digests_of};
pub use kept::{KeptDigests, digests_path};
pub(crate) use merge::for_each as for_each_of_runs;
pub(crate) use record::Run;
pub(crate) use run::write_run;
