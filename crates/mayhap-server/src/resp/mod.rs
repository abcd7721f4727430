//! The Redis protocol as bytes: requests to words, answers to bytes.
//!
//! No socket and no allocation by a declared length: `request.rs` finds the words of a request in
//! what has arrived, `reply.rs` writes answers in either version of the protocol.

mod reply;
mod request;

pub use reply::Reply;
pub use request::{Limits, Malformed, Parser, Words};
