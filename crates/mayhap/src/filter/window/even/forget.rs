//! From one generation to the next: the counts, the effect of time, and how columns are cleared
//! before they are reused.

use super::{Clock, EvenWindow, Window, column_of};
use crate::Block;
use crate::bits::block;
use crate::filter::window::clock::Verdict;
use crate::sizing::window::NUM_COLUMNS;

impl EvenWindow {
    #[inline]
    pub(in crate::filter::window) fn advance(&mut self, now: u64) {
        if let Window::Time { .. } = self.plan.window {
            if self.clock.is_doubtful(now, self.plan.step) {
                self.look_back(now);
            } else if now > self.clock.now {
                self.advance_to_later(now);
            }
        }
    }

    fn advance_to_later(&mut self, now: u64) {
        let generation = now / self.plan.step;
        if generation != self.generation {
            self.begin(generation);
        }
        self.clock.now = now;
        let spare = column_of(self.generation.wrapping_add(1));
        if self.count(spare) != 0 {
            self.clear_spare_until(self.cursor_of_time(now));
        }
    }

    /// The clock was set back.
    #[cold]
    fn look_back(&mut self, now: u64) {
        match self.clock.judge(now, self.plan.step) {
            Verdict::Behind | Verdict::Unknown => {}
            Verdict::Returned { .. } => self.return_to(now),
            Verdict::WasAhead { .. } => {
                self.set_back();
                self.advance(now);
            }
        }
    }

    /// The clock has returned: keys inserted meanwhile may be as young as that, and are in the
    /// column of the latest time.
    fn return_to(&mut self, now: u64) {
        let (from, later) = (column_of(self.generation), now / self.plan.step);
        if later.saturating_sub(self.generation) >= u64::from(NUM_COLUMNS) - 1 {
            // All other generations are too old, and the column of this one may be the spare.
            self.table.clear_columns(0xFFFF ^ 1 << from, 0, self.table.num_blocks());
            for column in (0..NUM_COLUMNS).filter(|&column| column != from) {
                *self.count_mut(column) = 0;
            }
            self.renumber(later);
            self.clock.now = now;
            return;
        }
        self.advance_to_later(now.max(self.clock.now));
        let to = column_of(self.generation);
        if from != to {
            self.table.copy_column(from, to);
            *self.count_mut(to) = self.count(from);
        }
    }

    /// All keys are older by as many generations as the latest time was ahead.
    fn set_back(&mut self) {
        self.renumber(self.clock.now / self.plan.step);
        self.cursor = 0;
        self.clear_spare_until(self.cursor_of_time(self.clock.now));
    }

    /// Makes this the number of the current generation, and renumbers the earlier ones: the columns
    /// change places.
    fn renumber(&mut self, generation: u64) {
        let by = column_of(self.generation.wrapping_sub(generation));
        self.table.rotate_columns_right(by);
        block::words_mut(&mut self.counts).rotate_left(by as usize);
        self.generation = generation;
    }

    /// The number of keys offered so far to a count window; the last time passed to a time window.
    pub(in crate::filter::window) const fn moment(&self) -> u64 {
        match self.plan.window {
            Window::Items(_) => {
                self.generation.saturating_mul(self.plan.step).saturating_add(self.came)
            }
            Window::Time { .. } => self.clock.passed(),
        }
    }

    /// Moves a window on to a moment of one that had the same keys.
    pub(in crate::filter::window) fn resume(&mut self, moment: u64) {
        if let Window::Time { .. } = self.plan.window {
            return self.advance(moment);
        }
        if moment > self.moment() {
            let generation = (moment - 1) / self.plan.step;
            if generation != self.generation {
                self.begin(generation);
            }
            self.came = moment - generation * self.plan.step;
            let (cursor, rest) = self.cursor_of_items();
            self.clear_spare_until(cursor);
            self.cursor_rest = rest;
        }
    }

