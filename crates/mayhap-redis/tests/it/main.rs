//! Filters on real servers, one module for each layout.

mod bf;
mod bf_server;
mod common;
// The golden files of the formats crate, and how they are read.
#[allow(dead_code)]
#[path = "../../../mayhap-formats/tests/it/golden.rs"]
mod golden;
mod magnus;
mod proxy;
mod redisson;
