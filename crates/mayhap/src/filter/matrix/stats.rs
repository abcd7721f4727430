//! The statistics of the sets: their fill, the number of their keys, and how many are wrongly
//! reported.

use super::{BloomMatrix, PANEL_SETS, transpose::transpose};
use crate::sizing::matrix as sizing;
use crate::{Estimate, Health, simd};
use alloc::vec;
use alloc::vec::Vec;

impl BloomMatrix {
    /// The insertions into a set answered "new": fewer than its distinct keys, since false
    /// positives are not counted.
    ///
    /// # Panics
    ///
    /// If `set` is not below [`BloomMatrix::num_sets`]; this holds for all methods that take a set.
    pub fn inserted_items(&self, set: usize) -> u64 {
        self.counts()[set]
    }

    /// The mean number of distinct keys inserted into a set, as
    /// [`crate::FilterParams::distinct_items`]. Reads no rows.
    pub fn distinct_items(&self, set: usize) -> u64 {
        self.distinct_of(self.inserted_items(set))
    }

    fn distinct_of(&self, inserted: u64) -> u64 {
        libm::round(self.shape.intake().distinct(inserted as f64)) as u64
    }

    /// The share of a set's bits that are set. Reads all rows of its panel.
    pub fn fill_ratio(&self, set: usize) -> f64 {
        self.ones(set) as f64 / self.num_bits() as f64
    }

    /// The number of distinct keys estimated from a set's bits, with a 99 % interval. Reads all
    /// rows of its panel.
    pub fn estimated_items(&self, set: usize) -> Estimate {
        let (groups, lanes) = (self.num_groups(), self.shape.lanes() as u32);
        Estimate::from_lane_ones(groups, lanes, self.num_hashes(), self.ones(set))
    }

    /// The predicted false-positive probability of a set with `items` distinct keys
    /// ([`crate::sizing::matrix::expected_fpp`]).
    pub fn expected_fpp(&self, items: u64) -> f64 {
        sizing::expected_fpp(self.num_groups(), self.num_hashes(), items)
    }

    /// Whether a set still keeps its promise, by its count, as [`Health::of_inserted`]. Reads no
    /// rows.
    pub fn health_by_count(&self, set: usize) -> Health {
        let inserted = self.inserted_items(set);
        Health::of_intake(&self.shape.intake(), inserted, self.expected_items())
    }

    /// Whether a set still keeps its promise, as [`crate::Filter::health`]. Reads all rows of its
    /// panel; [`BloomMatrix::health_by_count`] reads none.
    pub fn health(&self, set: usize) -> Health {
        let by_bits = self.estimated_items(set).health(self.expected_items());
        by_bits.max(self.health_by_count(set))
    }

    /// The mean number of sets wrongly reported for a key that no set holds: the sum of
    /// [`BloomMatrix::expected_fpp`] over the sets' [`BloomMatrix::distinct_items`]. At most p × N
    /// while every set has at most `expected_items`. Reads no rows.
    ///
    /// # Examples
    ///
    /// ```
    /// let mut matrix = mayhap::BloomMatrix::builder()
    ///     .num_sets(200)
    ///     .expected_items(1000)
    ///     .target_fpp(0.01)
    ///     .build()?;
    /// assert_eq!(matrix.expected_wrong_sets(), 0.0);
    /// for set in 0..100 {
    ///     matrix.insert_batch(set, &(0..1000).map(|i| i * 200 + set).collect::<Vec<_>>());
    /// }
    /// // 100 full sets of the 200, each wrong for at most 1 % of the absent keys.
    /// assert!((0.9..1.0).contains(&matrix.expected_wrong_sets()));
    /// assert!((0.9..1.0).contains(&matrix.estimated_wrong_sets()));
    /// # Ok::<(), mayhap::Error>(())
    /// ```
    pub fn expected_wrong_sets(&self) -> f64 {
        let mut last = (0, 0.0);
        let fpp = |&items: &u64| {
            // Equal loads are common, and the model is a sum of hundreds of terms.
            if items != last.0 {
                last = (items, self.expected_fpp(self.distinct_of(items)));
            }
            last.1
        };
        self.counts().iter().map(fpp).sum()
    }

    /// The *current* false-positive probability of every set, from the bits themselves: exact for
    /// these contents, the mean over groups of the product over lanes of (ones/64)^(k/lanes). Reads
    /// all rows.
    pub fn estimated_fpps(&self) -> Vec<f64> {
        let mut fpps = vec![0.0; self.panels.len() * PANEL_SETS];
        for (rows, fpps) in self.panels.iter().zip(fpps.chunks_exact_mut(PANEL_SETS)) {
            // Without a branch or a separate iterator function: see `with_popcount`.
            simd::with_popcount(
                #[inline(always)]
                || {
                    for group in rows.as_ref().chunks_exact(self.shape.lanes() * 64) {
                        for word in 0..8 {
                            self.add_group_fpps(group, word, &mut fpps[word * 64..][..64]);
                        }
                    }
                },
            );
        }
        fpps.truncate(self.num_sets());
        for fpp in &mut fpps {
            *fpp /= self.num_groups() as f64;
        }
        fpps
    }

    /// Adds the probabilities that a group answers "maybe" for an absent key, for the 64 sets of a
    /// word.
    #[inline(always)]
    fn add_group_fpps(&self, group: &[crate::Block], word: usize, fpps: &mut [f64]) {
        let mut products = [1.0; 64];
        for rows in group.chunks_exact(64) {
            let mut tile = [0u64; 64];
            for (tile, row) in tile.iter_mut().zip(rows) {
                *tile = row.0[word];
            }
            transpose(&mut tile);
            for (product, column) in products.iter_mut().zip(tile) {
                *product *= f64::from(column.count_ones()) / 64.0;
            }
        }
        for (fpp, product) in fpps.iter_mut().zip(products) {
            *fpp += if self.num_hashes() == 16 { product * product } else { product };
        }
    }

    /// The mean number of sets wrongly reported for a key that no set holds, from the bits
    /// themselves: the sum of [`BloomMatrix::estimated_fpps`]. Reads all rows.
    pub fn estimated_wrong_sets(&self) -> f64 {
        self.estimated_fpps().iter().sum()
    }

    fn ones(&self, set: usize) -> u64 {
        let place = self.place(set);
        let rows = self.panels[place.panel].as_ref();
        rows.iter().map(|row| row.0[place.word] >> place.shift & 1).sum()
    }
}
