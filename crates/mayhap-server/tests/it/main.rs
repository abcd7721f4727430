//! The server's promises: one binary, one module per promise.

mod config;
// mod http;
mod keyspace;
mod support;
mod wire;
