//! The clock of a time window, which its users may set.
//!
//! A time that is before the latest one by less than a generation changes nothing: clocks are
//! corrected, and threads are late. A time that is earlier than that means that one of the two is
//! wrong, and the window waits for up to a generation to learn which. If the clock returns, it was
//! wrong for a moment. If it continues from its new time, the latest time was wrong: it and all
//! times after the clock are then set back.

/// The latest time, and whether the clock is behind it.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Clock {
    /// The time that new keys get: the latest one, and a `lead` more while the clock is behind it.
    pub(super) now: u64,
    /// Added to the time of keys that arrive while it is unknown which time is wrong, to set them
    /// apart.
    lead: u64,
    /// By how much `now` was after the clock when that was first found to be behind; 0 if it is
    /// not.
    ahead: u64,
    /// While it is, the last time passed in.
    behind: u64,
    jumps: ClockJumps,
}

/// How often the clock of a time window was set back, as far as this window saw it since it was
/// built or loaded: [`WindowBloomFilter::clock_jumps`](crate::WindowBloomFilter::clock_jumps).
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct ClockJumps {
    /// The number of times that were before the latest one by more than a generation, without those
    /// that followed such a time.
    pub count: u64,
    /// By how much the latest time was after the last of them.
    pub ahead: u64,
    /// The keys that had been forgotten because of times that were ahead, and are remembered again.
    pub restored: u64,
}

/// The meaning of a time that is not after the latest one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Verdict {
    /// It is behind, for the first time: this one or the latest one is wrong.
    Behind,
    /// It is still not known which.
    Unknown,
    /// The latest one was right. Keys inserted meanwhile have the time `meanwhile`, and are as old
    /// as `latest` or younger.
    Returned { meanwhile: u64, latest: u64 },
    /// The latest one was wrong, by `by` at least when the clock was at `first`. Keys inserted
    /// since have the time `meanwhile`, and were inserted up to the time that is now the latest.
    WasAhead { meanwhile: u64, first: u64, by: u64 },
}

impl Clock {
    /// The clock of a window that has seen no time.
    pub(super) fn new(lead: u64) -> Self {
        Self { lead, ..Self::default() }
    }

    /// A clock with the state that was saved.
    pub(super) fn saved(lead: u64, now: u64, ahead: u64) -> Self {
        Self { now, lead, ahead, behind: now.saturating_sub(ahead), ..Self::default() }
    }

    /// The argument for [`Clock::saved`].
    pub(super) const fn ahead(&self) -> u64 {
        self.ahead
    }

    /// The first time that was behind, as long as it is unknown which one is wrong.
    #[inline(always)]
    pub(super) const fn first_behind(&self) -> Option<u64> {
        if self.ahead == 0 { None } else { Some(self.now - self.ahead) }
    }

    /// The latest time.
    pub(super) const fn latest(&self) -> u64 {
        if self.ahead == 0 { self.now } else { self.now.saturating_sub(self.lead) }
    }

    /// The last time passed in, as far as it matters.
    pub(super) const fn passed(&self) -> u64 {
        if self.ahead == 0 { self.now } else { self.behind }
    }

    pub(super) const fn jumps(&self) -> ClockJumps {
        self.jumps
    }

    pub(super) fn restored(&mut self, keys: u64) {
        self.jumps.restored = self.jumps.restored.saturating_add(keys);
    }

    /// Whether a time is not simply later than the latest one, or as good as that.
    #[inline(always)]
    pub(super) const fn is_doubtful(&self, time: u64, generation: u64) -> bool {
        self.ahead != 0 || time.saturating_add(generation) < self.now
    }

    /// Learns of a time that [`Clock::is_doubtful`].
    #[cold]
    pub(super) fn judge(&mut self, time: u64, generation: u64) -> Verdict {
        let (meanwhile, latest) = (self.now, self.latest());
        let Some(first) = self.first_behind() else {
            self.now = latest.saturating_add(self.lead);
            self.lead = self.now - latest;
            (self.ahead, self.behind) = (self.now - time, time);
            self.jumps.count = self.jumps.count.saturating_add(1);
            self.jumps.ahead = latest - time;
            return Verdict::Behind;
        };
        if time.saturating_add(generation) >= latest {
            (self.now, self.ahead) = (latest.max(time), 0);
            return Verdict::Returned { meanwhile, latest };
        }
        let end = first.saturating_add(generation);
        if time >= end || time.saturating_add(generation) < first {
            (self.now, self.ahead) = (end - 1, 0);
            return Verdict::WasAhead { meanwhile, first, by: latest.saturating_sub(first) };
        }
        self.behind = self.behind.max(time);
        Verdict::Unknown
    }
}
