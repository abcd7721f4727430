//! Filters on real servers: one binary, one module per promise.

mod cluster;
mod create;
mod faults;
mod life;
mod native;
