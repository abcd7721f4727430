//! What comes in and what goes out: `input/` lists of keys as bytes, `lines/` as lines (`reader.rs`
//! opens them for a verb), `output.rs` lines that are written; `messages.rs` what is said on
//! stderr, `progress.rs` the bar there.

pub mod input;
pub mod lines;
pub mod messages;
pub mod output;
pub mod progress;
pub mod reader;
