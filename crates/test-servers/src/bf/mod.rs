//! A stand-in for servers with `BF.*` commands, which cannot be installed everywhere.
//!
//! It answers in the words and shapes of `RedisBloom` 8.8 in Redis 8 and of valkey-bloom 1.0.1 in
//! Valkey 8, on RESP2 and with one database, and has the commands that clients of mayhap send to
//! them; every other one is an unknown command, in the words of these servers. A filter of
//! `RedisBloom` is one of `mayhap-formats`, so `BF.SCANDUMP` and `BF.LOADCHUNK` move its real
//! bytes. A filter of valkey-bloom has its layers and its parameters, with hashes of our own; it
//! has no dump.
//!
//! `server.rs` listens, `table.rs` has a row for each command, `call.rs` is a command with its
//! context; `filters.rs`, `dump.rs`, `keys.rs` and `connection.rs` execute commands. `keyspace.rs`
//! keeps names and their expiry, `filter.rs` and `valkey.rs` are filters, `reservation.rs` reads
//! the arguments of new ones; `dialect.rs` has the words that differ, `reply.rs` the form of
//! answers.

mod call;
mod connection;
mod dialect;
mod dump;
mod filter;
mod filters;
mod keys;
mod keyspace;
mod reply;
mod reservation;
mod server;
mod table;
mod valkey;

pub use dialect::Dialect;
pub use server::BfServer;
