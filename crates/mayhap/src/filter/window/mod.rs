//! A filter that forgets: the last w keys, or the keys of the last w seconds.
//!
//! `kind.rs` is the extent of a window, `clock.rs` the time, `table.rs` the table of bits; `even/`
//! has generations of one length, for count windows, `spans/` generations that end when they are
//! full or old, for time windows. `native.rs` is the file, `fields.rs` the checks of its header
//! that both forms share; `builder.rs`, `batch.rs` and `stats.rs` are as for the other filters.

/// Calls a function of the window inside, whichever form it has.
macro_rules! with_form {
    ($form:expr, $window:ident => $call:expr) => {
        match $form {
            Form::Even($window) => $call,
            Form::Spans($window) => $call,
        }
    };
}

mod batch;
mod builder;
mod clock;
mod even;
mod fields;
mod kind;
mod native;
mod spans;
mod stats;
mod table;

pub use builder::WindowBuilder;
pub use clock::ClockJumps;
pub use kind::{Age, Window};

use super::Health;
use crate::{Digest, DigestFunction, Error, Key};
use even::EvenWindow;
use spans::SpanWindow;

/// A Bloom filter that remembers the last w keys, or the keys of the last w seconds, and forgets
/// older ones.
///
/// The window is divided into generations. The filter is a table of rows, each a word with one bit
/// per generation; row `i` of a key is `mulhi(digest · A_i, rows)`, like the bits of a
/// [`crate::BloomFilter`]. Inserting sets the current generation's bit in k rows. A query ANDs the
/// k rows: the remaining bits are the generations that may hold the key, and the newest of them
/// determines its [`Age`]. When a generation ends, the next column is reused, and its contents, the
/// oldest keys, are forgotten. By then it has been cleared, a few rows with each insertion.
///
/// A *count* window has 16 columns, and its generations end after w/14 insertions. A *time* window
/// has 64 columns, and its generations end when they have n/54 keys or are w/8 old, whichever comes
/// first, so that its rate holds under any load ([`crate::sizing::window::spans`]).
///
/// # What a window remembers
///
/// | window | surely remembered | surely forgotten, except for false positives |
/// |---|---|---|
/// | `window_items(w)` | the keys of the last w insertions | after 15/14 · w insertions |
/// | `window_time(w, n)` | keys inserted at most w ago, while there are at most n | after 9/8 · w |
///
/// If more than n keys arrive in a span of w, the rate is kept and the oldest are forgotten early,
/// so that about n remain. [`WindowBloomFilter::forgotten_early`] counts the others,
/// [`WindowBloomFilter::complete_since`] is the time from which on all are present, and
/// [`WindowBloomFilter::health`] is over capacity as long as some of the span are missing.
///
/// (w is rounded up to a whole number of generations; small windows are divided more coarsely.)
/// Every insertion counts, whether its key is present or not: a count window moves with every
/// arrival, like the last w lines of a file. A key that returns is written into the current
/// generation, so that its age restarts; with [`WindowBloomFilter::insert_absent`] it is not, and
/// the window moves on all the same. (If more than n insertions arrive in the span of a time
/// window, a key that returns within w/8 is not written again: the generation that has it is kept
/// longer. So in a stream with many repeats each key counts at most 9 times per span.)
///
/// # Clocks
///
/// The filter has no clock. In a time window the caller passes the time as a `u64` in any unit
/// ([`WindowBloomFilter::insert_at`], [`WindowBloomFilter::contains_at`],
/// [`WindowBloomFilter::advance`]); calls without a time use the latest time passed in. In a count
/// window times are ignored. Clocks are wrong at times:
///
/// * A time *before* the latest one by no more than a generation is treated as the latest one.
/// * If it is earlier than that, either may be wrong. For up to a generation (w/8) of the clock the
///   latest time stays in force for new keys, while keys of earlier times are forgotten by the
///   clock. If the clock returns to it, nothing was changed or forgotten. If not, the latest time
///   was wrong, and it and all times after the clock are set back. So keys are never forgotten
///   early for this, and at most an eighth of the span late.
/// * A time that is too *late* makes the filter forget all older keys, since it cannot know better.
///   Once the clock is right again, it again remembers the keys that are still within the span,
///   unless their columns have been reused.
/// * One case looks like a clock that was corrected: a clock that was far too early for more than a
///   generation and is then corrected. The filter forgets all earlier keys.
///
/// [`WindowBloomFilter::clock_jumps`] counts the times that were so early.
///
/// # Cost
///
/// Memory per key of the window, including all columns: 17.4 bits at 1 % and 22.9 at 0.1 % for a
/// count window; 22.0 and 28.1 for a time window. Alternatives to a count window: 15 separate
/// filters with the same slack and rate, cleared one at a time, take 16.3 bits and 15 times the
/// cache lines; two filters that take turns take 22.1 bits and remember up to 2 · w keys; keeping
/// the keys' 64-bit digests in a queue and rebuilding one filter from them takes 73.6 bits; rows
/// within one cache line per key would take 45.2.
///
/// An insertion touches k cache lines (11 at 1 % in a count window, 9 in a time window), and so
/// does a query of a present key. A query of an absent key reads 7 rows and seldom the others (7.5
/// and 7.1 lines on average), or all k where the table fits a near cache. Clearing adds half a
/// block per insertion in a count window and two and a half in a time window, in order, without a
/// pause. In a time window a column is also cleared as time passes; after an idle period the
/// remainder, at most one pass over the table as for [`WindowBloomFilter::clear`], is done by the
/// next call with a time; nothing is done if the column is empty. Queries never write.
///
/// One thread writes or many read.
///
/// # Examples
///
/// ```
/// use mayhap::WindowBloomFilter;
///
/// let mut seen = WindowBloomFilter::builder().window_items(1_000).target_fpp(1e-6).build()?;
/// for i in 0..10_000u64 {
///     assert!(seen.insert(&i)); // new
/// }
/// assert!((9_000..10_000u64).all(|i| seen.contains(&i)));
/// assert!((0..8_000u64).all(|i| !seen.contains(&i))); // forgotten
/// assert_eq!(seen.age(&9_999u64).map(|age| age.generations), Some(0));
///
/// // Times in milliseconds: keys seen in the last minute.
/// let builder = WindowBloomFilter::builder().window_time(60_000, 1_000).target_fpp(1e-6);
/// let mut seen = builder.build()?;
/// seen.insert_at("key", 1_000_000);
/// assert!(seen.contains_at("key", 1_060_000)); // a minute later
/// assert!(!seen.contains_at("key", 1_067_500)); // 9/8 of a minute later
/// # Ok::<(), mayhap::Error>(())
/// ```
#[derive(Debug)]
pub struct WindowBloomFilter {
    form: Form,
    target_fpp: f64,
    digest_function: DigestFunction,
}

