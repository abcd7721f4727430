//! Generations of one length: a number of keys, or a time, as in files of older versions.
//!
//! `plan.rs` divides a window into generations, `forget.rs` goes from one to the next, `stats.rs`
//! has the statistics, `native.rs` is the file.

mod forget;
mod native;
mod plan;
mod stats;

use super::clock::Clock;
use super::table::Table;
use super::{Age, Window};
use crate::bits::{Block, block};
use crate::sizing::window::NUM_COLUMNS;
use crate::{Digest, Error};
pub(super) use plan::Plan;

/// A table of 16 columns, each one generation in turn: 14 hold the window, one is filled, one is
/// cleared.
#[derive(Debug)]
pub(super) struct EvenWindow {
    pub(super) table: Table<u16>,
    plan: Plan,
    /// The current generation, from 0; its column is `generation % 16`.
    generation: u64,
    /// The time; 0 in a count window.
    pub(super) clock: Clock,
    /// The keys that came to the current generation of a count window, repeats too.
    came: u64,
    /// The keys that each column has counted. A column with a count of 0 is clear.
    counts: [Block; 2],
    /// Blocks in which the next generation's column is clear. Derived from the time or from `came`;
    /// meaningless if that column is clear.
    cursor: u64,
    /// In a count window: `num_blocks` times `came` modulo `step`.
    cursor_rest: u64,
}

const fn column_of(generation: u64) -> u32 {
    (generation % NUM_COLUMNS as u64) as u32
}

impl EvenWindow {
    pub(super) fn empty(plan: Plan, num_rows: u64, num_hashes: u32) -> Result<Self, Error> {
        Ok(Self::new(Table::empty(num_rows, num_hashes)?, plan))
    }

    fn new(table: Table<u16>, plan: Plan) -> Self {
        let (counts, clock) = ([Block::default(); 2], Clock::default());
        Self { table, plan, generation: 0, clock, came: 0, counts, cursor: 0, cursor_rest: 0 }
    }

    pub(super) fn try_clone(&self) -> Result<Self, Error> {
        Ok(Self { table: self.table.try_clone()?, ..*self })
    }

    #[inline]
    pub(super) fn insert_digest(&mut self, digest: Digest) -> bool {
        // As `contains` sees it: keys forgotten because of this one were present until now.
        let live = self.live_columns(0);
        self.make_room();
        let bit = 1 << column_of(self.generation);
        let before = self.table.insert(digest, bit);
        if before & bit == 0 {
            let count = self.count_mut(column_of(self.generation));
            *count = count.saturating_add(1);
        }
        self.move_on();
        before & live == 0
    }

    /// A key came that is not inserted.
    #[inline]
    pub(super) fn pass(&mut self) {
        self.make_room();
        self.move_on();
    }

    pub(super) fn age(&self, digest: Digest, now: u64) -> Option<Age> {
        let columns = self.table.columns(digest, self.live_columns_at(now));
        if columns == 0 {
            return None;
        }
        // The current generation's column goes to the top, older ones follow below.
        let generations = (columns as u16).rotate_left(self.present_to_top()).leading_zeros();
        Some(match self.plan.window {
            Window::Items(_) => self.plan.age_in_items(generations, self.came),
            Window::Time { .. } => {
                let generation = self.generation.saturating_sub(generations.into());
                self.plan.age_in_time(generation, now.max(self.now()))
            }
        })
    }

    /// The columns that can be queried at the time `now`.
    #[inline(always)]
    pub(super) fn live_columns_at(&self, now: u64) -> u64 {
        self.live_columns(self.generations_until(now))
    }

    /// The columns that can be queried, `ahead` generations after the current one.
    #[inline(always)]
    fn live_columns(&self, ahead: u64) -> u64 {
        let live = u64::from(self.plan.live).saturating_sub(ahead) as u32;
        let from_top = !(u16::MAX.checked_shr(live).unwrap_or(0));
        from_top.rotate_right(self.present_to_top()).into()
    }

    #[inline(always)]
    fn present_to_top(&self) -> u32 {
        NUM_COLUMNS - 1 - column_of(self.generation)
    }

    fn count(&self, column: u32) -> u64 {
        block::words(&self.counts)[column as usize]
    }

    fn count_mut(&mut self, column: u32) -> &mut u64 {
        &mut block::words_mut(&mut self.counts)[column as usize]
    }
}
