//! A chain of growing layers for an unknown number of keys.

use super::{BlockedBloomFilter, Build};
use crate::bits::Bitmap;
use crate::layout::Layout;
use crate::{Digest, DigestFunction, Error, Key, sizing};
use alloc::vec::Vec;

/// Each layer holds this many times the keys of the one before.
const GROWTH: u64 = 4;

/// A Bloom filter that grows with its keys and keeps the promised rate at every size.
///
/// Layer `i` is a [`BlockedBloomFilter`] for n₀ · 4^i keys at p · 6 / (π² (i+1)²): these shares of p
/// sum to p however many layers come, so a query, which any layer may answer wrongly, keeps p
/// overall. All layers share one digest. A query for an absent key touches one cache line a layer;
/// after 1000 × n₀ keys there are 6 layers.
///
/// # Examples
///
/// ```
/// use mayhap::{DigestFunction, ScalableBloomFilter};
///
/// let mut seen = ScalableBloomFilter::new(100, 1e-4, DigestFunction::default())?;
/// for i in 0..10_000u64 {
///     seen.insert(&i)?;
/// }
/// assert!(seen.contains(&9_999u64) && !seen.contains(&10_000u64));
/// assert_eq!(seen.num_layers(), 5);
/// assert!(seen.expected_fpp() < 1e-4); // at 100 times the first guess
/// # Ok::<(), mayhap::Error>(())
/// ```
#[derive(Debug)]
pub struct ScalableBloomFilter {
    /// The first guess n₀ first; only the last one is inserted into.
    layers: Vec<BlockedBloomFilter>,
    first_items: u64,
    target_fpp: f64,
    digest_function: DigestFunction,
    max_bytes: u64,
    /// Keys of a batch that no older layer holds: where they stand in it, and their digests.
    pending: Vec<u32>,
    pending_digests: Vec<Digest>,
    answers: Bitmap,
}

impl ScalableBloomFilter {
    /// Starts with room for `first_items` keys; `target_fpp` holds overall, whatever comes.
    ///
    /// # Errors
    ///
    /// As [`sizing::for_items`], and [`Error::OutOfMemory`].
    pub fn new(
        first_items: u64,
        target_fpp: f64,
        digest_function: DigestFunction,
    ) -> Result<Self, Error> {
        let mut filter = Self {
            layers: Vec::new(),
            first_items,
            target_fpp,
            digest_function,
            max_bytes: u64::MAX,
            pending: Vec::new(),
            pending_digests: Vec::new(),
            answers: Bitmap::new(),
        };
        filter.grow()?;
        Ok(filter)
    }

    /// Refuses to grow beyond this many bytes in all. No limit by default.
    pub fn set_max_bytes(&mut self, max_bytes: u64) {
        self.max_bytes = max_bytes;
    }

    /// Adds the next layer.
    fn grow(&mut self) -> Result<(), Error> {
        let i = self.layers.len() as u32;
        let items = GROWTH.checked_pow(i).and_then(|growth| self.first_items.checked_mul(growth));
        let items = items.unwrap_or(u64::MAX);
        let pi = core::f64::consts::PI;
        let share = 6.0 / (pi * pi * f64::from(i + 1) * f64::from(i + 1));
        let params = sizing::for_items(Layout::Blocked, items, self.target_fpp * share)?;
        let found = self.num_bytes().saturating_add(params.num_bytes());
        if found > self.max_bytes {
            return Err(Error::TooLarge { field: "filter bytes", limit: self.max_bytes, found });
        }
        self.layers.push(BlockedBloomFilter::empty(params, self.digest_function)?);
        Ok(())
    }

    /// Inserts a key; `true` if it is new: surely not in the filter before.
    ///
    /// # Errors
    ///
    /// [`Error::OutOfMemory`], or [`Error::TooLarge`] above [`ScalableBloomFilter::set_max_bytes`],
    /// if the filter had to grow and could not; the key is then not inserted.
    pub fn insert<K: Key + ?Sized>(&mut self, key: &K) -> Result<bool, Error> {
        let digest = self.digest_function.digest(key);
        let mut new = Bitmap::new();
        self.insert_digests_into(&[digest], &mut new)?;
        Ok(new.get(0))
    }

