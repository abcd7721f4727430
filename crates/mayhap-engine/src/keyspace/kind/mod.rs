//! The kinds of filters.
//!
//! `filter.rs` has the interface of a filter in use, and that of one that is copied, written, read
//! or merged; `plan.rs` is one that is sized but not created. Kinds of our own have a face in the
//! core, [`mayhap::set::Set`], to which `own.rs` adds what the keyspace needs of a filter that
//! nobody shares. Those that are filled under a lock, and replayed in order, are shared by
//! `locked.rs`: `counting.rs`, `compact.rs`, `window.rs` and `clearing.rs` have what only one of
//! them has. Those that many threads fill at once, `growing.rs` and `fixed.rs`, insert through
//! `lock_free.rs`.
//! `frozen.rs` has filters that take no keys; `redisbloom.rs` hashes keys as that module does,
//! `file.rs` has filters of files. `table.rs` alone lists the kinds: a new one is a file and its
//! rows there.

mod clearing;
pub(super) mod compact;
mod counting;
mod file;
mod filter;
mod fixed;
mod frozen;
mod growing;
mod lock_free;
mod locked;
mod own;
mod plan;
pub(super) mod redisbloom;
mod table;
pub(super) mod window;

pub(super) use file::{Foreign, Mapped, Matrix, Placeholder, Still};
pub(super) use filter::{Contents, Dump, Filter, Home, News, Target};
pub(super) use fixed::{Closed, Fixed, Successor};
pub(super) use frozen::Frozen;
pub(super) use growing::Growing;
pub use own::SMALL_FILE_BYTES;
pub use plan::FEWEST_ITEMS;
pub(super) use plan::Plan;
pub(super) use table::{check_header, decode, empty, plan, read_image};
