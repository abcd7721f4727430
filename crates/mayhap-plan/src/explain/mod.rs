//! Why a filter answers as it does: the bits of a few keys, drawn and in JSON.
//!
//! `subject.rs` is a key with the bits that it has, `explanation.rs` the array of bits and the keys
//! that set them, `explanation/` its drawing, `error.rs` the refusals.

mod error;
mod explanation;
mod subject;

pub use error::ExplainError;
pub use explanation::{Explanation, Insertion, Lookup, SetBit};
pub use subject::Subject;
