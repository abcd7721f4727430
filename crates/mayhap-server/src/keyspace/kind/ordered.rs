//! Filters to which everything has to be done once and in an order, also after a crash.

use super::Target;
use crate::Turn;
use crate::durable::{Recorder, Snapshot, write_native};
use mayhap::Digest;
use mayhap::native::Native;
use std::io::{self, Write};
use std::slice::from_ref;
use std::sync::Mutex;

/// Stands in the place of a time in records of removals.
pub(super) const REMOVAL: u64 = u64::MAX;

/// A filter to which everything has to be done once and in an order.
#[derive(Debug)]
pub(super) struct Ordered<T> {
    pub(super) filter: T,
    /// How many digests were put in or taken out: the number of the next one.
    pub(super) order: u64,
}

impl<T> Ordered<T> {
    pub(super) const fn new(filter: T, order: u64) -> Self {
        Self { filter, order }
    }

    pub(super) const fn shared(self) -> Mutex<Self> {
        Mutex::new(self)
    }

    /// Records digests under the lock under which they were put in or taken out; `what` is the time
    /// or [`REMOVAL`].
    pub(super) fn record(
        &mut self,
        recorder: &mut Option<Recorder>,
        target: Target<'_>,
        what: u64,
        digests: &[Digest],
    ) {
        if let Some(recorder) = recorder {
            recorder.ordered(target.id, self.order, what, digests);
        }
        self.order += digests.len() as u64;
    }

    /// Goes on after digests of the log.
    pub(super) fn replayed(&mut self, order: u64, digests: &[Digest]) {
        self.order = self.order.max(order + digests.len() as u64);
    }
}

/// A filter that threads fill one after another.
pub(super) trait InOrder {
    /// Inserts digests and records them; the answers are in [`Turn::answers`].
    fn insert_all(&self, digests: &[Digest], target: Target<'_>, turn: &mut Turn);
}

/// Inserts a digest; `true` if it is new.
pub(super) fn insert(
    filter: &impl InOrder,
    digest: Digest,
    target: Target<'_>,
    turn: &mut Turn,
) -> bool {
    filter.insert_all(from_ref(&digest), target, turn);
    turn.answers.get(0)
}

/// Inserts [`Turn::digests`].
pub(super) fn insert_many(filter: &impl InOrder, target: Target<'_>, turn: &mut Turn) {
    let digests = std::mem::take(&mut turn.digests);
    filter.insert_all(&digests, target, turn);
    turn.digests = digests;
}

impl<F: Native> Snapshot for Ordered<F> {
    fn mark(&self) -> u64 {
        self.order
    }

    fn write(&self, out: &mut dyn Write) -> io::Result<()> {
        write_native(&self.filter, out)
    }
}
