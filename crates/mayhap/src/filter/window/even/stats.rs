//! The statistics of such a window.

use super::{EvenWindow, Window, column_of};
use crate::Health;
use crate::sizing::window::{self, Load, NUM_COLUMNS};
use alloc::vec;

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
