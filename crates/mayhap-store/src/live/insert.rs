//! Which kinds can be alive, and how recorded digests come back into them.

use mayhap::native::{Kind, Native};
use mayhap::{
    AnyFilter, Bitmap, CountingBloomFilter, Digest, Error, ScalableBloomFilter, WindowBloomFilter,
};

/// A kind that digests can be inserted into one by one, so that a log of them can be kept.
pub trait Insert: Native {
    /// Inserts many digests in order; bit `i` of `new` tells whether `digests[i]` was new.
    ///
    /// # Errors
    ///
    /// Those of kinds that grow and cannot.
    fn insert_digests_into(&mut self, digests: &[Digest], new: &mut Bitmap) -> Result<(), Error>;
}

/// Whether inserting a digest again changes a filter of this kind, so that each record has to be
/// added exactly once.
pub(super) const fn adds_once(kind: Kind) -> bool {
    matches!(kind, Kind::Counting | Kind::Window)
}

impl Insert for AnyFilter {
    fn insert_digests_into(&mut self, digests: &[Digest], new: &mut Bitmap) -> Result<(), Error> {
        self.insert_digests_into(digests, new);
        Ok(())
    }
}

impl Insert for CountingBloomFilter {
    fn insert_digests_into(&mut self, digests: &[Digest], new: &mut Bitmap) -> Result<(), Error> {
        self.insert_digests_into(digests, new);
        Ok(())
    }
}

impl Insert for ScalableBloomFilter {
    fn insert_digests_into(&mut self, digests: &[Digest], new: &mut Bitmap) -> Result<(), Error> {
        self.insert_digests_into(digests, new)
    }
}

/// In a window of time at the latest time that was passed.
impl Insert for WindowBloomFilter {
    fn insert_digests_into(&mut self, digests: &[Digest], new: &mut Bitmap) -> Result<(), Error> {
        self.insert_digests_into(digests, new);
        Ok(())
    }
}
