//! Why a filter answers as it does: the bits of a few keys, drawn and in JSON.
//!
//! `subject.rs` is a key with the bits that it has, `explanation.rs` the array of bits and who set
//! which, `text.rs` its drawing, `error.rs` what is refused.

mod error;
mod explanation;
mod subject;
mod text;

pub use error::ExplainError;
pub use explanation::{Explanation, Insertion, Lookup, SetBit};
pub use subject::Subject;
