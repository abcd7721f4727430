//! The server's promises: one binary, one module per promise.

mod command;
mod config;
mod conformance;
mod keyspace;
mod support;
mod wire;
mod wire_hostile;
mod wire_log;
mod wire_tls;
#[cfg(unix)]
mod wire_unix;
