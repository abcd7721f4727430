//! Clients that others have written, against `mayhap serve` itself.
#![cfg(feature = "server")]

// The table of answers of the server's crate.
#[path = "../../../mayhap-server/tests/it/conformance/mod.rs"]
mod conformance;
// The golden files of the formats crate, and how they are read.
#[allow(dead_code)]
#[path = "../../../mayhap-formats/tests/it/golden.rs"]
mod golden;
mod moves;
mod page;
mod redis_cli;
mod refusals;
mod rust;
mod server;
mod table;
