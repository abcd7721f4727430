//! The turns of threads: which are under way, and what becomes of one that cannot be written.

use super::Refused;
use crate::sync::{AtomicU64, Ordering, fence};
use std::sync::{Arc, Weak};

/// Why the changes of a turn are not in the log.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Unwritten {
    /// What to answer.
    pub why: Refused,
    /// The answer is true once [`Log::is_undone`](super::Log::is_undone) says so of this number;
    /// with `None` at once.
    pub until: Option<u64>,
}

impl From<Refused> for Unwritten {
    fn from(why: Refused) -> Self {
        Self { why, until: None }
    }
}

/// Whether a turn of a thread is under way, for those who wait for its end: odd while it is.
#[derive(Debug, Clone, Default)]
pub(super) struct UnderWay(Arc<AtomicU64>);

impl UnderWay {
    /// To be called before the turn looks a filter up.
    pub(super) fn begin(&self) {
        // ORDERING: Relaxed, and a Release fence before what follows: who sees a change of this
        // turn, and has an Acquire fence then, sees that it is under way, or has ended.
        self.0.fetch_add(1, Ordering::Relaxed);
        fence(Ordering::Release);
    }

    /// Its records are written, or refused.
    pub(super) fn end(&self) {
        // ORDERING: Release. Who sees the end sees what became of the turn. The fence: `end_turn`.
        self.0.fetch_add(1, Ordering::Release);
        fence(Ordering::SeqCst);
    }
}

/// The turns of all threads.
#[derive(Debug, Default)]
pub(super) struct Turns(Vec<Weak<AtomicU64>>, usize);

impl Turns {
    pub(super) fn add(&mut self, turn: &UnderWay) {
        if self.0.len() >= self.1 {
            self.0.retain(|turn| turn.strong_count() > 0);
            self.1 = 2 * self.0.len() + 16;
        }
        self.0.push(Arc::downgrade(&turn.0));
    }

    /// Those that are under way, each with its number.
    pub(super) fn under_way(&self) -> Vec<(Arc<AtomicU64>, u64)> {
        // ORDERING: Acquire, the fence and the loads: `UnderWay`.
        fence(Ordering::Acquire);
        let all = self.0.iter().filter_map(Weak::upgrade);
        let numbered = all.map(|turn| {
            let number = turn.load(Ordering::Acquire);
            (turn, number)
        });
        numbered.filter(|(_, number)| number % 2 == 1).collect()
    }
}
