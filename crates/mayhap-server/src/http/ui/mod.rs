//! The dashboard: `/ui`, in any browser.
//!
//! `assets.rs` has its paths and its files, which are in the program; `events.rs` is the stream of
//! numbers, once a second; `people.rs` lists clients and slow requests. Filters are listed, queried
//! and filled through `/v1`, so rights are those of the rest of HTTP.

mod assets;
mod events;
mod people;

pub(super) use assets::router;
