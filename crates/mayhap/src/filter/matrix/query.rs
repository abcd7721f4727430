//! Queries.

use super::shape::Shape;
use super::{BloomMatrix, Sets};
use crate::bits::{Bitmap, Block};
use crate::{Digest, Key, simd};

/// The number of rows whose cache lines are requested ahead of use: slightly more than a core can
/// have in flight. Measured from 8 to 128 with 4 to 8 rows per key: no difference from 40 on.
const ROWS_AHEAD: usize = 64;

impl BloomMatrix {
    /// The sets that may hold the key: a set that holds it is always among them, and one that does
    /// not is among them with its false-positive probability.
    ///
    /// Cache lines: k for each panel of 512 sets.
    #[inline]
    pub fn which<K: Key + ?Sized>(&self, key: &K) -> Sets {
        let mut sets = Sets::new();
        self.which_into(key, &mut sets);
        sets
    }

    /// Like [`BloomMatrix::which`], but into a reused answer.
    #[inline]
    pub fn which_into<K: Key + ?Sized>(&self, key: &K, sets: &mut Sets) {
        self.which_digest_into(self.digest(key), sets);
    }

    /// Like [`BloomMatrix::which_into`], for a key that is already a digest.
    #[inline]
    pub fn which_digest_into(&self, digest: Digest, sets: &mut Sets) {
        let (answers, _) = sets.reset(self.num_sets()).as_chunks_mut::<8>();
        for (answer, rows) in answers.iter_mut().zip(&self.panels) {
            and_rows(self.shape, rows.as_ref(), digest, answer);
        }
    }

    /// Queries many keys: calls `answer(i, sets)` for each `keys[i]` in order, with the result of
    /// [`BloomMatrix::which`]. Rows are fetched several keys ahead, which gains more the slower the
    /// memory that holds them.
    ///
    /// # Examples
    ///
    /// ```
    /// let mut shards = mayhap::BloomMatrix::builder()
    ///     .num_sets(600)
    ///     .expected_items(100)
    ///     .target_fpp(1e-4)
    ///     .build()?;
    /// shards.insert(1, "a");
    /// shards.insert(599, "b");
    /// let mut found = Vec::new();
    /// shards.which_batch(&["a", "b", "c"], |i, sets| {
    ///     found.extend(sets.iter().map(|set| (i, set)));
    /// });
    /// assert_eq!(found, [(0, 1), (1, 599)]);
    /// # Ok::<(), mayhap::Error>(())
    /// ```
    pub fn which_batch<K: Key>(&self, keys: &[K], mut answer: impl FnMut(usize, &Sets)) {
        let mut digests = [Digest::default(); super::super::DIGESTS_AT_ONCE];
        let mut sets = Sets::new();
        for (chunk, keys) in keys.chunks(digests.len()).enumerate() {
            let first = chunk * digests.len();
            let digests = &mut digests[..keys.len()];
            self.digest_function.digest_batch(keys, digests);
            self.which_digests_reusing(digests, &mut sets, |i, sets| answer(first + i, sets));
        }
    }

    /// Like [`BloomMatrix::which_batch`], for keys that are already digests.
    pub fn which_digests(&self, digests: &[Digest], answer: impl FnMut(usize, &Sets)) {
        self.which_digests_reusing(digests, &mut Sets::new(), answer);
    }

    fn which_digests_reusing(
        &self,
        digests: &[Digest],
        sets: &mut Sets,
        mut answer: impl FnMut(usize, &Sets),
    ) {
        let ahead = self.keys_ahead();
        for &digest in &digests[..ahead.min(digests.len())] {
            self.prefetch(digest);
        }
        for (i, &digest) in digests.iter().enumerate() {
            if ahead != 0
                && let Some(&later) = digests.get(i + ahead)
            {
                self.prefetch(later);
            }
            self.which_digest_into(digest, sets);
            answer(i, sets);
        }
    }

    /// The number of keys whose rows are fetched ahead; 0 if all rows are in the cache.
    fn keys_ahead(&self) -> usize {
        let rows_per_key = self.panels.len() * self.shape.num_hashes as usize;
        if simd::fits_cache(self.panels.len() * self.shape.num_bits() as usize) {
            0
        } else {
            (ROWS_AHEAD / rows_per_key).max(1)
        }
    }

    #[inline(always)]
    fn prefetch(&self, digest: Digest) {
        for rows in &self.panels {
            self.shape.for_each_row(digest, |row| simd::prefetch(rows.as_ref(), row));
        }
    }

    /// Whether set `set` may hold the key. Touches k cache lines.
    ///
    /// # Panics
    ///
    /// If `set` is not below [`BloomMatrix::num_sets`].
    #[inline]
    pub fn contains<K: Key + ?Sized>(&self, set: usize, key: &K) -> bool {
        self.contains_digest(set, self.digest(key))
    }

    /// Like [`BloomMatrix::contains`], for a key that is already a digest.
    ///
    /// # Panics
    ///
    /// Same as [`BloomMatrix::contains`].
    #[inline]
    pub fn contains_digest(&self, set: usize, digest: Digest) -> bool {
        let place = self.place(set);
        let rows = self.panels[place.panel].as_ref();
        let mut word = u64::MAX;
        self.shape.for_each_row(digest, |row| word &= rows[row].0[place.word]);
        word >> place.shift & 1 == 1
    }

    /// Like [`BloomMatrix::contains`], for many digests, into a reused bitmap.
    ///
    /// # Panics
    ///
    /// Same as [`BloomMatrix::contains`].
    pub fn contains_digests_into(&self, set: usize, digests: &[Digest], found: &mut Bitmap) {
        let rows = self.panels[self.place(set).panel].as_ref();
        let words = found.reset(digests.len());
        let ahead = ROWS_AHEAD / self.shape.num_hashes as usize;
        let fetch = !simd::fits_cache(rows.len());
        for (i, &digest) in digests.iter().enumerate() {
            if fetch && let Some(&later) = digests.get(i + ahead) {
                self.shape.for_each_row(later, |row| simd::prefetch(rows, row));
            }
            words[i / 64] |= u64::from(self.contains_digest(set, digest)) << (i % 64);
        }
    }
}

/// The AND of a digest's rows. No early exit: with 512 sets at 1 % five remain on average, so the
/// result is hardly ever 0 before the last row, and the rows are already in flight.
#[inline(always)]
fn and_rows(shape: Shape, rows: &[Block], digest: Digest, answer: &mut [u64; 8]) {
    match shape.num_hashes {
        1 => shape.and_rows::<1, 1>(rows, digest, answer),
        2 => shape.and_rows::<2, 1>(rows, digest, answer),
        3 => shape.and_rows::<3, 1>(rows, digest, answer),
        4 => shape.and_rows::<4, 1>(rows, digest, answer),
        5 => shape.and_rows::<5, 1>(rows, digest, answer),
        6 => shape.and_rows::<6, 1>(rows, digest, answer),
        7 => shape.and_rows::<7, 1>(rows, digest, answer),
        8 => shape.and_rows::<8, 1>(rows, digest, answer),
        _ => shape.and_rows::<8, 2>(rows, digest, answer),
    }
}
