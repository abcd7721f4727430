//! The same filters for people: REST, metrics, health, a page.
//!
//! ```text
//! server.rs ─► guard.rs ─► routes.rs ─► filters.rs and others ─► keyspace, log
//! sockets      who asks    which path    what to do
//! ```
//!
//! `server.rs` accepts connections, `taking.rs` ends those that take no answers, `head.rs` those
//! whose requests do not come, `guard.rs` checks who may do what, `routes.rs` maps paths to
//! handlers, `filters.rs`, `create.rs`, `items.rs`, `which.rs`, `file.rs`, `expiry.rs`, `rename.rs`
//! and `ready.rs` are the handlers. `body.rs` reads what requests bring, within limits, `object.rs`
//! its objects and `option.rs` options in them, `query.rs` the query of a path, `door.rs` has
//! places for all, `name.rs` the filter's name from the path,
//! `failure.rs` is what goes wrong, `ui/` the dashboard. Work on filters is done on threads of its
//! own, since an answer may have to wait for a disk. `openapi.json` is the description for
//! programs.

mod body;
mod create;
mod door;
mod expiry;
mod failure;
mod file;
mod filters;
mod guard;
mod head;
mod items;
mod name;
mod object;
mod option;
mod query;
mod ready;
mod rename;
mod routes;
mod server;
mod taking;
mod ui;
mod which;

pub(crate) use door::MAX_CONNECTIONS;
pub(crate) use mayhap_dashboard::path::encode;
pub use server::Http;

use crate::Shared;
use failure::Failure;
use std::sync::Arc;

/// What every handler has.
#[derive(Debug, Clone)]
struct State {
    shared: Arc<Shared>,
    /// Whether we are called `https://`.
    is_tls: bool,
}
