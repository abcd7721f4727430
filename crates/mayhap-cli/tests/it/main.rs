//! The binary, driven as its users do.

mod bench;
mod check;
mod completions;
mod cookbook;
mod crash;
mod dedup;
mod exact;
mod files;
mod filter;
mod foreign;
mod foreign_files;
mod help;
mod hostile;
mod keys;
mod kinds;
mod manners;
mod merge;
mod paper_cuts;
mod plan;
mod plot;
mod state;
mod support;
mod verbs;
mod verify;
mod window;
