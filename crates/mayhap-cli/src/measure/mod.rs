//! Numbers that are measured or estimated: `counts.rs` false positives,
//! `chance.rs` how far a sound filter may be from them, `distinct.rs` the keys of
//! an input, `loss.rs` new lines that were taken for repeats, `speed.rs` the time that a filter
//! takes.

pub mod chance;
pub mod counts;
pub mod distinct;
pub mod loss;
pub mod speed;
