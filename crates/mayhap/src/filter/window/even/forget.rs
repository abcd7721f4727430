//! From one generation to the next: what is counted, the effect of time, and how columns are
//! cleared before they are reused.

use super::{EvenWindow, Window, column_of};
use crate::sizing::window::NUM_COLUMNS;
use crate::{Block, Digest};

impl EvenWindow {
    #[inline]
    pub(in crate::filter::window) fn advance(&mut self, now: u64) {
        if now > self.now && matches!(self.plan.window, Window::Time { .. }) {
            self.advance_to_later(now);
        }
    }

    fn advance_to_later(&mut self, now: u64) {
        let generation = now / self.plan.step;
        if generation != self.generation {
            self.begin(generation);
        }
        self.now = now;
        let spare = column_of(self.generation.wrapping_add(1));
        if self.count(spare) != 0 {
            self.clear_spare_until(self.cursor_of_time(now));
        }
    }

    /// How far the next generation's column must be clear at a time of the current one: the same
    /// share of the table as the time is of the generation, and all of it at the last tick.
    pub(super) fn cursor_of_time(&self, now: u64) -> u64 {
        let step = u128::from(self.plan.step);
        let elapsed = u128::from(now % self.plan.step) + 1;
        (u128::from(self.table.num_blocks()) * elapsed / step) as u64
    }

    /// The progress of clearing the next generation's column, derived from the rest of the state.
    pub(super) fn find_cursor(&mut self) {
        if let Window::Time { .. } = self.plan.window {
            self.cursor = self.cursor_of_time(self.now);
            return;
        }
        let count = self.count(column_of(self.generation)).min(self.plan.step);
        let blocks = u128::from(self.table.num_blocks()) * u128::from(count);
        self.cursor = (blocks / u128::from(self.plan.step)) as u64;
        self.cursor_rest = (blocks % u128::from(self.plan.step)) as u64;
    }

    /// Generations that begin until `now`.
    #[inline(always)]
    pub(super) fn generations_until(&self, now: u64) -> u64 {
        match self.plan.window {
            Window::Time { .. } if now > self.now => now / self.plan.step - self.generation,
            _ => 0,
        }
    }

    /// Whether the current generation of a count window has all its keys. The next one begins with
    /// the next key that is not in this one.
    #[inline(always)]
    pub(super) fn is_full(&self) -> bool {
        let is_count = matches!(self.plan.window, Window::Items(_));
        is_count && self.count(column_of(self.generation)) >= self.plan.step
    }

    #[inline(always)]
    pub(super) fn is_in_present(&self, digest: Digest) -> bool {
        self.table.columns(digest, 1 << column_of(self.generation)) != 0
    }

    /// The current generation has received a new key.
    #[inline(always)]
    pub(super) fn count_one(&mut self) {
        let count = self.count_mut(column_of(self.generation));
        *count = count.saturating_add(1);
        if let Window::Items(_) = self.plan.window {
            // `cursor` is floor(num_blocks · count / step), so that the column is clear when the
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
        self.cursor = 0;
        self.cursor_rest = 0;
    }

    pub(in crate::filter::window) fn clear(&mut self) {
        self.table.clear();
        self.counts = [Block::default(); 2];
        self.generation = 0;
        self.now = 0;
        self.cursor = 0;
        self.cursor_rest = 0;
    }
}
