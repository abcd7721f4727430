//! What comes in and what goes out: `input/` lists of keys as bytes, `lines/` as lines, `output.rs`
//! lines that are written; `messages.rs` what is said on stderr, `progress.rs` the bar there,
//! `signals.rs` what ends it all.

pub mod input;
pub mod lines;
pub mod messages;
pub mod output;
pub mod progress;
pub mod signals;
