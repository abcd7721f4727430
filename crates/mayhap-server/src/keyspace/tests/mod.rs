//! The keyspace over a disk that fails: `whole.rs`, filters that come with contents.

mod whole;
