//! How generations begin and end, by their keys or by the time; how they are forgotten, and how
//! columns are cleared before they are reused.
//!
//! The effect of a clock change: while it is unknown whether the clock or the latest time is wrong,
//! new keys get the latest time, and the others are forgotten by the clock.

use super::{BEGIN, CAME, COLUMN_BLOCKS, COUNT, LAST, MOST_CAME, SpanWindow, columns_of};
use crate::bits::Block;
use crate::filter::window::clock::{Clock, Verdict};
use crate::sizing::window::spans::NUM_COLUMNS;

/// The number of counted keys after which a little more of a column is cleared: some 20 cache
/// lines, in order.
const CLEARED_WITH: u64 = 8;

impl SpanWindow {
    #[inline]
    pub(in crate::filter::window) fn advance(&mut self, now: u64) {
        if self.clock.is_doubtful(now, self.plan.time) {
            self.look_back(now);
        } else if now > self.clock.now {
            self.clock.now = now;
            self.forget_past(now);
            self.close();
            self.clear_what_is_due();
        }
    }

    /// Forgets the generations without a key within the span that ends at `now`.
    pub(super) fn forget_past(&mut self, now: u64) {
        while self.oldest < self.next && self.is_past(self.oldest, now) {
            self.drop_oldest();
        }
    }

    /// The last time passed in.
    pub(in crate::filter::window) const fn moment(&self) -> u64 {
        self.clock.passed()
    }

    /// Moves a window on to a moment of one that had the same keys.
    pub(in crate::filter::window) fn resume(&mut self, moment: u64) {
        self.advance(moment);
    }

    /// Does nothing for a key that is not inserted: time alone ends generations.
    #[inline(always)]
    #[expect(clippy::unused_self, reason = "other forms of a window count what came")]
    pub(in crate::filter::window) const fn pass(&self) {}

    /// Whether no key of a generation is within the span that ends at `now`.
    #[inline(always)]
    pub(super) fn is_past(&self, generation: u64, now: u64) -> bool {
        self.number(LAST, generation).saturating_add(self.plan.span) < now
    }

    /// Closes the generations that are too old to accept a key: their first keys would be kept for
    /// too long.
    pub(super) fn close(&mut self) {
        while self.open < self.next
            && self.clock.now - self.number(BEGIN, self.open) >= self.plan.time
        {
            self.open += 1;
        }
    }

    fn drop_oldest(&mut self) {
        self.items -= self.number(COUNT, self.oldest);
        self.came -= self.number(CAME, self.oldest);
        self.oldest += 1;
        self.open = self.open.max(self.oldest);
    }

    /// Forgets the oldest generation early.
    #[cold]
    fn forget_oldest(&mut self) {
        self.forgotten = self.forgotten.saturating_add(self.number(COUNT, self.oldest));
        self.forgotten_until = self.forgotten_until.max(self.number(LAST, self.oldest));
        // They still arrived within the span: they count with the next generation until that has
        // passed.
        let came = self.number(CAME, self.oldest);
        self.drop_oldest();
        if self.oldest < self.next {
            self.add_came(self.oldest, came);
        }
    }

    /// Insertions while a generation was filled, as far as they can be counted.
    pub(super) fn add_came(&mut self, generation: u64, more: u64) {
        let came = self.number_mut(CAME, generation);
        let more = more.min(MOST_CAME - *came);
        *came += more;
        self.came += more;
    }

    /// Begins a generation with the key that arrives now.
    pub(super) fn begin(&mut self) {
        // One column is cleared, so 63 can be queried.
        if self.next - self.oldest == u64::from(NUM_COLUMNS) - 1 {
            self.forget_oldest();
        }
        self.clear_until(self.table.num_blocks());
        *self.number_mut(BEGIN, self.next) = self.clock.now;
        *self.number_mut(CAME, self.next) = 0;
        self.next += 1;
        self.cursor = 0;
    }

