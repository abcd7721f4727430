//! The statistics of a window.

use super::{ClockJumps, Form, Health, Window, WindowBloomFilter};
use crate::sizing::window;
use crate::{Digest, DigestFunction, Key};

impl WindowBloomFilter {
    /// The window: the keys remembered at least.
    pub const fn window(&self) -> Window {
        with_form!(&self.form, window => window.window())
    }

    /// The number of keys of a window, w or as expected.
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

    /// The digest of a key, for querying several filters with the same digest function at the cost
    /// of one hash.
    #[inline]
    pub fn digest<K: Key + ?Sized>(&self, key: &K) -> Digest {
        self.digest_function.digest(key)
    }

    /// Rows of the table.
    pub const fn num_rows(&self) -> u64 {
        with_form!(&self.form, window => window.table.num_rows())
    }

    /// m, the bits of all columns.
    pub const fn num_bits(&self) -> u64 {
        with_form!(&self.form, window => window.table.num_bits())
    }

    /// k, the rows of a key.
    pub const fn num_hashes(&self) -> u32 {
        with_form!(&self.form, window => window.table.num_hashes())
    }

    /// Bytes of memory that the table takes.
    pub const fn num_bytes(&self) -> u64 {
        with_form!(&self.form, window => window.table.num_bytes())
    }

    /// Bits per key of the window, including all columns.
    pub fn bits_per_item(&self) -> f64 {
        self.num_bits() as f64 / self.expected_items() as f64
    }

    /// The number of insertions or the time after which a new generation begins at the latest: a
    /// 14th of a count window, an eighth of a time window, rounded up.
    pub const fn generation_size(&self) -> u64 {
        with_form!(&self.form, window => window.generation_size())
    }

    /// The largest number of generations that can be queried, including the current one: 15 in a
    /// count window, fewer below 200 keys; 63 in a time window.
    pub const fn num_generations(&self) -> u32 {
        match &self.form {
            Form::Even(window) => window.num_generations(),
            Form::Spans(_) => window::spans::NUM_COLUMNS - 1,
        }
    }

    /// The age at which a key has surely been forgotten, in insertions or in time: 15/14 of a count
    /// window (more for fewer than 200 keys); 9/8 of a time window.
    pub const fn max_age(&self) -> u64 {
        with_form!(&self.form, window => window.max_age())
    }

    /// The number of keys forgotten early so far, because more arrived in a span of time than the
    /// window was sized for; a key that was in several generations counts for each. `None` for
    /// windows that never forget early: count windows, and time windows from files of an older
    /// version, whose rate rises instead.
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
    /// assert!((540..570).contains(&there)); // the last to arrive
    /// # Ok::<(), mayhap::Error>(())
    /// ```
    pub const fn forgotten_early(&self) -> Option<u64> {
        match &self.form {
            Form::Even(_) => None,
            Form::Spans(window) => Some(window.forgotten_early()),
        }
    }

    /// The time from which on all keys are surely remembered, if some of the last span were
    /// forgotten early.
    pub const fn complete_since(&self) -> Option<u64> {
        match &self.form {
            Form::Even(_) => None,
            Form::Spans(window) => window.complete_since(),
        }
    }

    /// How often the clock of a time window was set back since the window was built or loaded.
    ///
    /// # Examples
    ///
    /// ```
    /// use mayhap::WindowBloomFilter;
    ///
    /// let mut seen = WindowBloomFilter::builder().window_time(60, 1000).target_fpp(1e-6).build()?;
    /// seen.insert_at("before", 1_000);
    /// seen.insert_at("ahead", 1_000_000); // for one key the clock was wrong
    /// assert!(!seen.contains("before"));
    /// seen.advance(1_001);
    /// assert!(seen.contains("before") && seen.is_ahead_of(1_001));
    /// seen.advance(1_009); // a generation later it is certain
    /// assert!(seen.contains("before") && seen.contains("ahead") && !seen.is_ahead_of(1_009));
    /// seen.advance(1_070);
    /// assert!(!seen.contains("before") && !seen.contains("ahead"));
    /// let jumps = seen.clock_jumps();
    /// assert_eq!((jumps.count, jumps.ahead, jumps.restored), (1, 998_999, 1));
    /// # Ok::<(), mayhap::Error>(())
    /// ```
    pub const fn clock_jumps(&self) -> ClockJumps {
        with_form!(&self.form, window => window.clock.jumps())
    }

    /// Whether the latest time is after this one by more than a generation of a time window, or was
    /// lately, and it is not known yet which is wrong: then [`WindowBloomFilter::advance`] has
    /// something to do at a time that is not later.
    pub const fn is_ahead_of(&self, time: u64) -> bool {
        self.now() > 0
            && with_form!(&self.form, window => {
                window.clock.is_doubtful(time, window.generation_size())
            })
    }

    /// The latest time passed in, unless that was set back; 0 before, and in a count window.
    pub const fn now(&self) -> u64 {
        with_form!(&self.form, window => window.clock.latest())
    }

    /// The number of remembered keys as counted: a key that is in several generations counts for
    /// each.
    pub fn inserted_items(&self) -> u64 {
        with_form!(&self.form, window => window.inserted_items())
    }

    /// The share of the live generations' bits that are set. Reads every block.
    pub fn fill_ratio(&self) -> f64 {
        with_form!(&self.form, window => window.fill_ratio())
    }

    /// The predicted false-positive probability with `items` keys in a window at the highest load:
    /// just before a generation ends ([`crate::sizing::window::expected_fpp`]), and in a time
    /// window with the keys in as few generations as possible ([`crate::sizing::window::spans`]).
    ///
    /// No window holds enough keys to be above the target.
    pub fn expected_fpp(&self, items: u64) -> f64 {
        with_form!(&self.form, window => window.expected_fpp(items))
    }

    /// The predicted *current* false-positive probability, from the keys that each live generation
    /// has counted. Reads no bits, so that it can be called often.
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

    /// The *current* false-positive probability, from the bits themselves. Reads every block, and
    /// also takes 512 KiB and a millisecond.
    ///
    /// For a count window it is exact for these contents, whatever their origin: by inclusion and
    /// exclusion over the sets T of live columns, Σ −(−1)^|T| · (rows with all of T / rows)^k. So
    /// keys that occur in every generation, and set the same bits in each column, count once and
    /// not 15 times. For the 63 columns of a time window it is computed by sampling queries that
    /// are answered "maybe" (Karp & Luby 1983): accurate to a few thousandths, however low the
    /// rate, in some ten milliseconds.
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
    ///     seen.insert_at(&i, 1000); // a hundred times its n, all at once
    /// }
    /// let fpp = seen.estimated_fpp();
    /// assert!(fpp > 0.007 && fpp < 0.012 && seen.health() == Health::OverCapacity);
    /// # Ok::<(), mayhap::Error>(())
    /// ```
    pub fn estimated_fpp(&self) -> f64 {
        with_form!(&self.form, window => window.estimated_fpp())
    }

    /// Whether the filter keeps its promise, from the counts of the generations. Reads no block.
    ///
    /// A count window always does. A time window is over capacity while keys of the last span have
    /// been forgotten because more arrived than it was sized for
    /// ([`WindowBloomFilter::complete_since`]), and near capacity from 80 % of its keys on. (One
    /// from a file of an older version does not forget early and is over capacity if the rate
    /// predicted from the counts of its generations is above `target_fpp`.)
    pub fn health(&self) -> Health {
        match &self.form {
            Form::Even(window) => window.health(self.target_fpp),
            Form::Spans(window) => window.health(),
        }
    }
}
