//! The options for reading lists of keys, and the notes about them.

use mayhap_units::number::counted;
use std::fmt;

/// The options for reading lists of keys.
#[derive(Debug, Clone, Copy)]
pub struct Reading {
    /// Takes bytes as they are: nothing is decompressed or refused, and a mark is part of the first
    /// key.
    pub raw: bool,
    /// Lines are known to end with CR LF: no note is needed.
    pub expects_cr: bool,
    /// Hands out tens of thousands of lines at a time, as many as there are: for filters on a
    /// server, where each batch waits for a round trip.
    pub gathers: bool,
    /// The longest line.
    pub max_line: usize,
}

impl Default for Reading {
    /// Lists are checked to be lists, lines have at most 64 MiB, and batches are small.
    fn default() -> Self {
        Self { raw: false, expects_cr: false, gathers: false, max_line: 64 << 20 }
    }
}

/// A note about an input. `Display` writes it as a sentence.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Note {
    /// The byte-order mark before the first line of this input.
    ByteOrderMark(String),
    /// This input has this number of zero bytes after its compressed data.
    Padding(String, u64),
}

impl fmt::Display for Note {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::ByteOrderMark(name) => {
                write!(
                    f,
                    "{name} begins with a byte-order mark, which is not part of the first key"
                )
            }
            Self::Padding(name, bytes) => {
                let bytes = counted(*bytes, "zero byte");
                write!(f, "{name} has {bytes} after its compressed data, which are ignored")
            }
        }
    }
}
