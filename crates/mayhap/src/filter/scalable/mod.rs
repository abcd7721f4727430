//! A chain of growing layers for an unknown number of keys.
//!
//! `layer.rs` is one layer and the path of a batch through all layers, `stats.rs` the statistics of
//! a chain, `union.rs` two chains, or all layers, as one, `native.rs` the chain in a file,
//! `concurrent.rs` the form that many threads fill, `growth.rs` its next layer.

mod concurrent;
mod growth;
mod layer;
mod native;
mod stats;
mod union;

pub use concurrent::ConcurrentScalableBloomFilter;

use super::BlockedBloomFilter;
use crate::bits::Bitmap;
use crate::sizing::scalable::{self, LayerParams, MAX_LAYERS};
use crate::{Digest, DigestFunction, Error, Key};
use alloc::vec::Vec;
use layer::{CHUNK, Layer, Pending};

type OwnedLayer = Layer<BlockedBloomFilter>;

/// A Bloom filter that grows with its keys and keeps the promised rate at every size.
///
/// Layer `i` holds n₀ · 2^i keys (n₀ is the first guess; if it is small, the second layer is the
/// first of these that holds 2,048) at a sixth of the rate that the layers before it left: p/6,
/// p/6 · 5/6, p/6 · (5/6)², … sum to p for any number of layers, and a query, which is wrong if
/// any layer is, keeps p overall (Almeida, Baquero, Preguiça & Hutchison 2007, *Scalable Bloom
/// Filters*, with shares 1/2, 1/4, …). Layers are blocked filters; at low rates, a layer is two or
/// three of them with a higher rate each, all of which have to answer "maybe"
/// ([`scalable::layer`]). Growth and share result from a computation of their cost
/// (`bench/results/scalable-cost.md`).
///
/// Memory: at 1 %, 25 bits per key on average over all sizes up to 10,000 times the first guess: 14
/// when the first layer is full, 16 to 22 when a later one is, and twice as many just after growth,
/// while the newest is empty. A query for an absent key touches hardly more than one cache line per
/// layer, newest and largest layer first: 14 at 10,000 times the first guess. An insertion touches
/// one to three more. All layers share one digest. One thread writes or many read; for many writers
/// see [`ConcurrentScalableBloomFilter`].
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
/// assert_eq!(seen.num_layers(), 4); // of 100, 3,200, 6,400 and 12,800 keys
/// assert!(seen.expected_fpp() < 1e-4); // at 100 times the first guess
/// # Ok::<(), mayhap::Error>(())
/// ```
#[derive(Debug)]
pub struct ScalableBloomFilter {
    /// Never empty. Only the last one, of the highest step, is inserted into.
    layers: Vec<OwnedLayer>,
    first_items: u64,
    target_fpp: f64,
    digest_function: DigestFunction,
    max_bytes: u64,
    /// The number of other chains united into this one since it is in memory.
    num_united: u32,
}

impl ScalableBloomFilter {
    /// Starts with room for `first_items` keys; `target_fpp` holds overall, however many keys
    /// follow.
    ///
    /// # Errors
    ///
    /// Same as [`scalable::chain_layer`], and [`Error::OutOfMemory`].
    pub fn new(
        first_items: u64,
        target_fpp: f64,
        digest_function: DigestFunction,
    ) -> Result<Self, Error> {
        let layers = Vec::new();
        let max_bytes = u64::MAX;
        let num_united = 0;
        let mut filter =
            Self { layers, first_items, target_fpp, digest_function, max_bytes, num_united };
        filter.grow()?;
        Ok(filter)
    }

    /// Like [`ScalableBloomFilter::new`], with the first layer that [`scalable::chain_layer`]
    /// returned for these numbers, so that it need not be computed again.
    ///
    /// # Errors
    ///
    /// [`Error::OutOfMemory`]; [`Error::Incompatible`] if the layer is not sized for `first_items`
    /// keys; as [`scalable::chain_layer`] for a bad target.
    pub fn with_first_layer(
        layer: LayerParams,
        first_items: u64,
        target_fpp: f64,
        digest_function: DigestFunction,
    ) -> Result<Self, Error> {
        crate::sizing::check_target(first_items, target_fpp)?;
        Error::check_equal([("first_items", first_items, layer.expected_items())])?;
        let layers = alloc::vec![Layer::empty(layer, 0, digest_function)?];
        let (max_bytes, num_united) = (u64::MAX, 0);
        Ok(Self { layers, first_items, target_fpp, digest_function, max_bytes, num_united })
    }

