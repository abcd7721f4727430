//! What a clock that is set does to the generations: while it is not known whether it or the latest
//! time is wrong, keys get the latest time, and the others are forgotten by the clock.

use super::{BEGIN, CAME, COUNT, LAST, MOST_CAME, SpanWindow, columns_of};
use crate::filter::window::clock::Verdict;
use crate::sizing::window::spans::NUM_COLUMNS;

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

    /// Remembers the generations again of which the clock says that they are within the span, if a
    /// time after it made them forgotten, and as long as their columns still have their keys.
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

    /// The clock has returned: keys that came meanwhile may be as young as that.
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
        // As `set_back` would have it.
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
        // They came before the clock was found to be behind, or since.
        let (time, latest) = (time.max(first), self.clock.latest());
        let most = if begin <= time {
            time - begin
        } else {
            latest.saturating_sub(begin) + (time - first)
        };
        (time.saturating_sub(last), most)
    }
}
