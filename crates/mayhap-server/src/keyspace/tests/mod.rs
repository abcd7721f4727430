//! The keyspace over a disk that fails: `whole.rs`, filters that come with contents. Its table:
//! `table.rs`.

mod table;
mod whole;
