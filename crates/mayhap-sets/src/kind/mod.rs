//! The kinds of filters, one file each: an `impl` of [`KeySet`](crate::KeySet).
//!
//! `plain.rs` has a given size (`mapped.rs` where it is only read, `logged.rs` with its log);
//! `counting.rs`, `fuse.rs`,
//! `scalable.rs` and `window.rs` are other kinds of files, `growing.rs` is a chain in memory alone.
//! `matrix.rs` holds many sets. `load.rs` reads any of them.

mod counting;
mod fuse;
mod growing;
mod load;
mod logged;
mod mapped;
mod matrix;
mod plain;
mod scalable;
mod window;

pub use load::load;
pub use logged::LoggedFilter;
pub use matrix::{matrix_details, matrix_state};
pub use scalable::ScalableFile;
pub use window::WindowFile;
