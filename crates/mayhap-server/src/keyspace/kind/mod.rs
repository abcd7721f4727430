//! The kinds of filters behind a name: a file each, behind the same traits.
//!
//! `filter.rs` is what the keyspace needs of a filter that is in use, `contents.rs` of one that is
//! copied, written, read or united, `plan.rs` of one that is sized and not created. The kinds are
//! `growing.rs`, `fixed.rs`, `counting.rs`, `window.rs`, `clearing.rs` and `redisbloom.rs`, and
//! those of files: `mapped.rs`, `matrix.rs`, `still.rs`, `foreign.rs` and `unopened.rs`;
//! `quarantined.rs` stands for one that could not be recovered. `unordered.rs` and `ordered.rs` are
//! the two ways of an insertion into the log. `table.rs` alone lists the kinds: a new one is a file
//! and its rows there.

mod clearing;
mod contents;
mod counting;
mod filter;
mod fixed;
mod foreign;
mod growing;
mod mapped;
mod matrix;
mod ordered;
mod plan;
mod quarantined;
pub(super) mod redisbloom;
mod still;
mod table;
mod unopened;
mod unordered;
pub(super) mod window;

pub(super) use contents::{Contents, Dump};
pub(super) use filter::{Filter, Home, Target};
pub(super) use foreign::Foreign;
pub(super) use growing::Growing;
pub(super) use mapped::Mapped;
pub(super) use matrix::Matrix;
pub use plan::FEWEST_ITEMS;
pub(super) use plan::Plan;
pub(super) use quarantined::Quarantined;
pub(super) use still::Still;
pub(super) use table::{check_header, decode, plan, read_image};
pub(super) use unopened::Unopened;
