//! The binary, driven as its users do.

mod check;
mod cookbook;
mod dedup;
mod files;
mod hostile;
mod kinds;
mod manners;
mod paper_cuts;
mod plot;
mod state;
mod support;
mod verbs;
