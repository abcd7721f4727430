//! Time windows whose generations end when they are full or old, so that the rate holds under any
//! load ([`crate::sizing::window::spans`]).
//!
//! `seal.rs` ends generations, forgets and clears, also when a clock is set; `native.rs` is the
//! file.

mod native;
mod seal;
#[cfg(test)]
mod tests;

pub(super) use native::LAYOUT;

use super::clock::Clock;
use super::table::Table;
use super::{Age, Window};
use crate::bits::{Block, block};
use crate::filter::matrix::transpose::transpose;
use crate::sizing::window::spans::{self, NUM_COLUMNS};
use crate::sizing::window::{self, Load};
use crate::{Digest, Error, Health, positions};

/// The keys that a window is sized for, and its division.
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
        Window::Time { span, expected_items }.check()?;
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
/// Generations from `oldest` on are remembered. Column `next` is used next: it is cleared while the
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
    /// The oldest generation that still accepts keys; `next` if none does.
    open: u64,
    /// The keys counted in the remembered generations, and the insertions while these were filled.
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
/// Insertions, while a column was filled, of keys that it did not have; plus the same for earlier
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
    /// then repeated keys take no more room, but a generation with one of them is kept longer.
    /// Otherwise each key is written again, and no generation is kept longer than its own keys.
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
        // The current generation's column is rotated to the top, older ones follow below.
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

/// The number of sampled queries: the share of queries that match in several columns is then known
/// to 0.4 %.
const SAMPLES: u32 = 1 << 16;

/// A column with fewer rows set answers almost no query.
const SPARSE: f64 = 1.0 / 64.0;

const TWO_TO_64: f64 = 18_446_744_073_709_551_616.0;

impl SpanWindow {
    pub(in crate::filter::window) const fn window(&self) -> Window {
        Window::Time { span: self.plan.span, expected_items: self.plan.expected_items }
    }

    pub(in crate::filter::window) const fn now(&self) -> u64 {
        self.clock.now
    }

    pub(in crate::filter::window) const fn generation_size(&self) -> u64 {
        self.plan.time
    }

    pub(in crate::filter::window) const fn max_age(&self) -> u64 {
        self.plan.span.saturating_add(self.plan.time)
    }

    pub(in crate::filter::window) const fn inserted_items(&self) -> u64 {
        self.items
    }

    pub(in crate::filter::window) const fn forgotten_early(&self) -> u64 {
        self.forgotten
    }

    pub(in crate::filter::window) const fn complete_since(&self) -> Option<u64> {
        let is_of_span = self.forgotten_until.saturating_add(self.plan.span) >= self.clock.now;
        if self.forgotten > 0 && is_of_span {
            Some(self.forgotten_until.saturating_add(1))
        } else {
            None
        }
    }

    pub(in crate::filter::window) fn fill_ratio(&self) -> f64 {
        let bits = self.table.num_rows() as f64 * f64::from(NUM_COLUMNS - 1);
        let live = columns_of(self.oldest, self.next);
        self.table.count_ones(live, 0, self.table.num_blocks()) as f64 / bits
    }

    pub(in crate::filter::window) fn expected_fpp(&self, items: u64) -> f64 {
        let (rows, k) = (self.table.num_rows(), self.table.num_hashes());
        spans::expected_fpp(rows, k, self.plan.expected_items, items)
    }

    pub(in crate::filter::window) fn expected_fpp_now(&self) -> f64 {
        let counts = (self.oldest..self.next).map(|generation| self.number(COUNT, generation));
        let (rows, k) = (self.table.num_rows(), self.table.num_hashes());
        window::expected_fpp(rows, k, counts.map(Load::Counted))
    }

    /// The probability of a union, by Karp and Luby 1983, *Monte-Carlo algorithms for enumeration
    /// and reliability problems*: Σ p(c) · E[1 / N], with p(c) the rate of a column c, and N the
    /// number of columns that have all k rows of a query that c has, where c is drawn with
    /// probability proportional to its rate. Exact if no two columns share keys, as N is then 1,
    /// and accurate to a few thousandths whatever they share.
    pub(in crate::filter::window) fn estimated_fpp(&self) -> f64 {
        let live = columns_of(self.oldest, self.next);
        let fills = self.column_fills();
        let k = self.table.num_hashes();
        let (mut sum, mut until) = (0.0, [0.0; 64]);
        for column in 0..64 {
            if live >> column & 1 == 1 {
                sum += libm::pow(fills[column], f64::from(k));
            }
            until[column] = sum;
        }
        if sum == 0.0 {
            return 0.0;
        }
        let mut random = (0..).map(positions::splitmix64);
        let mut next = || random.next().unwrap_or_default();
        let mut mean = 0.0;
        for _ in 0..SAMPLES {
            let at = next() as f64 / TWO_TO_64 * sum;
            let column = until.partition_point(|&until| until <= at).min(63);
            if fills[column] < SPARSE {
                // Its queries share their rows with no others.
                mean += 1.0;
                continue;
            }
            let mut columns = live;
            for _ in 0..k {
                // Rows that have the column, drawn uniformly.
                let row = loop {
                    let row = self.table.row(positions::mulhi(next(), self.table.num_rows()));
                    if row >> column & 1 == 1 {
                        break row;
                    }
                };
                columns &= row;
            }
            mean += 1.0 / f64::from(columns.count_ones());
        }
        (sum * mean / f64::from(SAMPLES)).min(1.0)
    }

    /// The share of rows that have each column.
    fn column_fills(&self) -> [f64; 64] {
        let mut ones = [0u64; 64];
        for rows in block::words(self.table.blocks.as_ref()).chunks(64) {
            let mut tile = [0; 64];
            tile[..rows.len()].copy_from_slice(rows);
            transpose(&mut tile);
            for (ones, word) in ones.iter_mut().zip(tile) {
                *ones += u64::from(word.count_ones());
            }
        }
        ones.map(|ones| ones as f64 / self.table.num_rows() as f64)
    }

    /// Over capacity while keys of the span have been forgotten because more arrived than the
    /// window was sized for; the rate is kept nevertheless.
    pub(in crate::filter::window) fn health(&self) -> Health {
        if self.complete_since().is_some() {
            Health::OverCapacity
        } else {
            Health::of(self.items as f64, self.plan.expected_items).min(Health::NearCapacity)
        }
    }
}
