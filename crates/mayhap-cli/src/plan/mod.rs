//! What `mayhap plan` prints: the core's planner in words, as JSON and as a chart.
//!
//! [`mod@report`] is the answer for two of n, p and memory, [`table`] for one of them, [`chart`]
//! the rate against the number of keys, [`cost`] the grammar of costs, [`machine`] the memories.

pub mod chart;
pub mod cost;
pub mod machine;
pub mod recipe;
pub mod report;
pub mod table;
