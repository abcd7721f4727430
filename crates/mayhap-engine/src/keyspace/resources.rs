//! Resources that the filters of a keyspace share: its limits, its memory, computed sizes, and the
//! thread that allocates layers.

use super::create::Pages;
use super::error::FILTER_BYTES;
use super::growth::Growth;
use super::kind::{Contents, Filter, Home};
use super::sizes::Sizes;
use super::{CreateError, Options, Spec};
use mayhap::{Budget, Charge, Error};
use std::ops::RangeInclusive;
use std::sync::Arc;

/// Memory of a filter without its bits: the object and its state, two maps, its share of the pages
/// of the allocator. Counted by `tests/small.rs`, with names of 8 bytes, in the sizes of mimalloc:
/// 712 to 792 bytes of most kinds, 1,096 of a compact filter (x86-64). The rest is for pages that
/// the allocator holds unused while filters come and go.
const OVERHEAD_BYTES: u64 = 1_152;
/// The object of a filter up to this size is part of that.
const OBJECT_BYTES: u64 = 640;
/// A name is in memory once; while a checkpoint or a list of all filters is written, up to three
/// more times.
const COPIES_OF_NAME: u64 = 4;

/// Filters of these sizes have their pages before they are used ([`Pages::AtOnce`]). Smaller ones
/// have few; larger ones take long, and may be meant for keys of years.
const PROVIDED_BYTES: RangeInclusive<u64> = 1 << 20..=64 << 20;

/// The memory of a filter with a name of this length, apart from its bits; a window has 2 KiB more.
pub fn overhead_bytes(name_bytes: usize) -> u64 {
    OVERHEAD_BYTES + COPIES_OF_NAME * name_bytes as u64
}

/// Bytes of a filter's object beyond those of [`overhead_bytes`]: a window has the numbers of its
/// columns there.
pub(super) fn large_object_bytes(filter: &dyn Filter) -> u64 {
    (size_of_val(filter) as u64).saturating_sub(OBJECT_BYTES)
}

/// Resources that the filters of a keyspace share.
#[derive(Debug)]
pub(super) struct Resources {
    pub(super) options: Options,
    pub(super) budget: Arc<Budget>,
    pub(super) sizes: Sizes,
    pub(super) growth: Arc<Growth>,
}

impl Resources {
    pub(super) fn new(options: Options) -> Self {
        let budget = Budget::new(options.max_memory);
        Self { options, budget, sizes: Sizes::default(), growth: Arc::default() }
    }

    /// Charges the bytes of a filter, which has to be done before it is created.
    pub(super) fn charge(&self, bytes: u64) -> Result<Charge, Error> {
        let limit = self.options.max_filter_bytes;
        if bytes > limit {
            return Err(Error::TooLarge { field: FILTER_BYTES, limit, found: bytes });
        }
        self.budget.charge(bytes)
    }

    /// Charges what an existing filter of this name costs in addition to its bits, whatever the
    /// limit is by now.
    pub(super) fn force_overhead(&self, name: &[u8]) -> Charge {
        let charge = self.budget.empty();
        charge.force(overhead_bytes(name.len()));
        charge
    }

    /// An empty filter. Its memory is charged before it is allocated.
    pub(super) fn create(&self, spec: &Spec, pages: Pages) -> Result<Box<dyn Filter>, CreateError> {
        let plan = self.sizes.get(spec).map_err(|error| self.options.explain(spec, error))?;
        let charge = self.charge(plan.num_bytes)?;
        let mut contents = plan.build(self.options.digest_function(spec.hash))?;
        if pages == Pages::AtOnce && PROVIDED_BYTES.contains(&plan.num_bytes) {
            contents.write_zeros();
        }
        Ok(self.filter(contents, charge))
    }

    /// An empty filter for one owner, not charged.
    pub(super) fn empty(&self, spec: &Spec) -> Result<Box<dyn Contents>, Error> {
        self.sizes.get(spec)?.build(self.options.digest_function(spec.hash))
    }

    /// A filter for many threads. `charge` has its bytes.
    pub(super) fn filter(&self, contents: Box<dyn Contents>, charge: Charge) -> Box<dyn Filter> {
        contents.into_filter(self.home(), charge)
    }

    /// The same for an existing filter, whatever the limit is by now.
    pub(super) fn force(&self, contents: Box<dyn Contents>) -> Box<dyn Filter> {
        let charge = self.budget.empty();
        charge.force(contents.num_bytes());
        self.filter(contents, charge)
    }

    pub(super) const fn home(&self) -> Home<'_> {
        Home { max_filter_bytes: self.options.max_filter_bytes, growth: &self.growth }
    }
}