/// The way in which a window's generations end.
#[derive(Debug)]
#[expect(clippy::large_enum_variant, reason = "the numbers of 64 columns, used by every call")]
enum Form {
    /// All after the same number of keys, or after the same time, as in files of older versions.
    Even(EvenWindow),
    /// After a number of keys or a time, whichever comes first.
    Spans(SpanWindow),
}

impl WindowBloomFilter {
    /// Returns a builder for a window.
    pub fn builder() -> WindowBuilder {
        WindowBuilder::new()
    }

    /// A copy of the filter.
    ///
    /// # Errors
    ///
    /// [`Error::OutOfMemory`].
    pub fn try_clone(&self) -> Result<Self, Error> {
        let form = match &self.form {
            Form::Even(window) => Form::Even(window.try_clone()?),
            Form::Spans(window) => Form::Spans(window.try_clone()?),
        };
        Ok(Self { form, ..*self })
    }

    /// Inserts a key; `true` if it is new: surely not in the window before.
    ///
    /// A key that is already present becomes as young as a new one. In a time window the key is
    /// inserted at the latest time passed in.
    #[inline]
    pub fn insert<K: Key + ?Sized>(&mut self, key: &K) -> bool {
        let digest = self.digest_function.digest(key);
        self.insert_digest(digest)
    }

