//! Many keys at once.

use super::table::Table;
use super::{Form, WindowBloomFilter};
use crate::filter::for_each_digest_chunk;
use crate::{Bitmap, Digest, Key};

impl WindowBloomFilter {
    /// Inserts many keys, in order: bit `i` of the result is the answer of
    /// [`WindowBloomFilter::insert`] for `keys[i]`, but their cache lines are fetched together.
    ///
    /// In a time window they are inserted at the latest time passed in: call
    /// [`WindowBloomFilter::advance`] first.
    pub fn insert_batch<K: Key>(&mut self, keys: &[K]) -> Bitmap {
        let mut new = Bitmap::new();
        let function = self.digest_function;
        for_each_digest_chunk(&function, keys, &mut new, |digests, words| {
            self.insert_words(digests, words);
        });
        new
    }

    /// Like [`WindowBloomFilter::insert_batch`], for keys that are already digests, into a reused
    /// bitmap.
    pub fn insert_digests_into(&mut self, digests: &[Digest], new: &mut Bitmap) {
        self.insert_words(digests, new.reset(digests.len()));
    }

    fn insert_words(&mut self, digests: &[Digest], new: &mut [u64]) {
        with_form!(&mut self.form, window => Table::insert_batch(
            window,
            |window| &window.table,
            digests,
            |window, i, digest| {
                new[i / 64] |= u64::from(window.insert_digest(digest)) << (i % 64);
            },
        ));
    }

    /// Like [`WindowBloomFilter::insert_absent_digest`], for many digests, in order, into a reused
    /// bitmap: the cache lines of a group are fetched together.
    pub fn insert_absent_digests_into(&mut self, digests: &[Digest], new: &mut Bitmap) {
        let new = new.reset(digests.len());
        with_form!(&mut self.form, window => Table::insert_batch(
            window,
            |window| &window.table,
            digests,
            |window, i, digest| {
                let live = window.live_columns_at(window.now());
                let absent = window.table.columns(digest, live) == 0;
                if absent {
                    window.insert_digest(digest);
                    new[i / 64] |= 1 << (i % 64);
                } else {
                    window.pass();
                }
            },
        ));
    }

    /// Queries many keys, as [`WindowBloomFilter::contains`] does for each, but with their cache
    /// lines fetched together.
    pub fn contains_batch<K: Key>(&self, keys: &[K]) -> Bitmap {
        let mut found = Bitmap::new();
        with_form!(&self.form, window => {
            let live = window.live_columns_at(window.now());
            for_each_digest_chunk(&self.digest_function, keys, &mut found, |digests, words| {
                window.table.contains_batch(digests, live, words);
            });
        });
        found
    }

    /// Like [`WindowBloomFilter::contains_batch`], for keys that are already digests, into a reused
    /// bitmap.
    pub fn contains_digests_into(&self, digests: &[Digest], found: &mut Bitmap) {
        self.contains_digests_at_into(digests, self.now(), found);
    }

    /// Like [`WindowBloomFilter::contains_digests_into`], but at the time `now`.
    pub fn contains_digests_at_into(&self, digests: &[Digest], now: u64, found: &mut Bitmap) {
        let found = found.reset(digests.len());
        with_form!(&self.form, window => {
            window.table.contains_batch(digests, window.live_columns_at(now), found);
        });
    }
}
