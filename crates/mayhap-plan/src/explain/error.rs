//! The errors of explanations.

/// The reason why a key cannot be drawn.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum ExplainError {
    /// No array has this shape.
    #[error("{0}")]
    Shape(#[from] mayhap::Error),
    /// A position is no whole number of 64 bits.
    #[error("a position of {key:?} is {found:?}, not a whole number below 2^64")]
    NotANumber {
        /// The key.
        key: String,
        /// The text found.
        found: String,
    },
    /// A position is past the end of the array.
    #[error("a position of {key:?} is {found}, and the last bit is {}", .num_bits - 1)]
    PastTheEnd {
        /// The key.
        key: String,
        /// The position.
        found: u64,
        /// The number of bits; positions are below it.
        num_bits: u64,
    },
    /// Not k positions are given for a key.
    #[error("{found} positions are given for {key:?}, and k is {num_hashes}")]
    NotK {
        /// The key.
        key: String,
        /// The number of positions that it has.
        found: usize,
        /// k.
        num_hashes: u32,
    },
}
