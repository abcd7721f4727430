//! The planner: from what is known and needed to which filter, how big, and whether it pays.
//!
//! `needs.rs` is the question and `wish.rs` what follows from it for one set, to which a kind finds
//! its `size.rs`. `candidate.rs` is what one kind offers, `rates.rs` what it becomes with more
//! keys, `reason.rs` why not. `cost.rs` is the cost model, `memory.rs` what the alternatives
//! without a filter take, `choose.rs` the choice. One file per kind: `bloom.rs`, `counting.rs`,
//! `fuse.rs`, `matrix.rs`, `scalable.rs` and `window.rs`, each with `candidate(&Wish)` (the kind
//! sized for what is wished) and `fpp_after` (its rate with any number of keys, also too many).
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
//! assert_eq!(why.to_string(), "touches 6.0 cache lines per question, the best 1.0");
//! # Ok::<(), mayhap::Error>(())
//! ```

mod bloom;
mod candidate;
mod choose;
mod cost;
mod counting;
mod fuse;
mod matrix;
pub mod memory;
mod needs;
mod rates;
mod reason;
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
