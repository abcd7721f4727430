//! The Redis protocol as bytes: requests to words, answers to bytes.
//!
//! No socket and no allocation by a declared length: `request.rs` finds the words of a request in
//! what has arrived, `inline.rs` those of a line that a person typed, `reply.rs` writes answers in
//! either version of the protocol.

mod inline;
mod reply;
mod request;

pub use reply::Reply;
pub use request::{Limits, Malformed, Parser, Words};
