//! A filter that is sized but not created.

use super::filter::Contents;
use super::own::{Own, Owned};
use crate::keyspace::Shape;
use mayhap::{DigestFunction, Error};
use std::fmt;
use std::sync::Arc;

/// Below this number of keys a filter's rate depends on the luck of its few keys, and it costs 4
/// KiB at most, so smaller ones are sized for this many.
pub const FEWEST_ITEMS: u64 = 2_048;

type Build = dyn Fn(DigestFunction) -> Result<Box<dyn Contents>, Error> + Send + Sync;

/// A filter that is sized but not created.
#[derive(Clone)]
pub(in crate::keyspace) struct Plan {
    /// Bytes of its bits.
    pub(in crate::keyspace) num_bytes: u64,
    build: Arc<Build>,
}

impl Plan {
    pub(super) fn new<F: Own>(
        shape: Shape,
        num_bytes: u64,
        build: impl Fn(DigestFunction) -> Result<F, Error> + Send + Sync + 'static,
    ) -> Self {
        let build =
            move |function| Ok(Box::new(Owned::new(build(function)?, shape)) as Box<dyn Contents>);
        Self { num_bytes, build: Arc::new(build) }
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
