//! The turns of threads: which are in progress, and what happens to one that cannot be written.

use super::Refused;
use crate::sync::{AtomicBool, AtomicU64, Mutex, Ordering, fence, unpoisoned};
use std::sync::{Arc, Weak};

/// Why the changes of a turn are not in the log.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Unwritten {
    /// The error to answer.
    pub why: Refused,
    /// The answer may be sent once [`Log::is_undone`](super::Log::is_undone) is true for this
    /// number; with `None` at once.
    pub until: Option<u64>,
}

/// Whether a turn of a thread is in progress, for a thread that waits for its end: odd while it is.
#[derive(Debug, Clone, Default)]
pub(super) struct UnderWay(Arc<AtomicU64>);

impl UnderWay {
    /// To be called before the turn looks a filter up.
    pub(super) fn begin(&self) {
        // ORDERING: Relaxed, and a Release fence before the changes: a thread that sees a change of
        // this turn, and then has an Acquire fence, sees that it is in progress, or has ended.
        self.0.fetch_add(1, Ordering::Relaxed);
        fence(Ordering::Release);
    }

    /// Its records are written, or refused.
    pub(super) fn end(&self) {
        // ORDERING: Release. A thread that sees the end sees the result of the turn. The fence:
        // `Turns::end`.
        self.0.fetch_add(1, Ordering::Release);
        fence(Ordering::SeqCst);
    }
}

/// The turns of all threads: which are in progress, and how many were refused.
#[derive(Debug)]
pub(super) struct Turns {
    /// Before the log's own lock.
    all: Mutex<Known>,
    /// Whether a checkpoint waits for the end of some turns.
    are_awaited: AtomicBool,
    /// How many refused turns may have changed filters, and for how many all is put back.
    refused: AtomicU64,
    undone: AtomicU64,
}

/// The turns of the threads that live, and the number at which others are looked for.
#[derive(Debug, Default)]
struct Known(Vec<Weak<AtomicU64>>, usize);

impl Turns {
    pub(super) fn new() -> Self {
        Self {
            all: Mutex::new(Known::default()),
            are_awaited: AtomicBool::new(false),
            refused: AtomicU64::new(0),
            undone: AtomicU64::new(0),
        }
    }

    pub(super) fn add(&self, turn: &UnderWay) {
        let Known(all, most) = &mut *unpoisoned(self.all.lock());
        if all.len() >= *most {
            all.retain(|turn| turn.strong_count() > 0);
            *most = 2 * all.len() + 16;
        }
        all.push(Arc::downgrade(&turn.0));
    }

    /// The turns in progress, each with its number.
    pub(super) fn under_way(&self) -> Vec<(Arc<AtomicU64>, u64)> {
        let all = unpoisoned(self.all.lock());
        // ORDERING: Acquire, the fence and the loads: `UnderWay`.
        fence(Ordering::Acquire);
        let numbered = all.0.iter().filter_map(Weak::upgrade).map(|turn| {
            let number = turn.load(Ordering::Acquire);
            (turn, number)
        });
        numbered.filter(|(_, number)| number % 2 == 1).collect()
    }

    /// From now on, or no more, [`Turns::end`] reports that a checkpoint waits.
    pub(super) fn await_ends(&self, awaited: bool) {
        // ORDERING: SeqCst, with those of `end`: a turn that ends sees this flag, or its end is
        // seen by the caller.
        self.are_awaited.store(awaited, Ordering::SeqCst);
        fence(Ordering::SeqCst);
    }

    /// A turn has ended. Returns whether a checkpoint waits for that.
    pub(super) fn end(&self, turn: &UnderWay) -> bool {
        turn.end();
        // ORDERING: SeqCst, with the fence before it: `await_ends`.
        self.are_awaited.load(Ordering::SeqCst)
    }

    /// How many turns were refused so far.
    pub(super) fn refused(&self) -> u64 {
        // ORDERING: Acquire, with the Release of `refuse`: a thread that finds a failure over finds
        // the filters put back.
        self.refused.load(Ordering::Acquire)
    }

    /// A turn is refused; returns its number. With the log locked.
    pub(super) fn refuse(&self) -> u64 {
        // ORDERING: Release, with the Acquire of `refused`. Under the lock, like all writes of it.
        let number = self.refused.load(Ordering::Relaxed) + 1;
        self.refused.store(number, Ordering::Release);
        number
    }

    /// Whether all changes of the turn refused with this number are undone.
    pub(super) fn is_undone(&self, number: u64) -> bool {
        // ORDERING: Acquire, with the Release of `set_undone`.
        self.undone.load(Ordering::Acquire) >= number
    }

    pub(super) fn set_undone(&self, number: u64) {
        // ORDERING: Release, with the Acquire of `is_undone`: the filters are in place.
        self.undone.store(number, Ordering::Release);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn turns_are_under_way_from_their_beginning_to_their_end() {
        let (turns, one, other) = (Turns::new(), UnderWay::default(), UnderWay::default());
        turns.add(&one);
        turns.add(&other);
        assert!(turns.under_way().is_empty());
        one.begin();
        assert_eq!(turns.under_way().len(), 1);
        drop(other);
        assert!(!turns.end(&one));
        assert!(turns.under_way().is_empty());
        one.begin();
        turns.await_ends(true);
        assert!(turns.end(&one));
    }

    #[test]
    fn refused_turns_are_numbered_and_undone_up_to_a_number() {
        let turns = Turns::new();
        assert!(turns.is_undone(turns.refused()));
        assert_eq!([turns.refuse(), turns.refuse(), turns.refused()], [1, 2, 2]);
        turns.set_undone(1);
        assert_eq!([1, 2].map(|number| turns.is_undone(number)), [true, false]);
    }
}
