//! A filter that is in use.

use super::Contents;
use crate::Turn;
use crate::durable::Tally;
use crate::keyspace::growth::Growth;
use crate::keyspace::{Info, InsertError, LayerInfo, Measured, Options, Unreadable, WrongKind};
use mayhap::{Age, Bitmap, BloomMatrix, ClockJumps, Digest, DigestFunction, Error, Window};
use std::fmt::Debug;
use std::sync::Arc;

/// A filter that is in use, of whichever kind.
///
/// Most kinds take digests. Those of other systems hash in their own way: they have no
/// [`Filter::digest_function`] and take keys ([`Filter::contains_key`], [`Filter::insert_key`]).
/// What a kind does not say about insertions is that it is read only.
pub(in crate::keyspace) trait Filter: Debug + Send + Sync {
    /// Its kind as [`Info::kind`] has it.
    fn kind(&self) -> &'static str;

    /// How keys become digests; `None` for filters that take keys.
    fn digest_function(&self) -> Option<DigestFunction>;

    /// Whether the key of this digest may be in it; a window answers for the time `now`.
    fn contains(&self, digest: Digest, now: u64) -> bool {
        let _ = (digest, now);
        false
    }

    /// [`Filter::contains`] for many digests.
    fn contains_many(&self, digests: &[Digest], now: u64, found: &mut Bitmap) {
        let _ = now;
        found.clear_to(digests.len());
    }

    /// What it remembers, if it is a window: so many keys, or those of a time in milliseconds.
    fn window(&self) -> Option<Window> {
        None
    }

    /// How long before `now` the key of this digest came, if it may be in a window.
    fn age(&self, digest: Digest, now: u64) -> Option<Age> {
        let _ = (digest, now);
        None
    }

    /// That these bytes are a key, where there is no digest function.
    fn check_key(&self, key: &[u8]) -> Result<(), mayhap_formats::Error> {
        let _ = key;
        Ok(())
    }

    /// Whether the key may be in it, where there is no digest function.
    fn contains_key(&self, key: &[u8]) -> bool {
        let _ = key;
        false
    }

    /// Its sets, if it has many.
    fn matrix(&self) -> Option<&BloomMatrix> {
        None
    }

    /// Inserts a digest and records it in the log as far as a crash must not take it; `true` if it
    /// is new.
    fn insert(
        &self,
        digest: Digest,
        target: Target<'_>,
        turn: &mut Turn,
    ) -> Result<bool, InsertError> {
        let _ = (digest, target, turn);
        Err(InsertError::ReadOnly)
    }

    /// [`Filter::insert`] for [`Turn::digests`], which are not kept; the answers are in
    /// [`Turn::answers`]. Those before the place of an error are inserted.
    fn insert_many(&self, target: Target<'_>, turn: &mut Turn) -> Result<(), (usize, InsertError)> {
        let _ = target;
        turn.answers.clear_to(turn.digests.len());
        Err((0, InsertError::ReadOnly))
    }

    /// [`Filter::insert`] for a key, where there is no digest function.
    fn insert_key(
        &self,
        key: &[u8],
        target: Target<'_>,
        turn: &mut Turn,
    ) -> Result<bool, InsertError> {
        let _ = (key, target, turn);
        Err(InsertError::ReadOnly)
    }

    /// Takes [`Turn::digests`] out again in their order, each once; the answers are in
    /// [`Turn::answers`], `false` for one that is surely not there.
    fn remove_many(&self, target: Target<'_>, turn: &mut Turn) -> Result<(), WrongKind> {
        let _ = (target, turn);
        Err(WrongKind::NotCounting(self.kind()))
    }

    /// What is known of it without reading its bits.
    fn info(&self) -> Info;

    /// Whether it has more keys than it was created for: more than its rate allows, or than it can
    /// remember.
    fn is_over_capacity(&self) -> bool {
        false
    }

    /// Keys that were new.
    fn items(&self) -> u64;

    /// Bytes of its bits.
    fn num_bytes(&self) -> u64;

    /// Positions of a key; 0 where a file does not say.
    fn num_hashes(&self) -> u32;

    /// Its layers, oldest first.
    fn layers(&self) -> Vec<LayerInfo> {
        vec![LayerInfo::of(&self.info(), self.num_hashes())]
    }

    /// What its bits say; reads all of them.
    fn measure(&self) -> Measured;

    /// A copy, while insertions go on: it holds at least every key whose insertion happened before.
    /// `None` for files.
    fn snapshot(&self) -> Result<Option<Box<dyn Contents>>, Error> {
        Ok(None)
    }

    /// Whether it stands for one that could not be recovered.
    fn is_quarantined(&self) -> bool {
        false
    }

    /// Why the file below it does not answer, if so.
    fn changed(&self) -> Option<Unreadable> {
        None
    }

    /// [`Filter::changed`], looked at again only if `now`, any clock, has gone on.
    fn changed_at(&self, now: u64) -> Option<Unreadable> {
        let _ = now;
        None
    }

    /// Checks up to so many pages of the file below it that no query has read yet; returns whether
    /// nothing is left to check.
    fn check_ahead(&self, most_pages: u64) -> bool {
        let _ = most_pages;
        true
    }

    /// Checks every byte of the file below it.
    fn verify(&self) -> Result<(), mayhap_store::Error> {
        Ok(())
    }

    /// How often it was cleared since this was last called, if it clears itself.
    fn new_clears(&self) -> u64 {
        0
    }

    /// The jumps of the clock, if there was one since this was last called, of a window.
    fn new_clock_jumps(&self) -> Option<ClockJumps> {
        None
    }

    /// Sizes its next layer, if it grows and will need one soon.
    fn prepare_growth(&self) {}

    /// Allocates its next layer and touches its pages, for as long as `goes_on`.
    fn grow_ahead(&self, goes_on: &dyn Fn() -> bool) {
        let _ = goes_on;
    }
}

/// The filter as the log knows it.
#[derive(Debug, Clone, Copy)]
pub(in crate::keyspace) struct Target<'a> {
    pub(in crate::keyspace) id: u64,
    pub(in crate::keyspace) tally: &'a Arc<Tally>,
}

/// What a filter takes from its keyspace.
#[derive(Debug, Clone, Copy)]
pub(in crate::keyspace) struct Home<'a> {
    pub(in crate::keyspace) options: &'a Options,
    pub(in crate::keyspace) growth: &'a Arc<Growth>,
}
