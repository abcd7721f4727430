//! A filter that is sized and not created.

use super::Contents;
use mayhap::{Budget, Charge, DigestFunction, Error};
use std::fmt;
use std::sync::Arc;

use crate::keyspace::Options;

/// Below this number of keys a filter's rate depends on the luck of its few keys, and it costs 4
/// KiB at most, so smaller ones are sized for this many.
pub const FEWEST_ITEMS: u64 = 2_048;

type Build = dyn Fn(DigestFunction) -> Result<Box<dyn Contents>, Error> + Send + Sync;

/// A filter that is sized and not created.
#[derive(Clone)]
pub(in crate::keyspace) struct Plan {
    num_bytes: u64,
    build: Arc<Build>,
}

impl Plan {
    pub(super) fn new<C: Contents>(
        num_bytes: u64,
        build: impl Fn(DigestFunction) -> Result<C, Error> + Send + Sync + 'static,
    ) -> Self {
        let build = move |function| Ok(Box::new(build(function)?) as Box<dyn Contents>);
        Self { num_bytes, build: Arc::new(build) }
    }

    /// Bytes of its bits.
    #[cfg(test)]
    pub(in crate::keyspace) const fn num_bytes(&self) -> u64 {
        self.num_bytes
    }

    /// Charges its bytes, which is to be done before it is built.
    pub(in crate::keyspace) fn charge(
        &self,
        options: &Options,
        budget: &Arc<Budget>,
    ) -> Result<Charge, Error> {
        options.charge(self.num_bytes, budget)
    }

    /// An empty filter.
    pub(in crate::keyspace) fn build(
        &self,
        function: DigestFunction,
    ) -> Result<Box<dyn Contents>, Error> {
        (self.build)(function)
    }
}

impl fmt::Debug for Plan {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Plan").field("num_bytes", &self.num_bytes).finish_non_exhaustive()
    }
}
