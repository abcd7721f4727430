//! The filters by name.
//!
//! `entry.rs` is one filter with what belongs to it, `spec.rs` what it was asked to be, `filter.rs` the kinds.

mod entry;
mod spec;

pub use entry::Entry;
pub use spec::Spec;

use std::sync::Arc;

/// The filters by name. Asking takes no lock.
#[derive(Debug, Default)]
pub struct Keyspace {
    names: papaya::HashMap<Box<[u8]>, Arc<Entry>>,
}

impl Keyspace {
    /// The filter of this name, if there is one that has not expired.
    pub fn get(&self, name: &[u8], now: u64) -> Option<Arc<Entry>> {
        let names = self.names.pin();
        names.get(name).filter(|entry| !entry.is_expired(now)).cloned()
    }
}
