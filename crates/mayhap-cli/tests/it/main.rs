//! The binary, driven as its users do.

mod check;
mod dedup;
mod files;
mod kinds;
mod manners;
mod state;
mod support;
