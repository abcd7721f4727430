//! The server's promises: one binary, one module per promise.

mod attack;
mod attack_limits;
mod attack_loads;
mod attack_murmur;
mod attack_promise;
mod backup;
mod capacities;
mod command;
mod command_bounds;
mod command_dump;
mod command_matrix;
mod command_page;
mod command_rights;
mod command_table;
mod command_transaction;
mod config;
mod config_environment;
mod embed;
mod hostile_names;
mod http;
mod http_contract;
mod http_digests;
mod http_door;
mod http_guard;
mod http_limits;
mod http_metrics;
mod http_names;
mod http_pairs;
mod http_parity;
mod http_replace;
mod http_shrink;
mod http_tls;
mod http_ui;
mod http_which;
#[cfg(unix)]
mod imports;
mod listen;
mod names;
mod reload;
mod secret_files;
mod slow_readers;
mod strangers;
mod strict_names;
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
