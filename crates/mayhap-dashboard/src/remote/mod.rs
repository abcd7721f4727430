//! The dashboard of any Redis or Valkey server, or a cluster of them.
//!
//! ```text
//! routes.rs ─► filters.rs, server.rs ─► describe.rs, keys.rs ─► state.rs ─► names.rs ─► the server
//! ```
//!
//! `dashboard.rs` listens, with the options of `options.rs`. `routes.rs` has the paths and refuses
//! foreign requests, `filters.rs` the handlers of filters, and `failure.rs` the errors. `state.rs`
//! is what they share: `names.rs` lists the filters repeatedly in the background, `attached.rs` is
//! a filter that was looked up. `describe.rs` puts numbers into the JSON that the page knows from
//! `mayhap serve`, `keys.rs` queries and adds keys as the command line does, `server.rs` has the
//! numbers of the server as a whole. The load of the server is bounded: a page shows numbers only
//! of the filters on the screen, from 16 KiB of their bits.

mod attached;
mod dashboard;
mod describe;
mod failure;
mod filters;
mod keys;
mod names;
mod options;
mod routes;
mod server;
mod state;

pub use dashboard::Dashboard;
pub use options::{Options, Words};
