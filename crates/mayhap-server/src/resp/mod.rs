//! The Redis protocol as bytes: requests to words, answers to bytes.
//!
//! No socket and no allocation by a declared length: `request.rs` finds the words of a request in
//! the received bytes, with the numbers that `number.rs` reads, `inline.rs` those of a line that a
//! person typed. `skip.rs` passes by a request that is larger than `limits.rs` allows,
//! `malformed.rs` is why bytes are no request. `reply.rs` writes answers in either version of the
//! protocol, `word_list.rs` keeps words.

mod inline;
mod limits;
mod malformed;
mod number;
mod reply;
mod request;
mod skip;
mod word_list;

pub use limits::Limits;
pub use malformed::Malformed;
pub use reply::{Reply, Value};
pub use request::Parser;
pub(crate) use word_list::WordList;
