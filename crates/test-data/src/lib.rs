//! What the tests of several crates share: [`golden`] files of other systems and how they are read,
//! and in [`conformance`] the answers of the server, word for word.

pub mod conformance;
pub mod golden;
