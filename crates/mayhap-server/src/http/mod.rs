//! The HTTP interface to the same filters: REST, metrics, health, a page.
//!
//! ```text
//! server.rs ─► guard.rs ─► routes.rs ─► filters.rs and others ─► keyspace, log
//! sockets      access      path          handler
//! ```
//!
//! `server.rs` accepts connections, `taking.rs` closes those that read no answers, `head.rs` those
//! whose requests do not arrive, `admission.rs` has their places, `guard.rs` checks access and
//! rights, `routes.rs` maps paths to handlers. `filters.rs`, `create.rs`, `items.rs`, `which.rs`,
//! `file.rs`, `expiry.rs`, `rename.rs`, `shrink.rs` and `ready.rs` are the handlers, with what
//! `handler.rs` has for all of them: `target.rs` is the filter in the path, `body.rs` reads request
//! bodies, within limits, `object.rs` their objects and `option.rs` options in them, `query.rs` the
//! query of a path, `describe.rs` has a filter in JSON, `failure.rs` the errors, `ui/` the
//! dashboard. Of filters in a store the handlers pass what was requested to `in_store.rs`, items
//! as `sent.rs` has them. Work on filters is done on separate threads, since an answer may have to
//! wait for a disk. `openapi.json` is the machine-readable description.

mod admission;
mod body;
mod create;
mod describe;
mod expiry;
mod failure;
mod file;
mod filters;
mod guard;
mod handler;
mod head;
mod in_store;
mod items;
mod object;
mod option;
mod query;
mod ready;
mod rename;
mod routes;
mod sent;
mod server;
mod shrink;
mod taking;
mod target;
mod ui;
mod which;

pub(crate) use admission::MAX_CONNECTIONS;
pub(crate) use mayhap_dashboard::path::encode;
pub use server::Http;

use crate::Shared;
use failure::Failure;
use mayhap_dashboard::history::History;
use std::sync::Arc;

/// The context of every handler.
#[derive(Debug, Clone)]
struct State {
    shared: Arc<Shared>,
    /// Whether our address begins with `https://`.
    is_tls: bool,
    /// The last hour of the filters.
    history: Arc<History>,
}
