//! Filters on real servers: one binary, one module per promise.

mod bf;
mod bf_server;
mod cluster;
mod common;
mod create;
mod faults;
mod guard;
mod life;
mod native;
// The golden files of the formats crate, and how they are read.
#[allow(dead_code)]
#[path = "../../../mayhap-formats/tests/it/golden.rs"]
mod golden;
mod magnus;
mod proxy;
mod redisson;