    /// Inserts many digests in order; bit `i` of `new` tells whether `digests[i]` was new.
    ///
    /// # Errors
    ///
    /// As [`ScalableBloomFilter::insert`]; digests before the one for which there was no room are
    /// inserted, and `new` has their answers and zeros for the rest.
    pub fn insert_digests_into(
        &mut self,
        digests: &[Digest],
        new: &mut Bitmap,
    ) -> Result<(), Error> {
        let words = new.reset(digests.len());
        let mut start = 0;
        while start < digests.len() {
            if self.room() == 0 {
                self.grow()?;
            }
            // No more than there is room for, so that no layer is ever overfilled.
            let room = usize::try_from(self.room()).unwrap_or(usize::MAX);
            let end = digests.len().min(start.saturating_add(room));
            self.insert_within_room(&digests[start..end], start, words);
            start = end;
        }
        Ok(())
    }

    /// Keys that the last layer still holds at its rate.
    fn room(&self) -> u64 {
        let full = |layer: &BlockedBloomFilter| {
            layer.params().expected_items().saturating_sub(layer.inserted_items())
        };
        self.layers.last().map_or(0, full)
    }

    fn insert_within_room(&mut self, digests: &[Digest], offset: usize, new: &mut [u64]) {
        let Some((last, older)) = self.layers.split_last_mut() else { return };
        self.pending.clear();
        self.pending.extend(0..digests.len() as u32);
        self.pending_digests.clear();
        self.pending_digests.extend_from_slice(digests);
        // The largest layer first: it holds most keys, and what it holds need not be asked again.
        for layer in older.iter().rev() {
            layer.contains_digests_into(&self.pending_digests, &mut self.answers);
            let mut kept = 0;
            for (i, found) in self.answers.iter().enumerate() {
                self.pending[kept] = self.pending[i];
                self.pending_digests[kept] = self.pending_digests[i];
                kept += usize::from(!found);
            }
            self.pending.truncate(kept);
            self.pending_digests.truncate(kept);
        }
        last.insert_digests_into(&self.pending_digests, &mut self.answers);
        for i in self.answers.iter_ones() {
            let bit = offset + self.pending[i] as usize;
            new[bit / 64] |= 1 << (bit % 64);
        }
    }

    /// Whether the key may have been inserted: `false` is certain.
    pub fn contains<K: Key + ?Sized>(&self, key: &K) -> bool {
        self.contains_digest(self.digest_function.digest(key))
    }

    /// [`ScalableBloomFilter::contains`] for a key that is already a digest.
    pub fn contains_digest(&self, digest: Digest) -> bool {
        self.layers.iter().rev().any(|layer| layer.contains_digest(digest))
    }

    /// Asks for many digests; bit `i` of `found` answers for `digests[i]`.
    pub fn contains_digests_into(&self, digests: &[Digest], found: &mut Bitmap) {
        let words = found.reset(digests.len());
        for layer in self.layers.iter().rev() {
            let answers = layer.contains_digests(digests);
            words.iter_mut().zip(answers.as_words()).for_each(|(word, more)| *word |= more);
        }
    }

    /// How keys become digests.
    pub const fn digest_function(&self) -> &DigestFunction {
        &self.digest_function
    }

    /// The rate that holds overall.
    pub const fn target_fpp(&self) -> f64 {
        self.target_fpp
    }

    /// The number of layers, one cache line each per query for an absent key.
    pub const fn num_layers(&self) -> usize {
        self.layers.len()
    }

    /// Bytes of memory of all layers.
    pub fn num_bytes(&self) -> u64 {
        self.layers.iter().map(|layer| layer.params().num_bytes()).sum()
    }

    /// Insertions that were answered "new" so far.
    pub fn inserted_items(&self) -> u64 {
        self.layers.iter().map(BlockedBloomFilter::inserted_items).sum()
    }

