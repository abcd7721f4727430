//! The planner: from requirements to the kind of filter, its size, and whether it pays off.
//!
//! `needs.rs` is the input and `wish.rs` the resulting requirements for one set, for which a kind
//! finds its `size.rs`. `candidate.rs` is the offer of one kind, `rates.rs` its rate with more
//! keys, `reason.rs` the reason why it is not chosen. `cost.rs` is the cost model, `memory.rs` the
//! memory of alternatives without a filter, `choose.rs` the choice. One file per kind: `bloom.rs`,
//! `compact.rs`, `counting.rs`, `fuse.rs`, `matrix.rs`, `ribbon.rs`, `scalable.rs` and `window.rs`,
//! each with `candidate(&Wish)` (the kind sized for the wish) and `fpp_after` (its rate with any
//! number of keys, even too many).
//!
//! ```
//! use mayhap::plan::{Needs, plan};
//!
//! let plan = plan(&Needs { target_fpp: Some(1e-3), ..Needs::for_items(100_000_000) })?;
//! let best = plan.best.unwrap();
//! assert_eq!(best.name(), "blocked");
//! assert_eq!(best.bits_per_item() as u32, 15);
//! assert!(best.fpp_at_2x.unwrap() > 0.02); // overfilled twice, 20 times the rate
//! let (second, why) = &plan.rejected[0];
//! assert_eq!(second.name(), "standard");
//! assert_eq!(why.to_string(), "touches 6.0 cache lines per query, the best 1.0");
//! # Ok::<(), mayhap::Error>(())
//! ```

mod bloom;
mod candidate;
mod choose;
mod compact;
mod cost;
mod counting;
mod fuse;
mod matrix;
pub mod memory;
mod needs;
mod rates;
mod reason;
mod ribbon;
mod scalable;
mod size;
#[cfg(test)]
mod tests;
mod window;
mod wish;

pub use candidate::{CacheLines, Candidate, Fits, KindName};
pub use choose::{Plan, plan};
pub use cost::{Cost, Costs};
pub use needs::{MemorySizes, Needs};
pub use reason::Reason;
