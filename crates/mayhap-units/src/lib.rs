//! Counts, sizes, rates and lengths of time as people type them: `10M`, `64KiB`, `0.1%`, `7d`.
//!
//! The command line and the server's configuration have one grammar. No dependency, no I/O.

#![forbid(unsafe_code)]

pub mod number;
pub mod span;
pub mod window;
