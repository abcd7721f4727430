//! The engine's promises: one binary, one module per promise.

mod capacities;
mod import_keys;
mod keyspace;
mod keyspace_compact;
mod keyspace_counts;
mod keyspace_dump;
mod keyspace_files;
mod keyspace_fold;
mod keyspace_forgetting;
mod keyspace_frozen;
mod keyspace_growth;
mod keyspace_limits;
mod keyspace_memory;
mod keyspace_promise;
mod keyspace_recovery;
mod keyspace_replace;
mod keyspace_small_dump;
mod keyspace_threads;
mod keyspace_unite;
mod windows;
