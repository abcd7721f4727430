//! The keyspace over a disk that fails: `whole.rs`, filters created with contents, `order.rs`,
//! acknowledged and refused changes, `recovery.rs`, restoring at start, `upkeep.rs`, maintenance,
//! `load.rs`, chunks in and out, `fold.rs`, filters that shrink, `unite.rs`, filters in pieces. Its
//! table: `table.rs`.

mod fold;
mod load;
mod order;
mod recovery;
mod table;
mod unite;
mod upkeep;
mod whole;
