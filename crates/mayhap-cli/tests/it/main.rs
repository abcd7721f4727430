//! The binary, driven as its users do.

mod check;
mod crash;
mod dedup;
mod exact;
mod files;
mod kinds;
mod manners;
mod plot;
mod state;
mod support;
mod window;
