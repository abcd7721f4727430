//! The dashboard of filters in a browser.
//!
//! `page/` has its files, which [`files`] returns; [`caller`] refuses pages of other sites,
//! [`events`] writes the stream of numbers, [`history`] keeps the last hour of them, [`path`] has
//! names in paths, [`text`] shortens texts that answers repeat. `mayhap-server` serves its own
//! filters with them, and those in a store with `store.rs` (feature `store`). `remote/` (feature
//! `remote`) is a server of its own, for the filters on any Redis or Valkey.

#![cfg_attr(docsrs, feature(doc_cfg))]
#![forbid(unsafe_code)]

// | file | contents |
// |---|---|
// | `caller.rs` | who sent a request: under which name, and from a page of which site |
// | `events.rs` | the stream of numbers, as server-sent events |
// | `files.rs` | the files of the page, which are in the program |
// | `history.rs` | the last hour of filters, within a bounded memory |
// | `path.rs` | a filter's name in a path |
// | `remote/` | the dashboard of any Redis or Valkey server, or a cluster of them |
// | `store.rs` | filters on Redis or Valkey, in the JSON that the page knows |
// | `text.rs` | texts of requests in answers: a part of them |

pub mod caller;
pub mod events;
pub mod files;
pub mod history;
pub mod path;
#[cfg(feature = "remote")]
pub mod remote;
#[cfg(feature = "store")]
pub mod store;
pub mod text;
