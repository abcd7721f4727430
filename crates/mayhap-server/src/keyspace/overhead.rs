//! What a filter costs beside its bits: charged to `max_memory` as they are.

use super::Keyspace;
use mayhap::{Charge, Error};

/// Memory of a filter without its bits: it and what belongs to it, two maps, its part of the pages
/// of the allocator. Measured: a million filters of 256 bytes made by `BF.ADD`, names of 8 bytes,
/// take 1,724 bytes each, bits and names included (x86-64, mimalloc). The rest is for pages that
/// the allocator has and does not use while filters come and go.
const FILTER_BYTES: u64 = 2 << 10;
/// A name is in memory once; while a checkpoint or a list of all filters is written, up to three
/// more times.
const COPIES_OF_NAME: u64 = 4;

/// What a filter of a name of so many bytes costs beside its bits.
pub fn overhead_bytes(name_bytes: usize) -> u64 {
    FILTER_BYTES + COPIES_OF_NAME * name_bytes as u64
}

impl Keyspace {
    /// Charges what a new filter of this name costs beside its bits.
    pub(super) fn charge_overhead(&self, name: &[u8]) -> Result<Charge, Error> {
        self.budget.charge(overhead_bytes(name.len()))
    }

    /// The same for one that is there already, whatever the limit is by now.
    pub(super) fn force_overhead(&self, name: &[u8]) -> Charge {
        let charge = self.budget.empty();
        charge.force(overhead_bytes(name.len()));
        charge
    }
}
