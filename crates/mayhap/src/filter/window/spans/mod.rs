//! Time windows whose generations end when they are full or old, so that the rate holds under any
//! load ([`crate::sizing::window::spans`]).
//!
//! `seal.rs` ends generations, forgets and clears, `clock.rs` is for clocks that are set,
//! `stats.rs` has the statistics, `native.rs` is the file.

mod clock;
mod native;
mod seal;
mod stats;
#[cfg(test)]
mod tests;

use super::clock::Clock;
use super::table::Table;
use super::{Age, Window};
use crate::bits::{Block, block};
use crate::sizing::window::spans::{self, NUM_COLUMNS};
use crate::{Digest, Error};
pub(super) use native::LAYOUT;

/// What a window is sized for, and how it is divided.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Plan {
    span: u64,
    expected_items: u64,
    /// A generation ends after this many keys.
    items: u64,
    /// Or after this much time.
    time: u64,
    /// The largest number of keys remembered.
    most_items: u64,
}

impl Plan {
    pub(super) fn new(span: u64, expected_items: u64) -> Result<Self, Error> {
        if expected_items == 0 {
            return Err(Error::ZeroItems);
        }
        if span == 0 {
            let (parameter, max) = ("window_time", u64::MAX);
            return Err(Error::OutOfRange { parameter, min: 1, max, found: 0 });
        }
        Ok(Self {
            span,
            expected_items,
            items: spans::generation_items(expected_items),
            time: spans::generation_span(span),
            most_items: spans::most_items(expected_items),
        })
    }

    /// Rows and k for a rate.
    pub(super) fn solve(&self, target_fpp: f64) -> Result<(u64, u32), Error> {
        spans::for_items(self.expected_items, target_fpp)
    }
}

/// A table of 64 columns, each one generation in turn.
///
/// Generations are numbered in the order in which they begin; the column of number i is i mod 64.
/// Those from `oldest` on are remembered. Column `next` is used next: it is cleared while the
/// current generation, the last to begin, is filled.
#[derive(Debug)]
pub(super) struct SpanWindow {
    pub(super) table: Table<u64>,
    plan: Plan,
    /// The time.
    pub(super) clock: Clock,
    /// The number of generations begun so far.
    next: u64,
    /// The oldest one remembered; `next` if there is none.
    oldest: u64,
    /// The oldest one that still accepts keys; `next` if none does.
    open: u64,
    /// The keys counted in those that are remembered, and the insertions while these were filled.
    items: u64,
    came: u64,
    /// Four numbers for each column: see [`COUNT`] and the next three.
    columns: [Block; COLUMN_BLOCKS],
    /// The number of keys forgotten early, and the latest time of one of them.
    forgotten: u64,
    forgotten_until: u64,
    /// Blocks in which column `next` is clear; meaningless if it is completely clear.
    cursor: u64,
}

/// The first of 64 words in `columns`: keys that changed a column, 0 where it is clear.
const COUNT: usize = 0;
/// The time at which a column's generation began.
const BEGIN: usize = 64;
/// The last time at which a key of a column was inserted.
const LAST: usize = 128;
/// Insertions, while a column was filled, of keys that it did not have; plus those of earlier
/// generations that were forgotten early.
const CAME: usize = 192;
const COLUMN_BLOCKS: usize = 32;
/// The largest of these, so that the sum of all does not overflow.
const MOST_CAME: u64 = 1 << 57;

/// The generations `from..to` as columns; at most 63.
#[inline(always)]
const fn columns_of(from: u64, to: u64) -> u64 {
    let ones: u64 = (1 << (to - from)) - 1;
    ones.rotate_left((from % NUM_COLUMNS as u64) as u32)
}

impl SpanWindow {
    pub(super) fn empty(plan: Plan, num_rows: u64, num_hashes: u32) -> Result<Self, Error> {
        Ok(Self::new(Table::empty(num_rows, num_hashes)?, plan))
    }

    fn new(table: Table<u64>, plan: Plan) -> Self {
        Self {
            table,
            plan,
            clock: Clock::new(plan.time),
            next: 0,
            oldest: 0,
            open: 0,
            items: 0,
            came: 0,
            columns: [Block::default(); COLUMN_BLOCKS],
            forgotten: 0,
            forgotten_until: 0,
            cursor: 0,
        }
    }

    pub(super) fn try_clone(&self) -> Result<Self, Error> {
        Ok(Self { table: self.table.try_clone()?, ..*self })
    }

    #[inline]
    pub(super) fn insert_digest(&mut self, digest: Digest) -> bool {
        let columns = self.table.columns(digest, columns_of(self.oldest, self.next));
        let open = columns & columns_of(self.open, self.next);
        if open != 0 && self.is_kept_by(open) {
            return false;
        }
        if self.open == self.next || self.number(COUNT, self.next - 1) >= self.plan.items {
            self.begin();
        }
        self.table.insert(digest, columns_of(self.next - 1, self.next));
        self.count_one();
        columns == 0
    }

    /// Whether the newest of these open generations, which have the key, keeps it: then the key is
    /// remembered for a span from now on and is not written again.
    ///
    /// The current one always does. Others do if more keys arrive than the window is sized for:
    /// then repeated keys take no more room, but a generation with one of them stays for longer.
    /// Otherwise each key is written again, and no generation stays longer than its own keys.
    #[inline]
    fn is_kept_by(&mut self, open: u64) -> bool {
        let (generation, present) = (self.newest_of(open), self.next - 1);
        if generation != present {
            if self.came <= self.plan.most_items {
                return false;
            }
            self.add_came(present, 1);
        }
        *self.number_mut(LAST, generation) = self.clock.now;
        true
    }

    pub(super) fn age(&self, digest: Digest, now: u64) -> Option<Age> {
        let columns = self.table.columns(digest, self.live_columns_at(now));
        if columns == 0 {
            return None;
        }
        let generation = self.newest_of(columns);
        let (at_least, at_most) = self.age_of_generation(generation, now);
        Some(Age { generations: (self.next - 1 - generation) as u32, at_least, at_most })
    }

    /// The columns that can be queried at the time `now`.
    #[inline(always)]
    pub(super) fn live_columns_at(&self, now: u64) -> u64 {
        let mut oldest = self.oldest;
        if now > self.clock.now {
            while oldest < self.next && self.is_past(oldest, now) {
                oldest += 1;
            }
        } else if let Some(first) = self.clock.first_behind()
            && now < self.clock.latest()
        {
            return self.live_columns_behind(now, first);
        }
        columns_of(oldest, self.next)
    }

    /// The newest of these columns' generations; there must be at least one.
    #[inline(always)]
    const fn newest_of(&self, columns: u64) -> u64 {
        // The current generation's column goes to the top, older ones follow below.
        let to_top = columns.rotate_right((self.next % NUM_COLUMNS as u64) as u32);
        self.next - 1 - to_top.leading_zeros() as u64
    }

    /// One of the numbers of a generation's column.
    #[inline(always)]
    fn number(&self, which: usize, generation: u64) -> u64 {
        block::words(&self.columns)[which + (generation % u64::from(NUM_COLUMNS)) as usize]
    }

    #[inline(always)]
    fn number_mut(&mut self, which: usize, generation: u64) -> &mut u64 {
        let column = (generation % u64::from(NUM_COLUMNS)) as usize;
        &mut block::words_mut(&mut self.columns)[which + column]
    }
}
