//! The filter for many threads.

use super::codec::Form;
use super::filter::GuavaFilter;
use super::scheme::GuavaScheme;
use crate::java::{approximate_count, expected_fpp};
use crate::{Bits, Scheme, SchemeFilter};
use std::sync::atomic::{AtomicU64, Ordering};

/// A [`GuavaFilter`] that many threads fill and query at once, without locks, and that knows at any
/// time how many of its bits are set: the `LockFreeBitArray` of Guava 23 and later.
///
/// A bit that is set already is only read. Any other bit is set by one atomic step, and the call
/// that changed it counts it, so that no bit is counted twice. The count never exceeds the bits
/// that are set; it is exact when no insertion is under way. A query touches up to k cache lines;
/// so does an insertion, and that of the count if the key is new.
///
/// # Examples
///
/// ```
/// use mayhap_formats::{GuavaFilter, GuavaOptions, Limits, SharedGuavaFilter};
///
/// let filter = GuavaFilter::create(&GuavaOptions::new(1_000), &Limits::default())?;
/// let seen = SharedGuavaFilter::from(filter);
/// std::thread::scope(|scope| {
///     for first in [0_i64, 100, 200, 300] {
///         let seen = &seen;
///         scope.spawn(move || {
///             for id in first..first + 100 {
///                 seen.insert(&id.to_le_bytes());
///             }
///         });
///     }
/// });
/// assert!((390..=410).contains(&seen.approximate_element_count().unwrap()));
/// let filter = GuavaFilter::from(seen); // to be written as Guava's stream
/// assert!((0..400).all(|id| filter.contains_i64(id)));
/// # Ok::<(), mayhap_formats::Error>(())
/// ```
#[derive(Debug)]
pub struct SharedGuavaFilter {
    scheme: GuavaScheme,
    words: Vec<AtomicU64>,
    ones: AtomicU64,
    form: Form,
}

impl SharedGuavaFilter {
    /// Whether the key, as the bytes of its funnel, may be in it: `mightContain`.
    ///
    /// A key is found if its insertion happened before.
    #[inline]
    pub fn contains(&self, key: &[u8]) -> bool {
        let mut all = true;
        self.scheme.positions(key, |position| {
            let (word, mask) = self.bit(position);
            // ORDERING: Relaxed. Bits are never cleared, and a thread that knows of an insertion
            // has already synchronised with it.
            all = word.load(Ordering::Relaxed) & mask != 0;
            all
        });
        all
    }

    /// `put`: whether this call changed a bit. If several threads insert a new key at once, one or
    /// more get true.
    #[inline]
    pub fn insert(&self, key: &[u8]) -> bool {
        let mut changed = 0;
        self.scheme.positions(key, |position| {
            let (word, mask) = self.bit(position);
            // ORDERING: Relaxed, as above. The second one decides which thread has changed the bit,
            // which a read-modify-write does in any order.
            let is_set = word.load(Ordering::Relaxed) & mask != 0
                || word.fetch_or(mask, Ordering::Relaxed) & mask != 0;
            changed += u64::from(!is_set);
            true
        });
        if changed > 0 {
            // ORDERING: Relaxed. The number guards no other memory.
            self.ones.fetch_add(changed, Ordering::Relaxed);
        }
        changed > 0
    }

    fn bit(&self, position: u64) -> (&AtomicU64, u64) {
        (&self.words[(position / 64) as usize], 1 << (position % 64))
    }

    /// The scheme: strategy, k and m.
    pub fn scheme(&self) -> &GuavaScheme {
        &self.scheme
    }

    /// The number of bits, m.
    pub fn num_bits(&self) -> u64 {
        self.words.len() as u64 * 64
    }

    /// The number of set bits, as it was counted: one load, where [`Bits::count_ones`] reads all.
    pub fn count_ones(&self) -> u64 {
        // ORDERING: Relaxed, as above.
        self.ones.load(Ordering::Relaxed)
    }

    /// `expectedFpp()`: `(set bits / m)^k`.
    pub fn expected_fpp(&self) -> f64 {
        expected_fpp(self.fill_ratio(), self.scheme.num_hashes())
    }

    /// `approximateElementCount()`, as [`GuavaFilter::approximate_element_count`].
    pub fn approximate_element_count(&self) -> Option<u64> {
        approximate_count(self.fill_ratio(), self.num_bits(), self.scheme.num_hashes())
    }

    fn fill_ratio(&self) -> f64 {
        self.count_ones() as f64 / self.num_bits() as f64
    }
}

impl From<GuavaFilter> for SharedGuavaFilter {
    /// Counts the set bits once.
    fn from(filter: GuavaFilter) -> Self {
        let GuavaFilter { inner: SchemeFilter { scheme, bits }, form } = filter;
        let ones = AtomicU64::new(bits.count_ones());
        let words = bits.into_words().into_iter().map(AtomicU64::new).collect();
        Self { scheme, words, ones, form }
    }
}

impl From<SharedGuavaFilter> for GuavaFilter {
    fn from(filter: SharedGuavaFilter) -> Self {
        let SharedGuavaFilter { scheme, words, form, .. } = filter;
        let bits = Bits::of_words(words.into_iter().map(AtomicU64::into_inner).collect());
        Self { inner: SchemeFilter { scheme, bits }, form }
    }
}
