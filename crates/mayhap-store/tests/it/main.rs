//! The public behaviour of `mayhap-store`: one module per promise.
#![cfg(unix)]

mod common;
mod digests;
mod faults;
mod files;
mod golden;
mod headers;
mod kept_log;
mod kinds;
mod live;
mod live_kinds;
mod lock;
mod log;
mod map;
mod merge;
mod page_checks;
mod save;
mod segments;
mod short;
