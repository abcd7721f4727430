//! Input cut into lines and keys, on a dedicated thread.
//!
//! `cut.rs` runs there: it reads (and decompresses), finds the lines of a chunk, cuts their keys
//! and digests them. `reader.rs` takes the chunks over, in order, and hands them out as batches
//! (`batch.rs`, of the lines of a `chunk.rs`), so that a filter and its output never wait for the
//! work before them. Buffers are returned and reused; lines are never copied, except for the one
//! that two chunks share. `runs.rs` is for lines that are written out again.

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
