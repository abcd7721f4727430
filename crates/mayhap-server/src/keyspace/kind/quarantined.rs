//! Filters that could not be recovered: their names are taken, and every command is an error.

use super::Filter;
use crate::keyspace::{Info, Measured, Unreadable};
use mayhap::DigestFunction;
use std::sync::Arc;

/// A filter that could not be recovered, for a reason.
#[derive(Debug)]
pub(in crate::keyspace) struct Quarantined {
    why: Arc<str>,
}

impl Quarantined {
    pub(in crate::keyspace) fn new(why: String) -> Self {
        Self { why: why.into() }
    }
}

impl Filter for Quarantined {
    fn kind(&self) -> &'static str {
        "quarantined"
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

    fn is_quarantined(&self) -> bool {
        true
    }

    fn changed(&self) -> Option<Unreadable> {
        Some(Unreadable::Quarantined(self.why.clone()))
    }

    fn changed_at(&self, _now: u64) -> Option<Unreadable> {
        self.changed()
    }
}
