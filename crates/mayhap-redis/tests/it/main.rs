//! Filters on real servers: one binary, one module per promise.

mod native;