    /// The predicted rate now: 1 − Π (1 − pᵢ) over the layers as full as they are.
    pub fn expected_fpp(&self) -> f64 {
        let right =
            self.layers.iter().map(|layer| 1.0 - layer.expected_fpp(layer.inserted_items()));
        1.0 - right.product::<f64>()
    }

    /// The share of bits that are set in all layers. Reads every block.
    pub fn fill_ratio(&self) -> f64 {
        let ones =
            |layer: &BlockedBloomFilter| layer.fill_ratio() * layer.params().num_bits() as f64;
        self.layers.iter().map(ones).sum::<f64>() / (self.num_bytes() * 8) as f64
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// At 1, 10, 1,000 and 10,000 times the first guess.
    #[test]
    fn the_rate_holds_at_every_size_and_nothing_is_forgotten() {
        let target = 0.01;
        let function = DigestFunction::xxh3(5);
        let mut filter = ScalableBloomFilter::new(100, target, function).unwrap();
        let (mut next, mut new, mut found) = (0u64, Bitmap::new(), Bitmap::new());
        let digests = |keys: core::ops::Range<u64>| -> Vec<Digest> {
            keys.map(|key| function.digest(&key)).collect()
        };
        for items in [100u64, 1_000, 100_000, 1_000_000] {
            while next < items {
                let end = items.min(next + 777);
                filter.insert_digests_into(&digests(next..end), &mut new).unwrap();
                next = end;
            }
            let members = digests(0..items);
            filter.contains_digests_into(&members, &mut found);
            assert_eq!(found.count_ones(), members.len(), "false negative");
            assert!(members.iter().step_by(97).all(|&digest| filter.contains_digest(digest)));

            let probes = 400_000;
            filter.contains_digests_into(&digests(1 << 40..(1 << 40) + probes), &mut found);
            let expected = filter.expected_fpp() * probes as f64;
            let sigma = libm::sqrt(expected);
            std::println!(
                "{items} items, {} layers: found {} expected {expected:.0}, {:.2} bits/key",
                filter.num_layers(),
                found.count_ones(),
                filter.num_bytes() as f64 * 8.0 / items as f64
            );
            assert!((found.count_ones() as f64 - expected).abs() < 4.0 * sigma);
            assert!(filter.expected_fpp() <= target);
        }
        assert_eq!(filter.num_layers(), 8);
    }

    #[test]
    fn batches_answer_as_one_at_a_time_across_growth() {
        let function = DigestFunction::default();
        let mut one = ScalableBloomFilter::new(10, 1e-9, function).unwrap();
        let mut batch = ScalableBloomFilter::new(10, 1e-9, function).unwrap();
        // Every key comes twice, sometimes in one batch.
        let keys: Vec<u64> = (0..3000).map(|i| i * 7919 % 1500).collect();
        let expected: Vec<bool> = keys.iter().map(|key| one.insert(key).unwrap()).collect();
        let mut answers = Vec::new();
        let mut new = Bitmap::new();
        for chunk in keys.chunks(130) {
            let digests: Vec<Digest> = chunk.iter().map(|key| function.digest(key)).collect();
            batch.insert_digests_into(&digests, &mut new).unwrap();
            answers.extend(new.iter());
        }
        assert_eq!(answers, expected);
        assert_eq!(expected.iter().filter(|&&new| new).count(), 1500);
        assert_eq!(batch.inserted_items(), 1500);
        assert!(keys.iter().all(|key| batch.contains(key)));
    }

    #[test]
    fn growth_stops_at_the_limit_and_says_so() {
        let mut filter = ScalableBloomFilter::new(100, 0.01, DigestFunction::default()).unwrap();
        filter.set_max_bytes(2000);
        let refused = (0..10_000u64).find_map(|key| filter.insert(&key).err()).unwrap();
        assert!(matches!(refused, Error::TooLarge { limit: 2000, .. }), "{refused}");
        assert!(filter.num_bytes() <= 2000);
        assert!((0..100u64).all(|key| filter.contains(&key)));
    }
}
