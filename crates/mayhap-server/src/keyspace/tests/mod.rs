//! The keyspace over a disk that fails: `whole.rs`, filters that come with contents, `upkeep.rs`,
//! what is looked after. Its table: `table.rs`.

mod table;
mod upkeep;
mod whole;
