//! Files of `import/` that could not be opened: their names are taken, and no query is answered.

use super::Filter;
use crate::keyspace::{Info, Measured, Unreadable};
use mayhap::DigestFunction;

/// A file that is no whole filter, or could not be read: why.
#[derive(Debug)]
pub(in crate::keyspace) struct Unopened(pub(in crate::keyspace) Unreadable);

impl Filter for Unopened {
    fn kind(&self) -> &'static str {
        "unreadable"
    }

    fn digest_function(&self) -> Option<DigestFunction> {
        None
    }

    fn info(&self) -> Info {
        Info::new(self.kind(), 0, 0)
    }

    fn items(&self) -> u64 {
        0
    }

    fn num_bytes(&self) -> u64 {
        0
    }

    fn num_hashes(&self) -> u32 {
        0
    }

    fn measure(&self) -> Measured {
        Measured { fill_ratio: 0.0, estimated_fpp: 0.0, fill_alarm: None }
    }

    fn changed(&self) -> Option<Unreadable> {
        Some(self.0.clone())
    }

    fn changed_at(&self, _now: u64) -> Option<Unreadable> {
        self.changed()
    }
}
