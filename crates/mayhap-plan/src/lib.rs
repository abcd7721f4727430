//! The results of the planner [`mayhap::plan`], in words, as JSON and as a chart.
//!
//! `report.rs` is the answer for two of n, p and memory, `table.rs` for one of them, and `solve.rs`
//! the answer of a plain filter for n, p, m and k; `link.rs` is a link that shows the plan in the
//! browser, `text.rs` the words that all share. `chart.rs` draws the rate against the number of
//! keys, `cost.rs` reads costs, `machine.rs` finds the sizes of caches, `columns.rs` fits texts
//! into a terminal. `explain/` draws the bits that keys set, and why a query answers as it does;
//! `plot/` draws the rate models.
//!
//! # Examples
//!
//! ```
//! use mayhap::plan::{Needs, plan};
//! use mayhap_plan::Report;
//!
//! let needs = Needs { items: Some(1_000_000), target_fpp: Some(0.01), ..Needs::default() };
//! let report = Report::of(&needs, None, &plan(&needs)?);
//! let size = report.rows().into_iter().find(|(name, _)| *name == "size").unwrap().1;
//! assert!(size.contains("MiB") && size.contains("bits a key"), "{size}");
//! # Ok::<(), mayhap::Error>(())
//! ```

#![forbid(unsafe_code)]

mod chart;
mod columns;
mod cost;
pub mod explain;
mod link;
mod machine;
pub mod plot;
mod report;
mod solve;
mod table;
mod text;

pub use chart::{Curve, chart};
pub use columns::{columns, wrapped};
pub use cost::{Amount, NotAnAmount};
pub use link::link;
pub use machine::memory_sizes;
pub use report::{Numbers, Report};
pub use solve::{Known, Solved};
pub use table::Table;
pub use text::fits_name;

/// The example of the README of the crate, run as a test.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct CrateReadme;
