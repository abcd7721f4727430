//! How lists of keys are read.

use crate::io::messages::Talk;

/// How lists of keys are read.
#[derive(Debug, Clone, Copy)]
pub struct Reading {
    /// The verb, for the next step after an error.
    pub verb: &'static str,
    /// Takes bytes as they stand: nothing is decompressed, refused or left out of keys.
    pub raw: bool,
    /// Hands out tens of thousands of lines at a time, as many as there are: for filters on a
    /// server, where each batch waits for a round trip.
    pub gathers: bool,
    /// The longest line.
    pub max_line: usize,
    /// Where it is said what is left out of keys.
    pub talk: Talk,
}
