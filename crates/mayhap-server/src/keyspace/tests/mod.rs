//! The keyspace over a disk that fails: `whole.rs`, filters that come with contents, `order.rs`,
//! what is acknowledged and what is refused, `recovery.rs`, what comes back at start, `upkeep.rs`,
//! what is looked after. Its table: `table.rs`.

mod order;
mod recovery;
mod table;
mod upkeep;
mod whole;
