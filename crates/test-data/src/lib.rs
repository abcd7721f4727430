//! Test data shared by several crates: [`golden`] files of other systems and their reader, and in
//! [`conformance`] the answers of the server, word for word.

#![allow(clippy::missing_panics_doc, reason = "in a test what is wrong is a panic")]

pub mod conformance;
pub mod golden;
