//! Positions → bits: one file per layout.
//!
//! `id.rs` lists the layouts, `kind.rs` is the trait that they implement; `standard.rs`,
//! `blocked.rs` and `narrow.rs` are the layouts.

mod blocked;
mod id;
mod kind;
mod narrow;
mod standard;

pub use blocked::Blocked;
pub use id::Layout;
pub use kind::LayoutKind;
pub(crate) use kind::sealed;
pub use narrow::{Blocked64, Blocked128, NarrowBlocked};
pub use standard::Standard;
