//! How lists of keys are read, and what their readers should know of them.

use super::Ends;
use std::fmt;

/// How lists of keys are read.
#[derive(Debug, Clone, Copy)]
pub struct Reading {
    /// Takes bytes as they stand: nothing is decompressed, refused or left out of keys.
    pub raw: bool,
    /// Hands out tens of thousands of lines at a time, as many as there are: for filters on a
    /// server, where each batch waits for a round trip.
    pub gathers: bool,
    /// The longest line.
    pub max_line: usize,
}

impl Default for Reading {
    /// Lists are seen to be lists, lines have at most 64 MiB, and batches are small.
    fn default() -> Self {
        Self { raw: false, gathers: false, max_line: 64 << 20 }
    }
}

/// What of an input's lines is no part of their keys. `Display` says it in a sentence.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Note {
    /// The byte-order mark before the first line of this input.
    ByteOrderMark(String),
    /// The carriage returns that end the lines of this one, though that was not requested.
    CarriageReturns(String),
}

impl Note {
    /// The notes for an input of this name.
    pub(crate) fn of(ends: Ends, name: &str, strips_cr: bool) -> Vec<Self> {
        let bom = ends.bom.then(|| Self::ByteOrderMark(name.into()));
        let cr = (ends.crlf && !strips_cr).then(|| Self::CarriageReturns(name.into()));
        bom.into_iter().chain(cr).collect()
    }
}

impl fmt::Display for Note {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::ByteOrderMark(name) => {
                write!(
                    f,
                    "{name} begins with a byte-order mark, which is not part of the first \
                           key"
                )
            }
            Self::CarriageReturns(name) => {
                write!(f, "the lines of {name} end with CR LF; the CR is not in their keys")
            }
        }
    }
}
