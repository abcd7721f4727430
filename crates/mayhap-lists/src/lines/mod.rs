//! Input cut into lines and keys, on a thread of its own.
//!
//! `cut.rs` runs there: it reads (and decompresses), finds the lines of a chunk, cuts their keys
//! and digests them. `reader.rs` takes the chunks over, in order, and hands them out as batches
//! (`batch.rs`, of the lines of a `chunk.rs`), so that a filter and its output never wait for the
//! work that comes before them. Buffers go back and are used again; lines are never copied but for
//! the one that two chunks share. `runs.rs` is for
//! lines that go out again.

mod batch;
pub(crate) mod chunk;
mod cut;
mod reader;
mod runs;

pub use batch::Batch;
#[cfg(test)]
pub(crate) use cut::LineCutter;
pub use reader::{LineReader, Pause};
pub use runs::for_each_run;
