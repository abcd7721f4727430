//! Filters on real servers: one binary, one module per promise.

mod chaos;
mod chaos_load;
mod cluster;
mod create;
mod faults;
mod life;
mod native;
