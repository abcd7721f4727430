//! What the shape of the source is: modules, imports between files, lines.
//!
//! `source.rs` parses a crate into modules, `imports.rs` resolves which file uses which,
//! `circles.rs` finds the files that need each other, `lines.rs` counts product code. The checks
//! themselves are in `tests/`; `cargo run -p tidy` prints the table of sizes.

pub mod circles;
pub mod imports;
pub mod lines;
pub mod source;

use std::path::PathBuf;

/// The top folder of the workspace.
///
/// # Panics
///
/// If this crate is moved elsewhere.
pub fn workspace() -> PathBuf {
    let crates = PathBuf::from(env!("CARGO_MANIFEST_DIR"));
    crates.ancestors().nth(2).expect("crates/tidy is two folders deep").to_path_buf()
}
