//! What the server counts.

/// What the server counts.
#[derive(Debug, Default)]
pub struct Metrics {}
