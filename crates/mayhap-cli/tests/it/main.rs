//! The binary, driven as its users do.

mod check;
mod completions;
mod dedup;
mod files;
mod keys;
mod kinds;
mod manners;
mod plan;
mod plot;
mod state;
mod support;
