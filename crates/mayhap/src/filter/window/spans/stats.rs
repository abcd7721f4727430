//! The statistics of such a window.

use super::{COUNT, SpanWindow, Window, columns_of};
use crate::Health;
use crate::bits::block;
use crate::filter::matrix::transpose::transpose;
use crate::positions;
use crate::sizing::window::spans::{self, NUM_COLUMNS};
use crate::sizing::window::{self, Load};

/// The number of sampled queries: the share of those that several columns have is then known to 0.4
/// %.
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
