//! The server's promises: one binary, one module per promise.

mod keyspace;
mod keyspace_dump;
mod keyspace_limits;
mod keyspace_promise;
mod keyspace_recovery;
mod keyspace_threads;
