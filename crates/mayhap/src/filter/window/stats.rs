//! What a window knows of itself.

use super::{Health, Window, WindowBloomFilter, column_of};
use crate::sizing::window::{self, Load, NUM_COLUMNS};
use crate::{Digest, DigestFunction, Key};
use alloc::vec;

impl WindowBloomFilter {
    /// What is remembered at least.
    pub const fn window(&self) -> Window {
        self.plan.window
    }

    /// The keys of a window, w or as expected.
    pub const fn expected_items(&self) -> u64 {
        self.plan.expected_items()
    }

    /// p, the false-positive probability that was asked for at the highest load.
    pub const fn target_fpp(&self) -> f64 {
        self.target_fpp
    }

    /// How keys become digests.
    pub const fn digest_function(&self) -> &DigestFunction {
        &self.digest_function
    }

    /// The digest of a key, for asking several filters of this digest function with one hash.
    #[inline]
    pub fn digest<K: Key + ?Sized>(&self, key: &K) -> Digest {
        self.digest_function.digest(key)
    }

    /// Rows of the table.
    pub const fn num_rows(&self) -> u64 {
        self.table.num_rows
    }

    /// m, the bits of all 16 columns.
    pub const fn num_bits(&self) -> u64 {
        self.table.num_rows * NUM_COLUMNS as u64
    }

    /// k, the rows of a key.
    pub const fn num_hashes(&self) -> u32 {
        self.table.num_hashes
    }

    /// Bytes of memory that the table takes.
    pub const fn num_bytes(&self) -> u64 {
        super::num_blocks(self.table.num_rows) * 64
    }

    /// Bits per key of the window, all 16 columns counted.
    pub fn bits_per_item(&self) -> f64 {
        self.num_bits() as f64 / self.expected_items() as f64
    }

    /// The keys or the time after which a new generation begins: a 14th of the window, rounded up.
    pub const fn generation_size(&self) -> u64 {
        self.plan.step
    }

    /// Generations that can be asked, the present one among them: 15, and fewer for windows below
    /// 200 keys or ticks. A key is surely forgotten after so many times
    /// [`WindowBloomFilter::generation_size`].
    pub const fn num_generations(&self) -> u32 {
        self.plan.live
    }

    /// The latest time that was passed; 0 before, and in a count window.
    pub const fn now(&self) -> u64 {
        self.now
    }

    /// The keys that are remembered, as counted: a key that came back in a later generation counts
    /// for each.
    pub fn inserted_items(&self) -> u64 {
        self.live_counts().fold(0, u64::saturating_add)
    }

    /// The counts of the live generations, the youngest first.
    fn live_counts(&self) -> impl Iterator<Item = u64> {
        (0..u64::from(self.plan.live))
            .map(|age| self.count(column_of(self.generation.wrapping_sub(age))))
    }

    /// The share of the live generations' bits that are set. Reads every block.
    pub fn fill_ratio(&self) -> f64 {
        let bits = self.table.num_rows as f64 * f64::from(self.plan.live);
        self.table.count_ones(self.live_columns(0), 0, self.table.num_blocks()) as f64 / bits
    }

    /// The predicted false-positive probability with `items` keys in a window, evenly spread, at
    /// the highest load: just before a generation ends ([`window::expected_fpp`]).
    ///
    /// A count window never holds more than w.
    pub fn expected_fpp(&self, items: u64) -> f64 {
        let items = match self.plan.window {
            Window::Items(most) => items.min(most),
            Window::Time { .. } => items,
        };
        let of_generation = self.plan.items_of_a_generation(items);
        self.fpp_of((0..self.plan.live).map(|_| self.plan.load(of_generation)))
    }

    /// The predicted false-positive probability *now*, from the keys that each live generation has
    /// counted. Reads no bits, so that it can be asked often.
    ///
    /// # Examples
    ///
    /// ```
    /// use mayhap::WindowBloomFilter;
    ///
    /// let mut seen = WindowBloomFilter::builder().window_items(1400).target_fpp(0.01).build()?;
    /// assert_eq!(seen.expected_fpp_now(), 0.0);
    /// (0..700u64).for_each(|i| drop(seen.insert(&i)));
    /// let half = seen.expected_fpp_now();
    /// (700..10_000u64).for_each(|i| drop(seen.insert(&i)));
    /// let full = seen.expected_fpp_now();
    /// assert!(half > 0.004 && half < 0.006 && full > 0.009 && full <= 0.01);
    /// # Ok::<(), mayhap::Error>(())
    /// ```
    pub fn expected_fpp_now(&self) -> f64 {
        self.fpp_of(self.live_counts().map(Load::Counted))
    }

    fn fpp_of(&self, loads: impl Iterator<Item = Load>) -> f64 {
        window::expected_fpp(self.table.num_rows, self.table.num_hashes, loads)
    }

    /// The false-positive probability *now*, from the bits as they are. Reads every block, and
    /// takes 512 KiB and a millisecond besides.
    ///
    /// Exact for these contents, whoever put them there: by inclusion and exclusion over the sets T
    /// of live columns, Σ −(−1)^|T| · (rows with all of T / rows)^k. So keys that come in every
    /// generation, which set the same bits in each column, count for one and not for 15.
    ///
    /// # Examples
    ///
    /// ```
    /// use mayhap::{Health, WindowBloomFilter};
    ///
    /// let mut seen = WindowBloomFilter::builder().window_time(60, 100).target_fpp(0.01).build()?;
    /// assert_eq!(seen.estimated_fpp(), 0.0);
    /// for i in 0..100_000u64 {
    ///     seen.insert_at(&i, 1000); // a thousand times what it was made for
    /// }
    /// assert!(seen.estimated_fpp() > 0.99 && seen.health() == Health::OverCapacity);
    /// # Ok::<(), mayhap::Error>(())
    /// ```
    pub fn estimated_fpp(&self) -> f64 {
        let live = self.live_columns(0);
        let mut rows_with = vec![0.0; 1 << NUM_COLUMNS];
        self.table.count_values(|row| rows_with[usize::from(row & live)] += 1.0);
        // From rows that are exactly T to rows that have at least T.
        for column in (0..NUM_COLUMNS).map(|column| 1 << column) {
            for columns in 0..rows_with.len() {
                if columns & column == 0 {
                    rows_with[columns] += rows_with[columns | column];
                }
            }
        }
        let (rows, k) = (self.table.num_rows as f64, f64::from(self.table.num_hashes));
        let mut fpp = 0.0;
        for (columns, &with) in rows_with.iter().enumerate().skip(1) {
            if with != 0.0 {
                let all_hit = libm::pow(with / rows, k);
                fpp += if columns.count_ones() % 2 == 1 { all_hit } else { -all_hit };
            }
        }
        fpp.clamp(0.0, 1.0)
    }

    /// Whether the filter keeps its promise, by what the generations have counted. Reads no block.
    ///
    /// A count window always does. A time window is over capacity where the rate that its
    /// generations' counts predict is above `target_fpp`, whether too many keys came or too many at
    /// once, and near it from 80 % of the keys that it was made for.
    pub fn health(&self) -> Health {
        if matches!(self.plan.window, Window::Items(_)) {
            return Health::Ok;
        }
        let made_for = self.plan.generation_items.saturating_mul(self.plan.live.into());
        // Rounding of a logarithm is not a promise broken.
        if self.fpp_of(self.live_counts().map(Load::Counted)) > self.target_fpp * (1.0 + 1e-9) {
            Health::OverCapacity
        } else {
            Health::of(self.inserted_items() as f64, made_for).min(Health::NearCapacity)
        }
    }
}