    /// Like [`WindowBloomFilter::insert`], for a key that is already a digest.
    #[inline]
    pub fn insert_digest(&mut self, digest: Digest) -> bool {
        with_form!(&mut self.form, window => window.insert_digest(digest))
    }

    /// Inserts a key unless it may be in the window already; `true` if it was inserted.
    ///
    /// A repeat does not make the key young again: it is forgotten when its first insertion is, and
    /// is new once in each window, however often it recurs. (It still moves a count window on.) A
    /// key that is mistaken for a present one is not inserted, and may be new as soon as the other
    /// one is forgotten.
    ///
    /// # Examples
    ///
    /// ```
    /// use mayhap::WindowBloomFilter;
    ///
    /// let builder = WindowBloomFilter::builder().window_time(60, 1000).target_fpp(1e-6);
    /// let (mut quiet, mut seen) = (builder.clone().build()?, builder.build()?);
    /// // "disk full" is logged every second for ten minutes.
    /// let (mut mails, mut first) = (0, 0);
    /// for second in 0..600 {
    ///     quiet.advance(second);
    ///     mails += u64::from(quiet.insert_absent("disk full"));
    ///     first += u64::from(seen.insert_at("disk full", second));
    /// }
    /// assert_eq!((mails, first), (10, 1));
    /// # Ok::<(), mayhap::Error>(())
    /// ```
    #[inline]
    pub fn insert_absent<K: Key + ?Sized>(&mut self, key: &K) -> bool {
        self.insert_absent_digest(self.digest_function.digest(key))
    }

    /// Like [`WindowBloomFilter::insert_absent`], for a key that is already a digest.
    #[inline]
    pub fn insert_absent_digest(&mut self, digest: Digest) -> bool {
        if self.contains_digest(digest) {
            with_form!(&mut self.form, window => window.pass());
            return false;
        }
        self.insert_digest(digest)
    }

    /// [`WindowBloomFilter::advance`] to `now`, then [`WindowBloomFilter::insert`].
    #[inline]
    pub fn insert_at<K: Key + ?Sized>(&mut self, key: &K, now: u64) -> bool {
        self.advance(now);
        self.insert(key)
    }

    /// Like [`WindowBloomFilter::insert_at`], for a key that is already a digest.
    #[inline]
    pub fn insert_digest_at(&mut self, digest: Digest, now: u64) -> bool {
        self.advance(now);
        self.insert_digest(digest)
    }

    /// Advances the time of a time window and forgets expired keys.
    ///
    /// A time before the latest one changes nothing at first (see "Clocks" above). Calling it is
    /// optional, since calls with a time do the same; calling it now and then in idle periods
    /// spreads the work.
    ///
    /// # Examples
    ///
    /// ```
    /// use mayhap::WindowBloomFilter;
    ///
    /// let mut seen = WindowBloomFilter::builder().window_time(60, 1000).target_fpp(1e-6).build()?;
    /// seen.advance(1000);
    /// seen.insert("key");
    /// seen.advance(500); // the clock was set back: time stands still
    /// seen.advance(1060);
    /// assert!(seen.contains("key"));
    /// seen.advance(u64::MAX);
    /// assert!(!seen.contains("key"));
    /// # Ok::<(), mayhap::Error>(())
    /// ```
    #[inline]
    pub fn advance(&mut self, now: u64) {
        with_form!(&mut self.form, window => window.advance(now));
    }

    /// Whether the key may be in the window: `false` is certain, `true` is wrong with the filter's
    /// false-positive probability. In a time window: at the latest time passed in.
    #[inline]
    pub fn contains<K: Key + ?Sized>(&self, key: &K) -> bool {
        self.contains_digest(self.digest_function.digest(key))
    }

