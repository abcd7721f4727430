//! What a window knows of itself.

use super::{Form, Health, Window, WindowBloomFilter};
use crate::{Digest, DigestFunction, Key};

impl WindowBloomFilter {
    /// What is remembered at least.
    pub const fn window(&self) -> Window {
        with_form!(&self.form, window => window.window())
    }

    /// The keys of a window, w or as expected.
    pub const fn expected_items(&self) -> u64 {
        self.window().expected_items()
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
        with_form!(&self.form, window => window.table.num_rows)
    }

    /// m, the bits of all 16 columns.
    pub const fn num_bits(&self) -> u64 {
        with_form!(&self.form, window => window.table.num_bits())
    }

    /// k, the rows of a key.
    pub const fn num_hashes(&self) -> u32 {
        with_form!(&self.form, window => window.table.num_hashes)
    }

    /// Bytes of memory that the table takes.
    pub const fn num_bytes(&self) -> u64 {
        with_form!(&self.form, window => window.table.num_bytes())
    }

    /// Bits per key of the window, all 16 columns counted.
    pub fn bits_per_item(&self) -> f64 {
        self.num_bits() as f64 / self.expected_items() as f64
    }

    /// The keys or the time after which a new generation begins: a 14th of the window, rounded up.
    pub const fn generation_size(&self) -> u64 {
        with_form!(&self.form, window => window.generation_size())
    }

    /// Generations that can be asked, the present one among them: 15, and fewer for windows below
    /// 200 keys or ticks. A key is surely forgotten after so many times
    /// [`WindowBloomFilter::generation_size`].
    pub const fn num_generations(&self) -> u32 {
        with_form!(&self.form, window => window.num_generations())
    }

    /// The latest time that was passed; 0 before, and in a count window.
    pub const fn now(&self) -> u64 {
        with_form!(&self.form, window => window.now())
    }

    /// The keys that are remembered, as counted: a key that came back in a later generation counts
    /// for each.
    pub fn inserted_items(&self) -> u64 {
        with_form!(&self.form, window => window.inserted_items())
    }

    /// The share of the live generations' bits that are set. Reads every block.
    pub fn fill_ratio(&self) -> f64 {
        with_form!(&self.form, window => window.fill_ratio())
    }

    /// The predicted false-positive probability with `items` keys in a window, evenly spread, at
    /// the highest load: just before a generation ends ([`window::expected_fpp`]).
    ///
    /// A count window never holds more than w.
    pub fn expected_fpp(&self, items: u64) -> f64 {
        with_form!(&self.form, window => window.expected_fpp(items))
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
        with_form!(&self.form, window => window.expected_fpp_now())
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
        with_form!(&self.form, window => window.estimated_fpp())
    }

    /// Whether the filter keeps its promise, by what the generations have counted. Reads no block.
    ///
    /// A count window always does. A time window is over capacity where the rate that its
    /// generations' counts predict is above `target_fpp`, whether too many keys came or too many at
    /// once, and near it from 80 % of the keys that it was made for.
    pub fn health(&self) -> Health {
        with_form!(&self.form, window => window.health(self.target_fpp))
    }
}
