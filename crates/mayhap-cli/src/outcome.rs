//! How a verb ended, if no error did.

/// How a verb ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Outcome {
    /// Did something, or found something.
    Done,
    /// Found nothing.
    Nothing,
    /// Found that something is not as it should be.
    Off,
}