    /// The current generation has received a new key.
    #[inline(always)]
    pub(super) fn count_one(&mut self) {
        let (now, present) = (self.clock.now, self.next - 1);
        *self.number_mut(LAST, present) = now;
        self.add_came(present, 1);
        let count = self.number_mut(COUNT, present);
        *count += 1;
        let count = *count;
        self.items += 1;
        if self.items > self.plan.most_items {
            self.forget_oldest();
        }
        if count.is_multiple_of(CLEARED_WITH) || count == self.plan.items {
            self.clear_what_is_due();
        }
    }

    /// How far the next column must be clear: the same share of the table as the current generation
    /// has used of its keys, in steps of 8, or of its time, whichever is more.
    pub(super) fn due(&self) -> u64 {
        let blocks = self.table.num_blocks();
        let Some(present) = self.next.checked_sub(1) else { return blocks };
        let share = |part: u64, of: u64| {
            let part = u128::from(part.min(of));
            (u128::from(blocks) * part / u128::from(of)) as u64
        };
        let count = self.number(COUNT, present);
        let by_items = if count < self.plan.items { count - count % CLEARED_WITH } else { count };
        let elapsed = self.clock.now - self.number(BEGIN, present);
        share(by_items, self.plan.items).max(share(elapsed, self.plan.time))
    }

    pub(super) fn clear_what_is_due(&mut self) {
        if self.number(COUNT, self.next) != 0 {
            self.clear_until(self.due());
        }
    }

    /// Clears the next column up to the block `end`.
    fn clear_until(&mut self, end: u64) {
        if self.number(COUNT, self.next) == 0 {
            return;
        }
        if end > self.cursor {
            self.table.clear_columns(columns_of(self.next, self.next + 1), self.cursor, end);
            self.cursor = end;
        }
        if end == self.table.num_blocks() {
            *self.number_mut(COUNT, self.next) = 0;
        }
    }

    pub(in crate::filter::window) fn clear(&mut self) {
        self.table.clear();
        self.columns = [Block::default(); COLUMN_BLOCKS];
        self.clock = Clock::new(self.plan.time);
        (self.next, self.oldest, self.open) = (0, 0, 0);
        (self.items, self.came) = (0, 0);
        (self.forgotten, self.forgotten_until, self.cursor) = (0, 0, 0);
    }
}

impl SpanWindow {
    /// The clock was set back, or is behind since.
    #[cold]
    pub(super) fn look_back(&mut self, time: u64) {
        match self.clock.judge(time, self.plan.time) {
            Verdict::Behind => {
                self.restore(time);
                self.forget_past(time);
                self.close();
                self.clear_what_is_due();
            }
            Verdict::Unknown => self.forget_past(time),
            Verdict::Returned { meanwhile, latest } => {
                self.return_to(meanwhile, latest);
                self.forget_past(self.clock.now);
                self.close();
                self.clear_what_is_due();
            }
            Verdict::WasAhead { meanwhile, first, by } => {
                self.set_back(meanwhile, first, by);
                self.advance(time);
            }
        }
    }

    /// Again remembers the generations within the span by the clock that a later time made
    /// forgotten, as long as their columns still have their keys.
    fn restore(&mut self, time: u64) {
        // The oldest that is after the clock.
        let mut after = self.next;
        while after > self.oldest && self.number(BEGIN, after - 1) > time {
            after -= 1;
        }
        if !self.is_jump(after) {
            return;
        }
        let mut restored = 0;
        while let Some(generation) = self.oldest.checked_sub(1)
            && self.next - generation < u64::from(NUM_COLUMNS)
            && self.can_be_restored(generation, time)
        {
            let count = self.number(COUNT, generation);
            self.oldest = generation;
            self.items += count;
            self.came += self.number(CAME, generation);
            restored += count;
        }
        self.clock.restored(restored);
    }

    /// Whether the time jumped by more than a generation before this one began, or until now if it
    /// is the next one.
    fn is_jump(&self, generation: u64) -> bool {
        let Some(before) = generation.checked_sub(1) else { return false };
        let is_next = generation == self.next;
        let begin = if is_next { self.clock.latest() } else { self.number(BEGIN, generation) };
        begin.saturating_sub(self.number(LAST, before)) > self.plan.time
    }

