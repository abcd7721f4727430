//! The public behaviour of `mayhap-redis`: one module per promise.

mod guard;
