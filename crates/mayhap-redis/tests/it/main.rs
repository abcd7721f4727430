//! Filters on real servers: one binary, one module per promise.

mod guard;
mod native;
