//! The server's promises: one binary, one module per promise.

mod attack;
mod attack_limits;
mod attack_loads;
mod attack_murmur;
mod attack_promise;
mod command;
mod command_bounds;
mod command_dump;
mod command_matrix;
mod command_page;
mod command_rights;
mod command_table;
mod command_transaction;
mod config;
mod embed;
mod hostile_names;
mod http;
mod http_guard;
mod http_limits;
mod http_metrics;
mod http_tls;
mod http_ui;
mod keyspace;
mod keyspace_counts;
mod keyspace_dump;
mod keyspace_files;
mod keyspace_growth;
mod keyspace_limits;
mod keyspace_memory;
mod keyspace_promise;
mod keyspace_recovery;
mod keyspace_threads;
mod strangers;
mod support;
mod tools;
mod truth;
mod wire;
mod wire_hostile;
mod wire_jobs;
mod wire_live;
mod wire_log;
mod wire_tls;
#[cfg(unix)]
mod wire_unix;

use test_data::conformance;