    /// Sets a limit on the total number of bytes, beyond which the filter does not grow. No limit
    /// by default.
    pub fn set_max_bytes(&mut self, max_bytes: u64) {
        self.max_bytes = max_bytes;
    }

    /// Inserts a key; `true` if it is new: surely not in the filter before.
    ///
    /// # Errors
    ///
    /// [`Error::OutOfMemory`], [`Error::TooLarge`] above [`ScalableBloomFilter::set_max_bytes`], or
    /// [`Error::FppUnreachable`] near 2^64 · p keys, if the filter needs to grow and cannot; the
    /// key is then not inserted. A key that is already present never requires growth.
    pub fn insert<K: Key + ?Sized>(&mut self, key: &K) -> Result<bool, Error> {
        self.insert_digest(self.digest_function.digest(key))
    }

    /// Like [`ScalableBloomFilter::insert`], for a key that is already a digest.
    ///
    /// # Errors
    ///
    /// Same as [`ScalableBloomFilter::insert`].
    pub fn insert_digest(&mut self, digest: Digest) -> Result<bool, Error> {
        if self.older().rev().any(|layer| layer.contains(digest)) {
            return Ok(false);
        }
        if self.newest().room() == 0 {
            if self.newest().contains(digest) {
                return Ok(false);
            }
            self.grow()?;
        }
        Ok(self.newest_mut().insert(digest))
    }

    /// Inserts many keys in order: bit `i` of the result is set if `keys[i]` was new.
    ///
    /// # Errors
    ///
    /// Same as [`ScalableBloomFilter::insert`]; some of the first keys are then inserted.
    pub fn insert_batch<K: Key>(&mut self, keys: &[K]) -> Result<Bitmap, Error> {
        let mut digests = alloc::vec![Digest::default(); keys.len()];
        self.digest_function.digest_batch(keys, &mut digests);
        let mut new = Bitmap::new();
        self.insert_digests_into(&digests, &mut new)?;
        Ok(new)
    }

    /// Inserts many digests in order; bit `i` of `new` is set if `digests[i]` was new.
    ///
    /// # Errors
    ///
    /// Same as [`ScalableBloomFilter::insert`]; the digests before the one that did not fit are
    /// inserted, and `new` has their answers, and zeros for the rest.
    pub fn insert_digests_into(
        &mut self,
        digests: &[Digest],
        new: &mut Bitmap,
    ) -> Result<(), Error> {
        let words = new.reset(digests.len()).chunks_mut(CHUNK / 64);
        let mut pending = Pending::new();
        for (digests, words) in digests.chunks(CHUNK).zip(words) {
            pending.fill(digests);
            // The largest layer first: it holds most of the keys, and those need not be looked up
            // again.
            for layer in self.older().rev() {
                pending.keep_absent(&layer.contains_batch(pending.digests()));
            }
            self.insert_pending(&mut pending, words)?;
        }
        Ok(())
    }

    /// Inserts keys that no older layer holds.
    fn insert_pending(&mut self, pending: &mut Pending, new: &mut [u64]) -> Result<(), Error> {
        while !pending.digests().is_empty() {
            if self.newest().room() == 0 {
                // Keys that the full layer holds are no reason to grow.
                pending.keep_absent(&self.newest().contains_batch(pending.digests()));
                if pending.digests().is_empty() {
                    return Ok(());
                }
                self.grow()?;
            }
            // No more than there is room for, so that no layer is ever overfilled.
            let room = usize::try_from(self.newest().room()).unwrap_or(usize::MAX);
            let count = pending.digests().len().min(room);
            let answers = self.newest_mut().insert_batch(&pending.digests()[..count]);
            pending.mark(&answers, new);
            pending.advance(count);
        }
        Ok(())
    }

    /// Whether the key may have been inserted: `false` is certain.
    pub fn contains<K: Key + ?Sized>(&self, key: &K) -> bool {
        self.contains_digest(self.digest_function.digest(key))
    }

