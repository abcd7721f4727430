//! Up to where the log is safe, for threads that do not lock it.

use super::options::Clock;
use super::ticket::{State, Ticket};
use super::trouble::Trouble;
use super::{Options, Policy};
use crate::sync::{AtomicU64, Ordering};

/// Answers wait if the oldest acknowledged record that is not on the disk is older than this.
const MAX_UNSYNCED_MS: u64 = 2000;

/// Up to where the log is safe. Changed with the log locked.
#[derive(Debug)]
pub(super) struct Safety {
    pub(super) policy: Policy,
    clock: Clock,
    /// Frames of a lower sequence are on the disk.
    synced: AtomicU64,
    /// When the oldest unsynced byte was written; `u64::MAX` if all are synced.
    unsynced_since: AtomicU64,
    /// The kind of the trouble that the log is in.
    trouble: AtomicU64,
}

const FINE: u64 = 0;
const POISONED: u64 = 1;
const DISPLACED: u64 = 2;
const OTHER: u64 = 3;

impl Safety {
    /// All frames of a lower sequence than this are on the disk, and nothing else is written.
    pub(super) fn new(options: &Options, sequence: u64) -> Self {
        Self {
            policy: options.policy,
            clock: options.clock.clone(),
            synced: AtomicU64::new(sequence),
            unsynced_since: AtomicU64::new(u64::MAX),
            trouble: AtomicU64::new(FINE),
        }
    }

    /// Milliseconds by the log's clock.
    pub(super) fn now(&self) -> u64 {
        self.clock.now()
    }

    /// Everything before this frame is safe, by a sync or by images.
    pub(super) fn set_synced(&self, sequence: u64) {
        // ORDERING: AcqRel, with the Acquire of `synced_to`. The maximum, since a sync and a
        // checkpoint may end in either order.
        self.synced.fetch_max(sequence, Ordering::AcqRel);
    }

    /// Frames of a lower sequence are on the disk.
    pub(super) fn synced_to(&self) -> u64 {
        // ORDERING: Acquire, with the AcqRel of `set_synced`: a thread that finds a position safe
        // sees everything that made it so.
        self.synced.load(Ordering::Acquire)
    }

    /// The oldest byte that is not on the disk was written then.
    pub(super) fn set_unsynced(&self, since: Option<u64>) {
        // ORDERING: Release, with the Acquire of `unsynced_ms`.
        self.unsynced_since.store(since.unwrap_or(u64::MAX), Ordering::Release);
    }

    /// Milliseconds since the oldest byte was written that is not on the disk.
    pub(super) fn unsynced_ms(&self) -> u64 {
        // ORDERING: Acquire, with the Release of `set_unsynced`. The time stands for itself; a
        // thread that reads it late assumes for that long that a position is as safe as before.
        match self.unsynced_since.load(Ordering::Acquire) {
            u64::MAX => 0,
            since => self.now().saturating_sub(since),
        }
    }

    pub(super) fn set_trouble(&self, trouble: Option<&Trouble>) {
        let kind = match trouble {
            None => FINE,
            Some(Trouble::Sync { .. }) => POISONED,
            Some(Trouble::Displaced { .. }) => DISPLACED,
            Some(_) => OTHER,
        };
        // ORDERING: Release, with the Acquire of `trouble`.
        self.trouble.store(kind, Ordering::Release);
    }

    fn trouble(&self) -> u64 {
        // ORDERING: Acquire, with the Release of `set_trouble`. A thread that finds trouble here
        // finds its details under the lock, and one that misses it by a moment finds it there when
        // it writes.
        self.trouble.load(Ordering::Acquire)
    }

    pub(super) fn is_in_trouble(&self) -> bool {
        self.trouble() != FINE
    }

    /// Whether files are known to be in another place.
    pub(super) fn is_displaced(&self) -> bool {
        self.trouble() == DISPLACED
    }

    pub(super) fn is_safe(&self, ticket: Ticket) -> bool {
        if self.synced_to() >= ticket.0 {
            return true;
        }
        if matches!(self.trouble(), POISONED | DISPLACED) {
            return false;
        }
        match self.policy {
            Policy::Always => false,
            Policy::EverySecond => self.unsynced_ms() <= MAX_UNSYNCED_MS,
            Policy::No => true,
        }
    }

    /// Whether records up to this position may be acknowledged.
    pub(super) fn state(&self, ticket: Ticket) -> State {
        if self.is_safe(ticket) {
            State::Safe
        } else if self.trouble() == POISONED {
            State::Refused
        } else {
            State::Waiting
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use mayhap::DigestFunction;
    use std::sync::Arc;
    use std::sync::atomic::AtomicU64;

    #[test]
    fn a_position_is_as_safe_as_policy_time_and_trouble_allow() {
        let time = Arc::new(AtomicU64::new(0));
        for (policy, at_once, late) in [
            (Policy::Always, State::Waiting, State::Waiting),
            (Policy::EverySecond, State::Safe, State::Waiting),
            (Policy::No, State::Safe, State::Safe),
        ] {
            let now = time.clone();
            let clock = Clock::of(move || now.load(Ordering::Relaxed));
            let options = Options { policy, clock, ..Options::new(DigestFunction::default()) };
            let safety = Safety::new(&options, 3);
            time.store(10, Ordering::Relaxed);
            safety.set_unsynced(Some(10));
            let state = || [3, 4].map(|sequence| safety.state(Ticket(sequence)));
            assert_eq!(state(), [State::Safe, at_once], "{policy:?}");
            time.store(10 + MAX_UNSYNCED_MS + 1, Ordering::Relaxed);
            assert_eq!(state(), [State::Safe, late], "{policy:?}");
            safety.set_trouble(Some(&Trouble::Sync { why: String::new() }));
            assert_eq!(state(), [State::Safe, State::Refused], "{policy:?}");
            safety.set_synced(4);
            safety.set_synced(2);
            assert_eq!(state(), [State::Safe; 2], "{policy:?}");
        }
    }
}
