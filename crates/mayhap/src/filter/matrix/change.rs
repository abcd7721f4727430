//! Inserting, removing, adding sets.

use super::{BloomMatrix, PANEL_SETS};
use crate::bits::{Bitmap, Block, OwnedBlocks, block};
use crate::{Digest, Error, Key, simd};
use alloc::vec::Vec;

/// Keys whose rows are requested together.
const GROUP: usize = 16;

impl BloomMatrix {
    /// Inserts a key into a set; `true` if it is new there: surely not in the set before.
    ///
    /// Touches k cache lines.
    ///
    /// # Panics
    ///
    /// If `set` is not below [`BloomMatrix::num_sets`].
    #[inline]
    pub fn insert<K: Key + ?Sized>(&mut self, set: usize, key: &K) -> bool {
        self.insert_digest(set, self.digest_function.digest(key))
    }

    /// [`BloomMatrix::insert`] for a key that is already a digest.
    ///
    /// # Panics
    ///
    /// As [`BloomMatrix::insert`].
    #[inline]
    pub fn insert_digest(&mut self, set: usize, digest: Digest) -> bool {
        let place = self.place(set);
        let rows = self.panels[place.panel].as_mut();
        let mut before = u64::MAX;
        self.shape.for_each_row(digest, |row| {
            let word = &mut rows[row].0[place.word];
            before &= *word;
            *word |= 1 << place.shift;
        });
        let new = before >> place.shift & 1 == 0;
        let count = &mut self.counts_mut()[set];
        *count = count.saturating_add(new.into());
        new
    }

    /// Inserts many keys into a set, in order: bit `i` of the result is what
    /// [`BloomMatrix::insert`] would have returned for `digests[i]`.
    ///
    /// # Panics
    ///
    /// As [`BloomMatrix::insert`].
    pub fn insert_digests(&mut self, set: usize, digests: &[Digest]) -> Bitmap {
        let mut new = Bitmap::new();
        self.insert_digests_into(set, digests, &mut new);
        new
    }

    /// [`BloomMatrix::insert_digests`] into a reused bitmap.
    ///
    /// # Panics
    ///
    /// As [`BloomMatrix::insert`].
    pub fn insert_digests_into(&mut self, set: usize, digests: &[Digest], new: &mut Bitmap) {
        let panel = self.place(set).panel;
        let words = new.reset(digests.len());
        let fetch = !simd::fits_cache(self.shape.num_bits() as usize);
        for (group, digests) in digests.chunks(GROUP).enumerate() {
            if fetch {
                let rows = self.panels[panel].as_ref();
                for &digest in digests {
                    self.shape.for_each_row(digest, |row| simd::prefetch_write(rows, row));
                }
            }
            for (i, &digest) in digests.iter().enumerate() {
                let i = group * GROUP + i;
                words[i / 64] |= u64::from(self.insert_digest(set, digest)) << (i % 64);
            }
        }
    }

    /// Inserts many keys into a set, as [`BloomMatrix::insert_digests`].
    ///
    /// # Panics
    ///
    /// As [`BloomMatrix::insert`].
    pub fn insert_batch<K: Key>(&mut self, set: usize, keys: &[K]) -> Bitmap {
        let mut new = Bitmap::new();
        let function = self.digest_function;
        super::super::for_each_digest_chunk(&function, keys, &mut new, |digests, words| {
            let chunk = self.insert_digests(set, digests);
            words.copy_from_slice(chunk.as_words());
        });
        new
    }

    /// Forgets every key of a set; its number stays and can be reused. All other sets keep their
    /// numbers.
    ///
    /// A pass over all rows of the set's panel: [`BloomMatrix::num_bits`] cache lines, in order.
    ///
    /// # Panics
    ///
    /// If `set` is not below [`BloomMatrix::num_sets`].
    pub fn remove_set(&mut self, set: usize) {
        let place = self.place(set);
        for row in self.panels[place.panel].as_mut() {
            row.0[place.word] &= !(1 << place.shift);
        }
        self.counts_mut()[set] = 0;
    }

    /// Replaces the contents of a set by the keys with these digests.
    ///
    /// The new column is built separately, in `num_bits` bits, and then written in one pass over
    /// the panel's rows. Until that pass the set is unchanged, even if `digests` panics.
    ///
    /// # Errors
    ///
    /// [`Error::OutOfMemory`], changing nothing.
    ///
    /// # Panics
    ///
    /// If `set` is not below [`BloomMatrix::num_sets`].
    ///
    /// # Examples
    ///
    /// ```
    /// let mut caches = mayhap::BloomMatrix::builder()
    ///     .num_sets(10)
    ///     .expected_items(100)
    ///     .target_fpp(1e-4)
    ///     .build()?;
    /// caches.insert(3, "old");
    /// let digest = caches.digest("new");
    /// caches.replace_set(3, [digest])?;
    /// assert!(caches.contains(3, "new") && !caches.contains(3, "old"));
    /// # Ok::<(), mayhap::Error>(())
    /// ```
    pub fn replace_set(
        &mut self,
        set: usize,
        digests: impl IntoIterator<Item = Digest>,
    ) -> Result<(), Error> {
        self.place(set);
        let mut column = OwnedBlocks::zeroed(self.shape.num_bits().div_ceil(Block::BITS))?;
        let words = block::words_mut(column.as_mut());
        let mut inserted_items = 0u64;
        for digest in digests {
            let mut missing = 0;
            self.shape.for_each_bit(digest, |lane, bit| {
                missing |= !words[lane] & 1 << bit;
                words[lane] |= 1 << bit;
            });
            inserted_items += u64::from(missing != 0);
        }
        self.write_columns(set, &[words]);
        self.counts_mut()[set] = inserted_items;
        Ok(())
    }

    /// Adds `more` empty sets with the next numbers; a new panel for each 512.
    ///
    /// # Errors
    ///
    /// Changing nothing: [`Error::OutOfRange`] above [`BloomMatrix::MAX_SETS`]; [`Error::TooLarge`]
    /// above the builder's `max_bytes`; [`Error::OutOfMemory`].
    pub fn add_sets(&mut self, more: usize) -> Result<(), Error> {
        let num_sets = self.num_sets().saturating_add(more);
        if num_sets > Self::MAX_SETS {
            let (max, found) = (Self::MAX_SETS as u64, num_sets as u64);
            return Err(Error::OutOfRange { parameter: "num_sets", min: 1, max, found });
        }
        let num_panels = num_sets.div_ceil(PANEL_SETS);
        let bytes = self.shape.panel_bytes().saturating_mul(num_panels as u64);
        if bytes > self.max_bytes {
            return Err(Error::TooLarge {
                field: "matrix bytes",
                limit: self.max_bytes,
                found: bytes,
            });
        }
        let new_panels = (self.panels.len()..num_panels)
            .map(|_| OwnedBlocks::zeroed(self.shape.num_bits()))
            .collect::<Result<Vec<_>, _>>()?;
        self.panels.extend(new_panels);
        self.counts.resize(num_sets.div_ceil(8), Block::default());
        self.num_sets = num_sets;
        self.names.grow(num_sets);
        Ok(())
    }

    /// Forgets every key of every set.
    pub fn clear(&mut self) {
        for rows in &mut self.panels {
            rows.as_mut().fill(Block::default());
        }
        self.counts.fill(Block::default());
    }
}
