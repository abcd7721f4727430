//! What a guard has done so far.

use std::sync::atomic::{AtomicU64, Ordering};

macro_rules! counts {
    ($($(#[$doc:meta])* $name:ident,)*) => {
        /// What a guard has done since it was created.
        ///
        /// When no call is on its way and none was cancelled, `requests = stopped + joined +
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
                // ORDERING: Relaxed. Numbers to show, each by itself.
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
    /// Answered by an absence that the cache remembered.
    absent_confirmed,
    /// Calls of the loader.
    loads,
    /// Loads that failed.
    load_errors,
    /// Loads of a key that the filter let pass and that had no value.
    false_positives,
    /// Requests that the filter gave no answer to, or for which its circuit breaker was open.
    filter_errors,
    /// The same for the cache.
    cache_errors,
    /// Answered with the error of the filter or the cache, as [`super::Failing::Closed`] wants it.
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
