//! The keyspace over a disk that fails: `whole.rs`, filters that come with contents. Its table:
//! `table.rs`; what comes back at start: `recovery.rs`;
//! in which order: `order.rs`.

mod order;
mod recovery;
mod table;
mod whole;
