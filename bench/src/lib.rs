//! What the benchmark programs share: facts about the machine, medians, ratios against targets.

pub mod machine;
pub mod ratio;
pub mod stats;
