//! The extent of a window, and the age of its keys.

use crate::Error;
use crate::sizing::check_items;

/// The keys that a [`WindowBloomFilter`](crate::WindowBloomFilter) remembers at least.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Window {
    /// The last insertions.
    Items(u64),
    /// The keys that were inserted at most `span` ago.
    Time {
        /// The length, in the unit of the times that the caller passes.
        span: u64,
        /// The number of keys expected in a span.
        expected_items: u64,
    },
}

impl Window {
    /// The number of keys of a window, w or as expected.
    pub(super) const fn expected_items(self) -> u64 {
        match self {
            Self::Items(items) | Self::Time { expected_items: items, .. } => items,
        }
    }

    /// w: keys or time.
    pub(super) const fn size(self) -> u64 {
        match self {
            Self::Items(size) | Self::Time { span: size, .. } => size,
        }
    }

    pub(super) fn check(self) -> Result<(), Error> {
        check_items(self.expected_items())?;
        Error::check_range("window_time", 1..=u64::MAX, self.size())
    }
}

/// The age of a key: how long ago it was last inserted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Age {
    /// Generations begun since then: 0 if it was inserted in the current one.
    pub generations: u32,
    /// At least this many keys were inserted since then, or at least this much time has passed.
    pub at_least: u64,
    /// At most this many keys were inserted since then, or at most this much time has passed.
    pub at_most: u64,
}
