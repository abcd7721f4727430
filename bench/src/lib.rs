//! Shared parts of the benchmark programs: keys, facts about the machine, medians, ratios against
//! targets.

pub mod keys;
pub mod machine;
pub mod process;
#[cfg(feature = "peers")]
pub mod ratio;
pub mod stats;
