//! How lists of keys are read.

use crate::talk::Talk;

/// How lists of keys are read.
#[derive(Debug, Clone, Copy)]
pub struct Reading {
    /// The verb, for the next step after an error.
    pub verb: &'static str,
    /// Takes bytes as they stand: nothing is decompressed, refused or left out of keys.
    pub raw: bool,
    /// The longest line.
    pub max_line: usize,
    /// Where it is said what is left out of keys.
    pub talk: Talk,
}
