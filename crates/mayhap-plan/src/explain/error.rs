//! What cannot be explained.

use std::fmt;

/// Why a key cannot be drawn.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub enum ExplainError {
    /// No array has this shape.
    Shape(mayhap::Error),
    /// A position is no whole number of 64 bits.
    NotANumber {
        /// The key.
        key: String,
        /// What stands there.
        found: String,
    },
    /// A position is past the end of the array.
    PastTheEnd {
        /// The key.
        key: String,
        /// The position.
        found: u64,
        /// The number of bits; positions are below it.
        num_bits: u64,
    },
    /// Not k positions are given for a key.
    NotK {
        /// The key.
        key: String,
        /// How many positions it has.
        found: usize,
        /// k.
        num_hashes: u32,
    },
}

impl fmt::Display for ExplainError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Shape(error) => error.fmt(f),
            Self::NotANumber { key, found } => {
                write!(f, "a position of {key:?} is {found:?}, not a whole number below 2^64")
            }
            Self::PastTheEnd { key, found, num_bits } => {
                write!(f, "a position of {key:?} is {found}, and the last bit is {}", num_bits - 1)
            }
            Self::NotK { key, found, num_hashes } => {
                write!(f, "{found} positions are given for {key:?}, and k is {num_hashes}")
            }
        }
    }
}

impl std::error::Error for ExplainError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            Self::Shape(error) => Some(error),
            _ => None,
        }
    }
}

impl From<mayhap::Error> for ExplainError {
    fn from(error: mayhap::Error) -> Self {
        Self::Shape(error)
    }
}
