//! Plain filters that are read where they lie, open in an instant; what a short log adds to them is
//! in memory beside.

use crate::capabilities::Capabilities;
use crate::error::{Error, Refusal};
use crate::key_set::KeySet;
use crate::keys::Keys;
use crate::measurements::Measurements;
use crate::numbers::Numbers;
use crate::state::State;
use mayhap::native::Kind;
use mayhap::set::Repeats;
use mayhap::{AnyFilter, Bitmap, Digest, DigestFunction, SecretKey};
use mayhap_store::{MappedFilter, Operation, Recovery, Snapshot};
use std::cell::OnceCell;

/// A mapped filter and the digests of its log, if it has one: a query of one key reads the pages of
/// that key and the log, not the whole file.
#[derive(Debug)]
pub struct MappedSet {
    mapped: MappedFilter,
    /// The digests of the log, sorted, each once.
    digests: Vec<Digest>,
    log: Option<(Snapshot, Option<SecretKey>)>,
    /// Both in one, for what only the bits say; `None` if that failed.
    loaded: OnceCell<Option<AnyFilter>>,
}

impl From<MappedFilter> for MappedSet {
    /// A filter without a log.
    fn from(mapped: MappedFilter) -> Self {
        Self { mapped, digests: Vec::new(), log: None, loaded: OnceCell::new() }
    }
}

impl MappedSet {
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
        Ok((Self { digests, log: Some((snapshot, key)), ..mapped.into() }, recovery))
    }

    fn loaded(&self) -> Option<&AnyFilter> {
        let (snapshot, key) = self.log.as_ref()?;
        let load = || Some(snapshot.load(*key, |_| {}).ok()?.0.filter);
        self.loaded.get_or_init(load).as_ref()
    }
}

impl KeySet for MappedSet {
    fn name(&self) -> &'static str {
        self.mapped.params().layout().name()
    }

    fn digest_function(&self) -> Option<DigestFunction> {
        Some(*self.mapped.digest_function())
    }

    fn capabilities(&self) -> Capabilities {
        let inserts = Err(Refusal::ReadOnly);
        Capabilities { inserts, clears: false, ..Kind::Bloom.capabilities().into() }
    }

    fn contains_into(&mut self, keys: Keys<'_>, found: &mut Bitmap) -> Result<(), Error> {
        let digests = keys.digests(self.mapped.digest_function());
        self.mapped.contains_digests_into(&digests, found);
        if self.digests.is_empty() {
            return Ok(());
        }
        for (i, digest) in digests.iter().enumerate() {
            if !found.get(i) && self.digests.binary_search(digest).is_ok() {
                found.set(i);
            }
        }
        Ok(())
    }

    fn insert_into(&mut self, _: Keys<'_>, _: Repeats, _: &mut Bitmap) -> Result<(), Error> {
        // Its capabilities have said so.
        Err(Error::Refused { name: self.name().into(), why: Refusal::ReadOnly })
    }

    fn items(&self) -> u64 {
        self.mapped.inserted_items() + self.digests.len() as u64
    }

    fn numbers(&self, _: Repeats) -> Numbers {
        let params = self.mapped.params();
        let numbers = mayhap::set::Numbers::of_params(params, self.items());
        Numbers { full_at: Some(params.inserted_when_full()), ..numbers.into() }
    }

    fn measurements(&self) -> Measurements {
        let of_mapped = || State::of(self.mapped.whole());
        Measurements::Own(self.loaded().map_or_else(of_mapped, State::of))
    }

    fn check_unchanged(&self) -> Result<(), Error> {
        if let (Some(None), Some((snapshot, key))) = (self.loaded.get(), &self.log) {
            snapshot.load::<AnyFilter>(*key, |_| {})?;
        }
        Ok(self.mapped.check()?)
    }

    fn mapped(&self) -> Option<&MappedFilter> {
        self.log.is_none().then_some(&self.mapped)
    }
}
