//! What a window remembers, and how old a key of it is.

/// What a [`WindowBloomFilter`](crate::WindowBloomFilter) remembers at least.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Window {
    /// The last insertions.
    Items(u64),
    /// The keys that were inserted at most `span` ago.
    Time {
        /// How long, in the unit of the times that the caller passes.
        span: u64,
        /// The keys that are expected in a span.
        expected_items: u64,
    },
}

impl Window {
    /// The keys of a window, w or as expected.
    pub(super) const fn expected_items(self) -> u64 {
        match self {
            Self::Items(items) | Self::Time { expected_items: items, .. } => items,
        }
    }
}

/// How old a key is: how long ago it was inserted last.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Age {
    /// Generations begun since: 0 if it was inserted in the present one.
    pub generations: u32,
    /// At least so many keys were counted since, or at least so much time has passed.
    pub at_least: u64,
    /// At most so many keys were counted since, or at most so much time has passed.
    pub at_most: u64,
}
