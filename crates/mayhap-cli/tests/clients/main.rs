//! Clients that others have written, against `mayhap serve` itself.
#![cfg(feature = "server")]

mod moves;
mod page;
mod redis_cli;
mod refusals;
mod rust;
mod server;
mod table;

use test_data::{conformance, golden};
