//! The dashboard of filters in a browser.
//!
//! `page/` has its files, which [`files`] hands out; [`caller`] refuses pages of other sites,
//! [`events`] writes the stream of numbers, [`path`] names in paths, [`text`]
//! shortens what answers repeat. `mayhap-server` serves its own
//! filters with them. `remote/` (feature `remote`) is a server of its own, for the filters on any
//! Redis or Valkey.

#![forbid(unsafe_code)]

pub mod caller;
pub mod events;
pub mod files;
pub mod path;
#[cfg(feature = "remote")]
pub mod remote;
pub mod text;
