//! What a filter was asked to be.

/// What a filter was asked to be.
#[derive(Debug, Clone, PartialEq)]
pub enum Spec {
    /// Grows with its keys and keeps `error` overall.
    Growing {
        /// Keys for which it has room at first, as asked.
        capacity: u64,
        /// The promised rate.
        error: f64,
        /// `EXPANSION`: told again; growth is ours.
        expansion: u32,
    },
    /// Says that it is full rather than grow.
    Fixed {
        /// Keys for which it has room.
        capacity: u64,
        /// The promised rate.
        error: f64,
    },
}
