//! The binary, driven as its users do.

mod bench;
mod check;
mod completions;
mod dedup;
mod files;
mod help;
mod kinds;
mod manners;
mod plan;
mod plot;
mod state;
mod support;