    /// Like [`ScalableBloomFilter::contains`], for a key that is already a digest.
    pub fn contains_digest(&self, digest: Digest) -> bool {
        self.layers.iter().rev().any(|layer| layer.contains(digest))
    }

    /// Queries many keys; bit `i` of the result is the answer for `keys[i]`.
    pub fn contains_batch<K: Key>(&self, keys: &[K]) -> Bitmap {
        let mut digests = alloc::vec![Digest::default(); keys.len()];
        self.digest_function.digest_batch(keys, &mut digests);
        let mut found = Bitmap::new();
        self.contains_digests_into(&digests, &mut found);
        found
    }

    /// Queries many digests; bit `i` of `found` is the answer for `digests[i]`.
    pub fn contains_digests_into(&self, digests: &[Digest], found: &mut Bitmap) {
        layer::contains_in(&self.layers.iter().rev(), digests, found);
    }

    /// Forgets every key and frees the memory of all layers but the first.
    pub fn clear(&mut self) {
        self.layers.truncate(1);
        self.newest_mut().clear();
        self.num_united = 0;
    }

    /// How keys become digests.
    pub const fn digest_function(&self) -> &DigestFunction {
        &self.digest_function
    }

    /// The same filter for many threads, without copying its bits.
    pub fn into_concurrent(self) -> ConcurrentScalableBloomFilter {
        ConcurrentScalableBloomFilter::from_exclusive(self)
    }

    /// Adds the next layer.
    fn grow(&mut self) -> Result<(), Error> {
        let last = self.layers.last().map(|layer| layer.step);
        let promised = self.layers.iter().map(OwnedLayer::promised_fpp).sum();
        let (count, bytes) = (self.layers.len(), self.num_bytes());
        let params = self.limits().next_layer(last, promised, count, bytes)?;
        let step = last.map_or(0, |last| self.limits().step_after(last));
        self.layers.push(Layer::empty(params, step, self.digest_function)?);
        Ok(())
    }

    const fn limits(&self) -> Limits {
        let &Self { first_items, target_fpp, max_bytes, .. } = self;
        Limits { first_items, target_fpp, max_bytes }
    }

    fn newest(&self) -> &OwnedLayer {
        &self.layers[self.layers.len() - 1]
    }

    fn newest_mut(&mut self) -> &mut OwnedLayer {
        let last = self.layers.len() - 1;
        &mut self.layers[last]
    }

    fn older(&self) -> core::slice::Iter<'_, OwnedLayer> {
        self.layers[..self.layers.len() - 1].iter()
    }
}

/// The numbers that determine the next layer.
#[derive(Debug, Clone, Copy)]
struct Limits {
    first_items: u64,
    target_fpp: f64,
    max_bytes: u64,
}

impl Limits {
    /// The step of the layer after that of `step`.
    const fn step_after(&self, step: u32) -> u32 {
        scalable::next_step(self.first_items, step)
    }

    /// The layer to add to `num_layers` layers, the newest of step `last`, that take `num_bytes`
    /// and promise `promised_fpp`.
    fn next_layer(
        &self,
        last: Option<u32>,
        promised_fpp: f64,
        num_layers: usize,
        num_bytes: u64,
    ) -> Result<LayerParams, Error> {
        check_num_layers(num_layers + 1)?;
        let step = last.map_or(0, |last| self.step_after(last));
        let params = scalable::chain_layer(self.first_items, self.target_fpp, step, promised_fpp)?;
        self.check_bytes(num_bytes.saturating_add(params.num_bytes()))?;
        Ok(params)
    }

    fn check_bytes(&self, found: u64) -> Result<(), Error> {
        Error::check_limit("filter bytes", self.max_bytes, found)
    }
}

fn check_num_layers(num_layers: usize) -> Result<(), Error> {
    Error::check_limit("layers", MAX_LAYERS as u64, num_layers as u64)
}

