//! The server's promises: one binary, one module per promise.

mod command;
mod conformance;
mod keyspace;
