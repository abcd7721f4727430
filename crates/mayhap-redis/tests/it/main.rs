//! Filters on real servers: one binary, one module per promise.

mod acl;
mod between;
mod bf;
mod bf_mayhap;
mod chaos;
mod chaos_load;
mod cluster;
mod common;
mod create;
mod cut;
mod failovers;
mod faults;
mod guard;
mod life;
mod magnus;
mod native;
mod observe;
mod proxy;
mod redisson;
mod rename;
mod sentinel;
mod tls;
mod trouble;
mod undone;
mod union;
mod waits;

use test_data::golden;
