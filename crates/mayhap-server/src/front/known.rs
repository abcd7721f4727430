//! The handles that are kept, and when each was last seen to be of the filter that has its name.
//!
//! A call notices that bits are missing, but not that only the parameters are: they are read least
//! often, and so evicted first. Then another filter may be created in their place, and a server
//! that went on with the bits of the old one would acknowledge keys that no other finds.

use mayhap_redis::NativeFilter;
use std::collections::HashMap;
use std::time::{Duration, Instant};

/// The number of filters whose handles are kept.
const MAX_KNOWN: usize = 10_000;
/// A handle is trusted this long.
const TRUST: Duration = Duration::from_secs(1);

/// Handles, by the names of their filters.
#[derive(Debug, Default)]
pub(super) struct Known(HashMap<Box<str>, Kept>);

#[derive(Debug)]
struct Kept {
    filter: NativeFilter,
    /// When it was last seen to be the filter of this name.
    confirmed: Instant,
    /// When a request last tried to find that out.
    tried: Option<Instant>,
    /// When the store last did not tell.
    silent: Option<Instant>,
}

impl Known {
    /// The handle for this name, and whether the request has to confirm it: the first after a
    /// second, while others go on, and each one after two seconds. If the store does not tell, as
    /// while the node of the parameters is away, no other asks for a second.
    pub(super) fn get(&mut self, name: &str, now: Instant) -> Option<(NativeFilter, bool)> {
        let kept = self.0.get_mut(name)?;
        let is_recent = |at: Option<Instant>| at.is_some_and(|at| now < at + TRUST);
        let is_due = now >= kept.confirmed + TRUST
            && !is_recent(kept.silent)
            && (now >= kept.confirmed + 2 * TRUST || !is_recent(kept.tried));
        if is_due {
            kept.tried = Some(now);
        }
        Some((kept.filter.clone(), is_due))
    }

    /// Notes whether the store has told, to a request that tried at this time, that the handle is
    /// of the filter of this name.
    pub(super) fn note(&mut self, name: &str, tried: Instant, is_told: bool) {
        if let Some(kept) = self.0.get_mut(name) {
            if is_told {
                kept.confirmed = kept.confirmed.max(tried);
            } else {
                kept.silent = Some(Instant::now());
            }
        }
    }

    /// Keeps a handle that was made now.
    pub(super) fn put(&mut self, name: &str, filter: NativeFilter) {
        if self.0.len() >= MAX_KNOWN {
            // They are found again, in one round trip each.
            self.0.clear();
        }
        let kept = Kept { filter, confirmed: Instant::now(), tried: None, silent: None };
        self.0.insert(name.into(), kept);
    }

    pub(super) fn remove(&mut self, name: &str) {
        self.0.remove(name);
    }

    pub(super) fn names(&self) -> impl Iterator<Item = &str> {
        self.0.keys().map(|name| &**name)
    }
}
