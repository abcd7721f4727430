//! The dashboard: `/ui`, in any browser.
//!
//! Its files are those of `mayhap-dashboard`. `routes.rs` has its paths; `events.rs` is the stream
//! of numbers, once a second; `history.rs` keeps the last hour of them; `people.rs` lists clients
//! and slow requests; `in_store.rs` has the numbers of filters in a store. Filters are listed,
//! queried and filled through `/v1`, so the rights are the same as for the rest of HTTP.

mod events;
mod history;
mod in_store;
mod people;
mod routes;

pub(super) use history::record;
pub(super) use routes::router;
