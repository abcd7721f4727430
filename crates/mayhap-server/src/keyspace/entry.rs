//! A filter with what belongs to it.

use super::Spec;
use std::sync::atomic::{AtomicU64, Ordering};

/// A filter with what belongs to it.
#[derive(Debug)]
pub struct Entry {
    /// What the log calls it: a number that is never used again.
    pub id: u64,
    /// What it was asked to be.
    pub spec: Spec,
    /// Milliseconds since 1970; 0 for never.
    expires_at: AtomicU64,
}

impl Entry {
    /// Whether its time is over.
    pub fn is_expired(&self, now: u64) -> bool {
        let expires_at = self.expires_at.load(Ordering::Relaxed);
        expires_at != 0 && expires_at <= now
    }
}
