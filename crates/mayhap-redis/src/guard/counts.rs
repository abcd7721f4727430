//! The counts of a guard.

use std::sync::atomic::{AtomicU64, Ordering};

macro_rules! counts {
    ($($(#[$doc:meta])* $name:ident,)*) => {
        /// Counts since the guard was created.
        ///
        /// If no call is in flight and none was cancelled, `requests = stopped + joined +
        /// cache_hits + absent_confirmed + loads + refused`.
        #[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
        #[non_exhaustive]
        pub struct GuardCounts {
            $($(#[$doc])* pub $name: u64,)*
        }

        #[derive(Debug, Default)]
        pub(super) struct Counters {
            $(pub(super) $name: Counter,)*
        }

        impl Counters {
            pub(super) fn read(&self) -> GuardCounts {
                // ORDERING: Relaxed. Independent numbers for display.
                GuardCounts { $($name: self.$name.0.load(Ordering::Relaxed),)* }
            }
        }
    };
}

counts! {
    /// Calls of `get`.
    requests,
    /// Answered by the filter: surely absent.
    stopped,
    /// Answered by the call of another task for the same key.
    joined,
    /// Answered by a value in the cache.
    cache_hits,
    /// Answered by a cached absence.
    absent_confirmed,
    /// Calls of the loader.
    loads,
    /// Loads that failed.
    load_errors,
    /// Loads of a key that passed the filter but had no value.
    false_positives,
    /// Requests that the filter did not answer, or for which its circuit breaker was open.
    filter_errors,
    /// The same for the cache.
    cache_errors,
    /// Answered with the error of the filter or the cache, under [`super::Failing::Closed`].
    refused,
}

/// A number that many tasks add to.
#[derive(Debug, Default)]
pub(super) struct Counter(AtomicU64);

impl Counter {
    pub(super) fn add(&self) {
        // ORDERING: Relaxed. The count guards no other memory.
        self.0.fetch_add(1, Ordering::Relaxed);
    }
}
