//! A state as the class `Filter` sees it.

use super::kept::Kept;
use super::turns::{Turn, Turns};
use crate::error::Error;
use crate::set::{Saved, Set, Stats, check_room};
use mayhap::{Bitmap, Digest, Health};
use mayhap_store::Session;
use std::any::Any;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

/// A filter whose changes are recorded in a log beside its file.
pub(crate) struct StateSet {
    turns: Arc<Turns>,
}

impl StateSet {
    /// A state that was opened just now, whose lock is held.
    pub(super) fn new(
        kept: Box<dyn Kept>,
        session: Session,
        timeout: Duration,
    ) -> std::io::Result<Self> {
        Ok(Self { turns: Turns::begin(kept, session, timeout)? })
    }

    /// As [`Turns::change`].
    pub(super) fn change<R>(
        &self,
        change: impl FnOnce(&mut Turn) -> Result<R, Error>,
    ) -> Result<R, Error> {
        self.turns.change(change)
    }

    /// As [`Turns::close`].
    pub(super) fn close(&self) -> Result<(), Error> {
        self.turns.close()
    }

    /// Calls `read` with the filter.
    pub(super) fn read<R>(&self, read: impl FnOnce(&dyn Set) -> R) -> R {
        read(self.turns.lock().kept.set())
    }
}

impl Drop for StateSet {
    fn drop(&mut self) {
        self.turns.leave();
    }
}

impl Set for StateSet {
    fn contains_digest(&self, digest: Digest) -> bool {
        self.read(|set| set.contains_digest(digest))
    }

    fn contains_digests_into(&self, digests: &[Digest], found: &mut Bitmap) {
        self.read(|set| set.contains_digests_into(digests, found));
    }

    fn insert_digest(&mut self, digest: Digest) -> Result<bool, Box<Error>> {
        let mut new = Bitmap::new();
        self.insert_digests_into(&[digest], &mut new)?;
        Ok(new.get(0))
    }

    fn insert_digests_into(&mut self, digests: &[Digest], new: &mut Bitmap) -> Result<(), Error> {
        self.change(|turn| turn.insert(digests, new))
    }

    fn insert_all_or_none(&mut self, digests: &[Digest], new: &mut Bitmap) -> Result<(), Error> {
        // In one turn: another process may insert between two.
        self.change(|turn| {
            check_room(turn.kept.set(), digests)?;
            turn.insert(digests, new)
        })
    }

    fn inserted_items(&self) -> u64 {
        self.read(|set| set.inserted_items())
    }

    fn inserted_when_full(&self) -> Option<u64> {
        self.read(|set| set.inserted_when_full())
    }

    fn stats(&self) -> Stats {
        self.read(|set| set.stats())
    }

    fn fill_ratio(&self) -> f64 {
        self.read(|set| set.fill_ratio())
    }

    fn estimated_fpp(&self) -> f64 {
        self.read(|set| set.estimated_fpp())
    }

    fn expected_fpp(&self) -> f64 {
        self.read(|set| set.expected_fpp())
    }

    fn distinct_items(&self) -> f64 {
        self.read(|set| set.distinct_items())
    }

    fn health(&self) -> Health {
        self.read(|set| set.health())
    }

    fn union_with(&mut self, other: &dyn Set) -> Result<(), Error> {
        self.change(|turn| turn.replace(|set| set.union_with(other)))
    }

    fn clear(&mut self) -> Result<(), Error> {
        self.change(|turn| turn.replace(|set| set.clear()))
    }

    fn ready(&mut self) -> Result<(), Error> {
        self.change(|_| Ok(()))
    }
}

impl Saved for StateSet {
    fn encode(&self, key_options: &str) -> Result<Vec<u8>, Error> {
        self.read(|set| set.encode(key_options))
    }

    fn save(&self, path: &Path, key_options: &str, replace: bool) -> Result<(), Error> {
        self.read(|set| set.save(path, key_options, replace))
    }

    fn copy(&self) -> Result<Box<dyn Set>, Error> {
        self.read(|set| set.copy())
    }

    fn same(&self, other: &dyn Set) -> Result<bool, Error> {
        self.read(|set| set.same(other))
    }

    fn bits(&self) -> Option<&[u8]> {
        // Others may change it between two calls.
        None
    }

    fn as_any(&self) -> &dyn Any {
        self
    }

    fn as_any_mut(&mut self) -> &mut dyn Any {
        self
    }
}
