//! The binary, driven as its users do.

mod check;
mod dedup;
mod files;
mod filter;
mod kinds;
mod manners;
mod merge;
mod plot;
mod state;
mod support;
mod verify;