    /// Like [`WindowBloomFilter::contains`], for a key that is already a digest.
    #[inline]
    pub fn contains_digest(&self, digest: Digest) -> bool {
        with_form!(&self.form, window => {
            window.table.columns(digest, window.live_columns_at(window.now())) != 0
        })
    }

    /// Like [`WindowBloomFilter::contains`], but at the time `now`: generations that have expired
    /// by then are ignored. Changes nothing, so many threads may query at once.
    #[inline]
    pub fn contains_at<K: Key + ?Sized>(&self, key: &K, now: u64) -> bool {
        self.contains_digest_at(self.digest_function.digest(key), now)
    }

    /// Like [`WindowBloomFilter::contains_at`], for a key that is already a digest.
    #[inline]
    pub fn contains_digest_at(&self, digest: Digest, now: u64) -> bool {
        with_form!(&self.form, window => {
            window.table.columns(digest, window.live_columns_at(now)) != 0
        })
    }

    /// The time or number of keys since the last insertion of the key, if it may be in the window.
    ///
    /// A false positive in a younger generation makes a key seem younger, with at most the filter's
    /// false-positive probability; none makes it seem older.
    ///
    /// # Examples
    ///
    /// ```
    /// use mayhap::{Age, WindowBloomFilter};
    ///
    /// let mut seen = WindowBloomFilter::builder().window_items(1400).target_fpp(1e-6).build()?;
    /// for i in 0..250u64 {
    ///     seen.insert(&i); // generations of 100 keys
    /// }
    /// assert_eq!(seen.age(&20u64), Some(Age { generations: 2, at_least: 150, at_most: 249 }));
    /// assert_eq!(seen.age(&999u64), None);
    /// # Ok::<(), mayhap::Error>(())
    /// ```
    pub fn age<K: Key + ?Sized>(&self, key: &K) -> Option<Age> {
        self.age_at(key, self.now())
    }

    /// Like [`WindowBloomFilter::age`], but at the time `now`.
    pub fn age_at<K: Key + ?Sized>(&self, key: &K, now: u64) -> Option<Age> {
        self.age_of_digest_at(self.digest_function.digest(key), now)
    }

    /// Like [`WindowBloomFilter::age_at`], for a key that is already a digest.
    pub fn age_of_digest_at(&self, digest: Digest, now: u64) -> Option<Age> {
        with_form!(&self.form, window => window.age(digest, now))
    }

    /// A moment in the life of the window, for a log of its insertions: the number of keys offered
    /// to a count window, and the last time passed to a time window.
    ///
    /// A log that has the moment before the insertion of some keys, and those keys, brings another
    /// window to the same state: by [`WindowBloomFilter::resume`] at that moment, and their
    /// insertion. Keys that were offered and not inserted need no record of their own.
    ///
    /// # Examples
    ///
    /// ```
    /// use mayhap::WindowBloomFilter;
    ///
    /// let mut seen = WindowBloomFilter::builder().window_items(1400).target_fpp(1e-6).build()?;
    /// let mut other = seen.try_clone()?;
    /// for _ in 0..1500 {
    ///     seen.insert_absent("often");
    /// }
    /// let moment = seen.moment();
    /// seen.insert("new");
    /// assert_eq!((moment, seen.moment()), (1500, 1501));
    /// other.insert("often");
    /// other.resume(moment);
    /// other.insert("new");
    /// assert_eq!((other.moment(), other.contains("often")), (1501, seen.contains("often")));
    /// # Ok::<(), mayhap::Error>(())
    /// ```
    pub const fn moment(&self) -> u64 {
        with_form!(&self.form, window => window.moment())
    }

    /// Moves the window on to a [`WindowBloomFilter::moment`] of one with the same keys: a count
    /// window as if that number of keys had arrived, a time window by
    /// [`WindowBloomFilter::advance`]. An earlier moment changes nothing in a count window.
    pub fn resume(&mut self, moment: u64) {
        with_form!(&mut self.form, window => window.resume(moment));
    }

    /// Forgets every key, and the time.
    pub fn clear(&mut self) {
        with_form!(&mut self.form, window => window.clear());
    }
}
