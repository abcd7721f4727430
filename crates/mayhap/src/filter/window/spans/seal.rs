//! How generations begin and end, by their keys or by the time; what is forgotten, and how columns
//! are cleared before they are reused.

use super::{BEGIN, CAME, COLUMN_BLOCKS, COUNT, LAST, MOST_CAME, SpanWindow, columns_of};
use crate::bits::Block;
use crate::filter::window::clock::Clock;
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

    /// Forgets the generations of which no key is within the span that ends at `now`.
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

    /// A key came that is not inserted: the time alone ends generations.
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
        // They arrived within the span nevertheless: they count with the next generation until that
        // has passed.
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
