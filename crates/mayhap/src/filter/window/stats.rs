//! What a window knows of itself.

use super::{Form, Health, Window, WindowBloomFilter};
use crate::sizing::window;
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

    /// p, the promised false-positive probability at the highest load.
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

    /// m, the bits of all columns.
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

    /// Bits per key of the window, all columns counted.
    pub fn bits_per_item(&self) -> f64 {
        self.num_bits() as f64 / self.expected_items() as f64
    }

    /// The keys or the time after which a new generation begins at the latest: a 14th of a window
    /// of keys, an eighth of one of time, rounded up.
    pub const fn generation_size(&self) -> u64 {
        with_form!(&self.form, window => window.generation_size())
    }

    /// Generations that can be queried at most, the present one among them: 15 of a window of keys,
    /// and fewer below 200 keys; 63 of one of time.
    pub const fn num_generations(&self) -> u32 {
        match &self.form {
            Form::Even(window) => window.num_generations(),
            Form::Spans(_) => window::spans::NUM_COLUMNS - 1,
        }
    }

    /// How old a key has to be that is surely forgotten: in counted keys, or in time. 15/14 of a
    /// window of keys (more for fewer than 200); 9/8 of one of time.
    pub const fn max_age(&self) -> u64 {
        with_form!(&self.form, window => window.max_age())
    }

    /// Keys that were forgotten before their time, since more came in a span of time than the
    /// window was made for: all of them so far, those that had come back in another generation
    /// counted for each. `None` for a window that never does: one of keys, and one of time from a
    /// file of an older version, whose rate rises instead.
    ///
    /// # Examples
    ///
    /// ```
    /// use mayhap::{Health, WindowBloomFilter};
    ///
    /// let mut seen = WindowBloomFilter::builder().window_time(60, 540).target_fpp(0.01).build()?;
    /// (0..540u64).for_each(|i| drop(seen.insert_at(&i, 1000))); // all at once
    /// assert_eq!((seen.forgotten_early(), seen.complete_since()), (Some(0), None));
    /// (540..2_000u64).for_each(|i| drop(seen.insert_at(&i, 1001)));
    /// assert!(seen.forgotten_early() > Some(1_400) && seen.expected_fpp_now() <= 0.01);
    /// assert_eq!((seen.health(), seen.complete_since()), (Health::OverCapacity, Some(1002)));
    /// let there = (1_000..2_000u64).filter(|i| seen.contains(i)).count();
    /// assert!((540..570).contains(&there)); // the last that came
    /// # Ok::<(), mayhap::Error>(())
    /// ```
    pub const fn forgotten_early(&self) -> Option<u64> {
        match &self.form {
            Form::Even(_) => None,
            Form::Spans(window) => Some(window.forgotten_early()),
        }
    }

    /// From when on the keys are surely remembered, if some of the last span were forgotten early.
    pub const fn complete_since(&self) -> Option<u64> {
        match &self.form {
            Form::Even(_) => None,
            Form::Spans(window) => window.complete_since(),
        }
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

    /// The predicted false-positive probability with `items` keys in a window at the highest load:
    /// just before a generation ends ([`crate::sizing::window::expected_fpp`]), and in a window of
    /// time with the keys in as few generations as can be ([`crate::sizing::window::spans`]).
    ///
    /// No window holds so many that it is above the target.
    pub fn expected_fpp(&self, items: u64) -> f64 {
        with_form!(&self.form, window => window.expected_fpp(items))
    }

    /// The predicted false-positive probability *now*, from the keys that each live generation has
    /// counted. Reads no bits, so that it can be called often.
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
    /// For a window of keys exact for these contents, whoever put them there: by inclusion and
    /// exclusion over the sets T of live columns, Σ −(−1)^|T| · (rows with all of T / rows)^k. So
    /// keys that come in every generation, which set the same bits in each column, count for one
    /// and not for 15. For the 63 columns of a window of time by sampling queries that are
    /// answered "maybe" (Karp & Luby 1983): right to a few thousandths, however low it is, in some
    /// ten milliseconds.
    ///
    /// # Examples
    ///
    /// ```
    /// use mayhap::{Health, WindowBloomFilter};
    ///
    /// let builder = WindowBloomFilter::builder().window_time(60, 1_000).target_fpp(0.01);
    /// let mut seen = builder.build()?;
    /// assert_eq!(seen.estimated_fpp(), 0.0);
    /// for i in 0..100_000u64 {
    ///     seen.insert_at(&i, 1000); // a hundred times what it was made for, all at once
    /// }
    /// let fpp = seen.estimated_fpp();
    /// assert!(fpp > 0.007 && fpp < 0.012 && seen.health() == Health::OverCapacity);
    /// # Ok::<(), mayhap::Error>(())
    /// ```
    pub fn estimated_fpp(&self) -> f64 {
        with_form!(&self.form, window => window.estimated_fpp())
    }

    /// Whether the filter keeps its promise, by what the generations have counted. Reads no block.
    ///
    /// A count window always does. A time window is over capacity while keys of the last span are
    /// forgotten, since more came than it was made for ([`WindowBloomFilter::complete_since`]), and
    /// near it from 80 % of its keys. (One from a file of an older version forgets none and is over
    /// capacity where the rate that its generations' counts predict is above `target_fpp`.)
    pub fn health(&self) -> Health {
        match &self.form {
            Form::Even(window) => window.health(self.target_fpp),
            Form::Spans(window) => window.health(),
        }
    }
}
