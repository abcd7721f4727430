//! Filters that are queried where they lie: in a mapped file. Pages are checked before they are
//! first read.

use super::{Saved, Set, Stats};
use crate::error::Error;
use mayhap::{AnyFilter, Bitmap, Digest, Health, OwnedBlocks};
use mayhap_store::MappedFilter;
use std::any::Any;
use std::path::Path;

/// A filter in a mapped file.
pub(crate) struct Mapped(pub MappedFilter);

fn read_only() -> Error {
    Error::ReadOnly { reason: "a mapped filter cannot be changed; open it without mmap=True" }
}

/// The filter in memory of its own.
fn owned(mapped: &MappedFilter) -> Result<AnyFilter, Error> {
    let filter = mapped.whole();
    // Before it is copied: a damaged page needs no copy.
    mapped.check()?;
    let blocks = OwnedBlocks::copy_of(filter.blocks())?;
    let (params, function) = (*filter.params(), *filter.digest_function());
    let copy = AnyFilter::from_parts(params, function, blocks, filter.inserted_items())?;
    mapped.check()?;
    Ok(copy)
}

impl Set for Mapped {
    fn contains_digest(&self, digest: Digest) -> bool {
        self.0.contains_digest(digest)
    }

    fn contains_digests_into(&self, digests: &[Digest], found: &mut Bitmap) {
        self.0.contains_digests_into(digests, found);
    }

    fn insert_digest(&mut self, _digest: Digest) -> Result<bool, Box<Error>> {
        Err(read_only().into())
    }

    fn insert_digests_into(&mut self, _: &[Digest], _: &mut Bitmap) -> Result<(), Error> {
        Err(read_only())
    }

    fn inserted_items(&self) -> u64 {
        self.0.inserted_items()
    }

    fn inserted_when_full(&self) -> Option<u64> {
        Some(self.0.params().inserted_when_full())
    }

    fn stats(&self) -> Stats {
        let params = self.0.params();
        Stats {
            kind: "bloom",
            layout: Some(params.layout().name()),
            expected_items: params.expected_items(),
            target_fpp: params.target_fpp(),
            num_bits: params.num_bits(),
            num_hashes: params.num_hashes(),
            num_bytes: params.num_bytes(),
            inserted_items: self.0.inserted_items(),
        }
    }

    fn fill_ratio(&self) -> f64 {
        self.0.whole().fill_ratio()
    }

    fn estimated_fpp(&self) -> f64 {
        self.0.whole().estimated_fpp()
    }

    fn expected_fpp(&self) -> f64 {
        let params = self.0.params();
        params.expected_fpp(params.distinct_items(self.0.inserted_items()))
    }

    fn distinct_items(&self) -> f64 {
        self.0.whole().distinct_items().items
    }

    fn health(&self) -> Health {
        self.0.whole().health()
    }

    fn union_with(&mut self, _other: &dyn Set) -> Result<(), Error> {
        Err(read_only())
    }

    fn clear(&mut self) -> Result<(), Error> {
        Err(read_only())
    }

    fn check(&self, tick: Option<u64>) -> Result<(), Box<Error>> {
        match tick {
            Some(tick) if self.0.changed_at(tick).is_none() => Ok(()),
            _ => Ok(self.0.check().map_err(Error::from)?),
        }
    }
}

impl Saved for Mapped {
    fn encode(&self, key_options: &str) -> Result<Vec<u8>, Error> {
        owned(&self.0)?.encode(key_options)
    }

    fn save(&self, path: &Path, key_options: &str, replace: bool) -> Result<(), Error> {
        owned(&self.0)?.save(path, key_options, replace)
    }

    fn copy(&self) -> Result<Box<dyn Set>, Error> {
        Ok(Box::new(owned(&self.0)?))
    }

    fn same(&self, other: &dyn Set) -> Result<bool, Error> {
        owned(&self.0)?.same(other)
    }

    fn bits(&self) -> Option<&[u8]> {
        // A view could not be checked after each use.
        None
    }

    fn as_any(&self) -> &dyn Any {
        self
    }

    fn as_any_mut(&mut self) -> &mut dyn Any {
        self
    }
}