    /// How far the next generation's column must be clear at a time of the current one: the same
    /// share of the table as the time is of the generation, and all of it at the last tick.
    pub(super) fn cursor_of_time(&self, now: u64) -> u64 {
        let step = u128::from(self.plan.step);
        let elapsed = u128::from(now % self.plan.step) + 1;
        (u128::from(self.table.num_blocks()) * elapsed / step) as u64
    }

    /// The same for the keys offered to the current generation of a count window, with the
    /// remainder of the division.
    fn cursor_of_items(&self) -> (u64, u64) {
        let step = u128::from(self.plan.step);
        let blocks = u128::from(self.table.num_blocks()) * u128::from(self.came);
        ((blocks / step) as u64, (blocks % step) as u64)
    }

    /// The progress of clearing the next generation's column, derived from the rest of the state.
    pub(super) fn find_cursor(&mut self) {
        if let Window::Time { .. } = self.plan.window {
            self.cursor = self.cursor_of_time(self.clock.now);
        } else {
            (self.cursor, self.cursor_rest) = self.cursor_of_items();
        }
    }

    /// Generations that begin until `now`.
    #[inline(always)]
    pub(super) fn generations_until(&self, now: u64) -> u64 {
        match self.plan.window {
            Window::Time { .. } if now > self.clock.now => now / self.plan.step - self.generation,
            _ => 0,
        }
    }

    /// Begins the next generation of a count window for an arriving key, if the current one has had
    /// all the keys that belong to it.
    #[inline(always)]
    pub(super) fn make_room(&mut self) {
        if matches!(self.plan.window, Window::Items(_)) && self.came >= self.plan.step {
            self.begin(self.generation.wrapping_add(1));
        }
    }

    /// A key has arrived: a count window moves on, whichever key it is.
    #[inline(always)]
    pub(super) fn move_on(&mut self) {
        if let Window::Items(_) = self.plan.window {
            self.came += 1;
            // `cursor` is floor(num_blocks · came / step), so that the column is clear when the
            // generation is full.
            let blocks = self.cursor_rest + self.table.num_blocks();
            let step = self.plan.step;
            if blocks >= step {
                // Once as a rule: a division takes longer than all the rest.
                let once = blocks - step;
                let (times, rest) =
                    if once < step { (1, once) } else { (blocks / step, blocks % step) };
                self.cursor_rest = rest;
                self.clear_spare_until(self.cursor + times);
            } else {
                self.cursor_rest = blocks;
            }
        }
    }

    /// Clears the next generation's column up to the block `end`.
    #[inline]
    fn clear_spare_until(&mut self, end: u64) {
        let spare = column_of(self.generation.wrapping_add(1));
        if self.count(spare) != 0 {
            self.table.clear_columns(1 << spare, self.cursor, end);
            if end == self.table.num_blocks() {
                *self.count_mut(spare) = 0;
            }
        }
        self.cursor = end;
    }

    /// Begins a later generation: its column, and those of the generations in between, which
    /// received no key, must be clear.
    pub(super) fn begin(&mut self, generation: u64) {
        let passed = generation.wrapping_sub(self.generation);
        if passed == 1 {
            self.clear_spare_until(self.table.num_blocks());
        } else {
            let mut stale = 0;
            for i in 1..=passed.min(NUM_COLUMNS.into()) {
                let column = column_of(self.generation.wrapping_add(i));
                if self.count(column) != 0 {
                    stale |= 1 << column;
                    *self.count_mut(column) = 0;
                }
            }
            if stale != 0 {
                self.table.clear_columns(stale, 0, self.table.num_blocks());
            }
        }
        self.generation = generation;
        self.came = 0;
        self.cursor = 0;
        self.cursor_rest = 0;
    }

    pub(in crate::filter::window) fn clear(&mut self) {
        self.table.clear();
        self.counts = [Block::default(); 2];
        self.generation = 0;
        self.clock = Clock::default();
        self.came = 0;
        self.cursor = 0;
        self.cursor_rest = 0;
    }
}