    /// Whether this generation, the one before the oldest, has its keys and would be remembered at
    /// this time. (Files may have any numbers there.)
    fn can_be_restored(&self, generation: u64, time: u64) -> bool {
        let numbers = [COUNT, BEGIN, LAST, CAME].map(|which| self.number(which, generation));
        let [count, begin, last, came] = numbers;
        let is_last = self.oldest == self.next;
        (1..=self.plan.items).contains(&count)
            && (count..=MOST_CAME).contains(&came)
            && begin <= last
            && last - begin < self.plan.time
            && last <= time
            && (is_last || begin <= self.number(BEGIN, self.oldest))
            && !self.is_past(generation, time)
            && (self.forgotten == 0 || last > self.forgotten_until)
            && self.items.saturating_add(count) <= self.plan.most_items
    }

    /// The clock has returned: keys inserted meanwhile may be as young as that.
    fn return_to(&mut self, meanwhile: u64, latest: u64) {
        let now = self.clock.now;
        let begin = latest.max(now.saturating_sub(self.plan.time - 1));
        for generation in self.numbered() {
            if self.number(BEGIN, generation) == meanwhile {
                *self.number_mut(BEGIN, generation) = begin;
                *self.number_mut(LAST, generation) = now;
            }
        }
    }

    /// The latest time was ahead: it and all times after the clock are set back, in their order.
    fn set_back(&mut self, meanwhile: u64, first: u64, by: u64) {
        let mut before = 0;
        for generation in self.numbered() {
            let (begin, last) = (self.number(BEGIN, generation), self.number(LAST, generation));
            let (begin, last) = if begin == meanwhile {
                (first, self.clock.now)
            } else if last > first {
                let begin = if begin > first { begin.saturating_sub(by) } else { begin };
                (begin, last.saturating_sub(by))
            } else {
                (begin, last)
            };
            let begin = begin.max(before);
            *self.number_mut(BEGIN, generation) = begin;
            *self.number_mut(LAST, generation) = last.max(begin);
            before = begin;
        }
        if self.forgotten_until > first {
            self.forgotten_until = self.forgotten_until.saturating_sub(by).min(first);
        }
        self.open = self.oldest;
        self.close();
        self.clear_what_is_due();
    }

    /// The generations whose numbers count: those remembered, and the current one.
    fn numbered(&self) -> core::ops::Range<u64> {
        self.oldest.min(self.next.saturating_sub(1))..self.next
    }

    /// The generations that can be queried at a time before the latest one, while it is not known
    /// which is wrong.
    #[cold]
    pub(super) fn live_columns_behind(&self, time: u64, first: u64) -> u64 {
        let by = self.clock.latest().saturating_sub(first);
        let end = first.saturating_add(self.plan.time);
        // The test that `set_back` uses.
        let is_past = |generation| {
            let last = self.number(LAST, generation);
            let last = match last {
                _ if time < end || last <= first => last,
                last if last == self.clock.now => end - 1,
                last => last.saturating_sub(by),
            };
            last.saturating_add(self.plan.span) < time
        };
        let mut oldest = self.oldest;
        while oldest < self.next && is_past(oldest) {
            oldest += 1;
        }
        columns_of(oldest, self.next)
    }

    /// The bounds of the age of a generation's keys at a time.
    pub(super) fn age_of_generation(&self, generation: u64, time: u64) -> (u64, u64) {
        let (begin, last) = (self.number(BEGIN, generation), self.number(LAST, generation));
        let Some(first) = self.clock.first_behind().filter(|_| time < self.clock.latest()) else {
            let now = time.max(self.clock.now);
            return (now - last, now - begin);
        };
        // They were inserted before the clock was found to be behind, or since.
        let (time, latest) = (time.max(first), self.clock.latest());
        let most = if begin <= time {
            time - begin
        } else {
            latest.saturating_sub(begin) + (time - first)
        };
        (time.saturating_sub(last), most)
    }
}