impl ScalableBloomFilter {
    /// Limits the count of inserted keys to `most`; any excess is subtracted from the newest layers
    /// first. No bit is changed.
    ///
    /// For a copy taken during insertions: it counts keys whose bits it does not have
    /// ([`snapshot`](super::ConcurrentScalableBloomFilter::snapshot)).
    ///
    /// # Examples
    ///
    /// ```
    /// use mayhap::{DigestFunction, ScalableBloomFilter};
    /// let mut seen = ScalableBloomFilter::new(100, 1e-6, DigestFunction::default())?;
    /// seen.insert_batch(&(0..150u64).collect::<Vec<_>>())?;
    /// seen.limit_inserted_items(90);
    /// assert_eq!(seen.inserted_items(), 90);
    /// assert!((0..150u64).all(|key| seen.contains(&key)));
    /// # Ok::<(), mayhap::Error>(())
    /// ```
    pub fn limit_inserted_items(&mut self, most: u64) {
        let mut surplus = self.inserted_items().saturating_sub(most);
        for layer in self.layers.iter_mut().rev() {
            let taken = surplus.min(layer.inserted_items);
            layer.inserted_items -= taken;
            surplus -= taken;
        }
    }

    /// Inserts digests and counts each of them as a key, even if it is already present: then the
    /// layer that holds it counts it, or another one with room.
    ///
    /// For digests that were, according to a log, new when they were inserted into the filter of
    /// which this is a copy, taken then or later. If [`ScalableBloomFilter::limit_inserted_items`]
    /// has reset the copy to the count at the start of the log, it then counts exactly the digests
    /// in the log, whichever of them it already holds.
    ///
    /// # Errors
    ///
    /// Same as [`ScalableBloomFilter::insert_digests_into`].
    ///
    /// # Examples
    ///
    /// ```
    /// use mayhap::{Digest, DigestFunction, ScalableBloomFilter};
    /// let logged: Vec<Digest> = (1..=10).map(|i| Digest::new(i << 40)).collect();
    /// let mut copy = ScalableBloomFilter::new(100, 1e-6, DigestFunction::default())?;
    /// copy.insert_digest(logged[0])?; // the copy has it, and the log repeats it
    /// copy.limit_inserted_items(0);
    /// copy.insert_digests_counted(&logged)?;
    /// assert_eq!(copy.inserted_items(), 10);
    /// # Ok::<(), mayhap::Error>(())
    /// ```
    pub fn insert_digests_counted(&mut self, digests: &[Digest]) -> Result<(), Error> {
        let mut new = Bitmap::new();
        self.insert_digests_into(digests, &mut new)?;
        for (i, &digest) in digests.iter().enumerate() {
            if !new.get(i) {
                self.count_again(digest)?;
            }
        }
        Ok(())
    }

    /// Inserts digests without counting them as keys.
    ///
    /// For digests that were, according to a log, already present when they were inserted; they
    /// count where the log has them as new.
    ///
    /// # Errors
    ///
    /// Same as [`ScalableBloomFilter::insert_digests_into`].
    ///
    /// # Examples
    ///
    /// ```
    /// use mayhap::{Digest, DigestFunction, ScalableBloomFilter};
    /// let mut copy = ScalableBloomFilter::new(100, 1e-6, DigestFunction::default())?;
    /// copy.insert_digests_uncounted(&[Digest::new(1 << 40)])?;
    /// assert!(copy.contains_digest(Digest::new(1 << 40)) && copy.inserted_items() == 0);
    /// # Ok::<(), mayhap::Error>(())
    /// ```
    pub fn insert_digests_uncounted(&mut self, digests: &[Digest]) -> Result<(), Error> {
        for &digest in digests {
            if self.insert_digest(digest)? {
                // A new key is in the newest layer, which has counted it.
                self.newest_mut().inserted_items -= 1;
            }
        }
        Ok(())
    }

    /// Counts a key that is present. No layer counts more keys than it has room for.
    fn count_again(&mut self, digest: Digest) -> Result<(), Error> {
        let fits = |has_it: bool| {
            let mut newest_first = self.layers.iter().enumerate().rev();
            let layer = newest_first
                .find(|(_, layer)| layer.room() > 0 && (!has_it || layer.contains(digest)));
            layer.map(|(index, _)| index)
        };
        if let Some(index) = fits(true).or_else(|| fits(false)) {
            self.layers[index].inserted_items += 1;
            return Ok(());
        }
        self.grow()?;
        self.newest_mut().inserted_items += 1;
        Ok(())
    }
}
