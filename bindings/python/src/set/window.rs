//! Filters that forget: the last keys, or the keys of the last seconds.
//!
//! Windows of time count milliseconds since 1970, as the command's do.

use super::{Set, Stats};
use crate::error::Error;
use crate::state::{Kept, keep};
use mayhap::{Bitmap, Digest, Health, Window, WindowBloomFilter};
use std::time::{SystemTime, UNIX_EPOCH};

/// The time of a window: milliseconds since 1970, and 0 before.
pub(crate) fn now() -> u64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    u64::try_from(since.as_millis()).unwrap_or(u64::MAX)
}

/// The time, for windows that need it.
fn time_of(window: &WindowBloomFilter) -> u64 {
    match window.window() {
        Window::Time { .. } => now(),
        _ => 0,
    }
}

impl Set for WindowBloomFilter {
    fn contains_digest(&self, digest: Digest) -> bool {
        self.contains_digest_at(digest, time_of(self))
    }

    fn contains_digests_into(&self, digests: &[Digest], found: &mut Bitmap) {
        self.contains_digests_at_into(digests, time_of(self), found);
    }

    fn insert_digest(&mut self, digest: Digest) -> Result<bool, Box<Error>> {
        let time = time_of(self);
        Ok(self.insert_digest_at(digest, time))
    }

    fn insert_digests_into(&mut self, digests: &[Digest], new: &mut Bitmap) -> Result<(), Error> {
        self.advance(time_of(self));
        self.insert_digests_into(digests, new);
        Ok(())
    }

    fn inserted_items(&self) -> u64 {
        self.inserted_items()
    }

    fn inserted_when_full(&self) -> Option<u64> {
        None
    }

    fn stats(&self) -> Stats {
        Stats {
            kind: "window",
            layout: None,
            expected_items: self.expected_items(),
            target_fpp: self.target_fpp(),
            num_bits: self.num_bits(),
            num_hashes: self.num_hashes(),
            num_bytes: self.num_bytes(),
            inserted_items: self.inserted_items(),
        }
    }

    fn fill_ratio(&self) -> f64 {
        self.fill_ratio()
    }

    fn estimated_fpp(&self) -> f64 {
        self.estimated_fpp()
    }

    fn expected_fpp(&self) -> f64 {
        self.expected_fpp_now()
    }

    fn distinct_items(&self) -> f64 {
        self.inserted_items() as f64
    }

    fn health(&self) -> Health {
        self.health()
    }

    fn union_with(&mut self, _other: &dyn Set) -> Result<(), Error> {
        Err(Error::NotOfKind { operation: "union: its keys have an order", kind: "window" })
    }

    fn clear(&mut self) -> Result<(), Error> {
        self.clear();
        Ok(())
    }

    fn into_kept(self: Box<Self>) -> Result<Box<dyn Kept>, Error> {
        Ok(keep(*self))
    }
}
