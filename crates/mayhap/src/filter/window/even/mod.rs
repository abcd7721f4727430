//! Generations of one length: a number of keys, or a time, as in files of older versions.
//!
//! `plan.rs` divides a window into generations, `forget.rs` moves from one to the next, `native.rs`
//! is the file.

mod forget;
mod native;
mod plan;

pub(super) use plan::Plan;

use super::clock::Clock;
use super::table::Table;
use super::{Age, Window};
use crate::bits::{Block, block};
use crate::sizing::window::{self, Load, NUM_COLUMNS};
use crate::{Digest, Error, Health};
use alloc::vec;

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
    /// The number of keys offered to the current generation of a count window, repeats included.
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
        // From the view of `contains`: keys forgotten because of this one were present until now.
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

    /// Counts a key that is not inserted.
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
        // The current generation's column is rotated to the top, older ones follow below.
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

impl EvenWindow {
    pub(in crate::filter::window) const fn window(&self) -> Window {
        self.plan.window
    }

    pub(in crate::filter::window) const fn now(&self) -> u64 {
        self.clock.now
    }

    pub(in crate::filter::window) const fn generation_size(&self) -> u64 {
        self.plan.step
    }

    pub(in crate::filter::window) const fn num_generations(&self) -> u32 {
        self.plan.live
    }

    pub(in crate::filter::window) const fn max_age(&self) -> u64 {
        self.plan.step.saturating_mul(self.plan.live as u64)
    }

    pub(in crate::filter::window) fn inserted_items(&self) -> u64 {
        self.live_counts().fold(0, u64::saturating_add)
    }

    /// The counts of the live generations, the youngest first.
    fn live_counts(&self) -> impl Iterator<Item = u64> {
        (0..u64::from(self.plan.live))
            .map(|age| self.count(column_of(self.generation.wrapping_sub(age))))
    }

    pub(in crate::filter::window) fn fill_ratio(&self) -> f64 {
        let bits = self.table.num_rows() as f64 * f64::from(self.plan.live);
        self.table.count_ones(self.live_columns(0), 0, self.table.num_blocks()) as f64 / bits
    }

    pub(in crate::filter::window) fn expected_fpp(&self, items: u64) -> f64 {
        let items = match self.plan.window {
            Window::Items(most) => items.min(most),
            Window::Time { .. } => items,
        };
        let of_generation = self.plan.items_of_a_generation(items);
        self.fpp_of((0..self.plan.live).map(|_| Load::Distinct(of_generation)))
    }

    pub(in crate::filter::window) fn expected_fpp_now(&self) -> f64 {
        self.fpp_of(self.live_counts().map(Load::Counted))
    }

    fn fpp_of(&self, loads: impl Iterator<Item = Load>) -> f64 {
        window::expected_fpp(self.table.num_rows(), self.table.num_hashes(), loads)
    }

    /// By inclusion and exclusion over the sets T of live columns, Σ −(−1)^|T| · (rows with all of
    /// T / rows)^k.
    pub(in crate::filter::window) fn estimated_fpp(&self) -> f64 {
        let live = self.live_columns(0);
        let mut rows_with = vec![0.0; 1 << NUM_COLUMNS];
        self.table.for_each_row(|row| rows_with[(row & live) as usize] += 1.0);
        // From rows that are exactly T to rows that have at least T.
        for column in (0..NUM_COLUMNS).map(|column| 1 << column) {
            for columns in 0..rows_with.len() {
                if columns & column == 0 {
                    rows_with[columns] += rows_with[columns | column];
                }
            }
        }
        let (rows, k) = (self.table.num_rows() as f64, f64::from(self.table.num_hashes()));
        let mut fpp = 0.0;
        for (columns, &with) in rows_with.iter().enumerate().skip(1) {
            if with != 0.0 {
                let all_hit = libm::pow(with / rows, k);
                fpp += if columns.count_ones() % 2 == 1 { all_hit } else { -all_hit };
            }
        }
        fpp.clamp(0.0, 1.0)
    }

    /// A count window always keeps its promise. A time window is over capacity if the rate
    /// predicted from the counts of its generations is above `target_fpp`.
    pub(in crate::filter::window) fn health(&self, target_fpp: f64) -> Health {
        if matches!(self.plan.window, Window::Items(_)) {
            return Health::Ok;
        }
        let made_for = self.plan.generation_items.saturating_mul(self.plan.live.into());
        // The rounding of a logarithm does not break a promise.
        if self.expected_fpp_now() > target_fpp * (1.0 + 1e-9) {
            Health::OverCapacity
        } else {
            Health::of(self.inserted_items() as f64, made_for).min(Health::NearCapacity)
        }
    }
}
