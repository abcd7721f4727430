//! Plain filters with a short log: they are read where they lie, and what the log adds to them is
//! in memory beside.

use crate::error::{Error, Refusal};
use crate::key_set::KeySet;
use crate::state::State;
use mayhap::{AnyFilter, Bitmap, Digest, DigestFunction, Estimate, FilterParams, SecretKey};
use mayhap_store::{MappedFilter, Operation, Recovery, Snapshot};
use std::cell::OnceCell;

/// A mapped filter and the digests of its log: a query of one key reads the pages of that key and
/// the log, not the whole file.
#[derive(Debug)]
pub struct LoggedFilter {
    mapped: MappedFilter,
    /// Those of the log, sorted, each once.
    digests: Vec<Digest>,
    snapshot: Snapshot,
    key: Option<SecretKey>,
    /// Both in one, for what only the bits say; `None` if that failed.
    loaded: OnceCell<Option<AnyFilter>>,
}

impl LoggedFilter {
    /// The filter of a snapshot, whose pages are not checked if they are trusted, and what its log
    /// has.
    ///
    /// # Errors
    ///
    /// As [`Snapshot::check`], [`MappedFilter::of_image`] and [`Snapshot::replay`].
    pub fn open(
        snapshot: Snapshot,
        key: Option<SecretKey>,
        is_trusted: bool,
    ) -> Result<(Self, Recovery), mayhap_store::Error> {
        snapshot.check()?;
        let mapped = MappedFilter::of_image(snapshot.image(), key, is_trusted)?;
        let mut digests = Vec::new();
        let recovery = snapshot.replay(|record| {
            if record.operation == Operation::Insert {
                digests.extend_from_slice(record.digests);
            }
            Ok(0)
        })?;
        digests.sort_unstable();
        digests.dedup();
        let recovery = Recovery { new_items: digests.len() as u64, ..recovery };
        Ok((Self { mapped, digests, snapshot, key, loaded: OnceCell::new() }, recovery))
    }

    fn loaded(&self) -> Option<&AnyFilter> {
        let load = || Some(self.snapshot.load(self.key, |_| {}).ok()?.0.filter);
        self.loaded.get_or_init(load).as_ref()
    }
}

impl KeySet for LoggedFilter {
    fn name(&self) -> &'static str {
        self.mapped.name()
    }

    fn digest_function(&self) -> DigestFunction {
        *self.mapped.digest_function()
    }

    fn contains_digests_into(&self, digests: &[Digest], found: &mut Bitmap) -> Result<(), Error> {
        self.mapped.contains_digests_into(digests, found);
        for (i, digest) in digests.iter().enumerate() {
            if !found.get(i) && self.digests.binary_search(digest).is_ok() {
                found.set(i);
            }
        }
        Ok(())
    }

    fn insert_digests_into(&mut self, digests: &[Digest], new: &mut Bitmap) -> Result<(), Error> {
        self.mapped.insert_digests_into(digests, new)
    }

    fn refuses_insert(&self) -> Option<Refusal> {
        self.mapped.refuses_insert()
    }

    fn capacity(&self) -> Option<u64> {
        self.mapped.capacity()
    }

    fn full_at(&self, absent_only: bool) -> Option<u64> {
        self.mapped.full_at(absent_only)
    }

    fn distinct_items(&self, _absent_only: bool) -> Option<Estimate> {
        Some(Estimate::from_inserted(self.mapped.params(), self.items()))
    }

    fn items(&self) -> u64 {
        self.mapped.inserted_items() + self.digests.len() as u64
    }

    fn estimated_items(&self) -> Option<(Estimate, FilterParams)> {
        match self.loaded() {
            Some(filter) => Some((filter.estimated_items(), *filter.params())),
            None => self.mapped.estimated_items(),
        }
    }

    fn num_bytes(&self) -> u64 {
        self.mapped.num_bytes()
    }

    fn target_fpp(&self) -> f64 {
        self.mapped.target_fpp()
    }

    fn expected_fpp(&self) -> f64 {
        let params = self.mapped.params();
        params.expected_fpp(params.distinct_items(self.items()))
    }

    fn state(&self) -> State {
        self.loaded().map_or_else(|| self.mapped.state(), State::of)
    }

    fn check_unchanged(&self) -> Result<(), Error> {
        if let Some(None) = self.loaded.get() {
            self.snapshot.load::<AnyFilter>(self.key, |_| {})?;
        }
        Ok(self.mapped.check()?)
    }
}
