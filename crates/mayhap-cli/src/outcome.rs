//! The outcome of a verb without an error.

/// The outcome of a verb.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Outcome {
    /// Did something, or found something.
    Done,
    /// Found nothing.
    Nothing,
    /// Found a problem.
    Off,
}

impl Outcome {
    /// The outcome of looking for something.
    pub fn found(any: bool) -> Self {
        if any { Self::Done } else { Self::Nothing }
    }
}

/// Verbs that either do something or fail.
impl From<()> for Outcome {
    fn from((): ()) -> Self {
        Self::Done
    }
}
