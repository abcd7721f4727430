//! Filters on real servers: one binary, one module per promise.

mod between;
mod bf;
mod bf_mayhap;
mod bf_server;
mod chaos;
mod chaos_load;
mod cluster;
mod common;
mod create;
mod faults;
// The golden files of the formats crate, and how they are read.
#[allow(dead_code)]
#[path = "../../../mayhap-formats/tests/it/golden.rs"]
mod golden;
mod guard;
mod life;
mod magnus;
mod native;
mod proxy;
mod redisson;
mod trouble;
mod union;
