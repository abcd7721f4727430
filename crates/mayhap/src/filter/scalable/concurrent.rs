//! A chain that many threads fill while it grows.

use super::layer::{self, CHUNK, Layer, Pending, count_ones};
use super::{Limits, ScalableBloomFilter};
use crate::bits::Bitmap;
use crate::sizing::scalable::{LayerParams, MAX_LAYERS};
use crate::sync::{AtomicBool, AtomicU64, Lock, Ordering, Slot};
use crate::{
    BlockedBloomFilter, Charge, ConcurrentBlockedBloomFilter, Digest, DigestFunction, Error, Key,
};
use alloc::boxed::Box;
use alloc::sync::Arc;
use alloc::vec::Vec;

/// [`ScalableBloomFilter`] with `insert(&self)`, lock-free except while a layer is added.
///
/// Layers and rates are the same as in the exclusive form. A thread that finds the newest layer
/// full creates the next one and publishes it; others that need it wait. The wait is short: memory
/// is allocated but not written to. A background thread can create the layer before it is needed,
/// and prepare its memory: [`ConcurrentScalableBloomFilter::grow_ahead`].
///
/// A thread reserves room before it inserts, so no layer ever holds more keys than it was sized
/// for, and the rate holds at all times. Each thread has at most 512 reserved places that it has
/// not used yet, so a layer may be retired that many keys before it is full.
///
/// An inserted key is found if its insertion *happened before* the call (through a join, a channel
/// or a lock). If several threads insert the same new key at once, at least one of them gets the
/// answer "new", even if the chain grows in between; several may. Memory and cache lines are the
/// same as for [`ScalableBloomFilter`]; a batch insertion writes one shared counter per 512 keys.
///
/// # Examples
///
/// ```
/// use mayhap::{DigestFunction, ScalableBloomFilter};
/// let seen = ScalableBloomFilter::new(10, 1e-4, DigestFunction::default())?.into_concurrent();
/// std::thread::scope(|scope| {
///     for half in [0..5_000u64, 5_000..10_000] {
///         let seen = &seen;
///         scope.spawn(move || half.for_each(|i| { seen.insert(&i).unwrap(); }));
///     }
/// });
/// assert!((0..10_000u64).all(|i| seen.contains(&i)));
/// assert!(seen.num_layers() >= 3 && seen.into_exclusive().expected_fpp() < 1e-4);
/// # Ok::<(), mayhap::Error>(())
/// ```
//
// In this order: what queries read is at the front, and not in the cache line that insertions
// write, that of the first layer's counter.
#[derive(Debug)]
#[repr(C)]
pub struct ConcurrentScalableBloomFilter {
    /// The layers after the first, made when there is a second one. Most filters of a server have
    /// none.
    later: Slot<Later>,
    /// A lower bound for the number of published layers, from which to look for more.
    num_layers: AtomicU64,
    first: SharedLayer,
    pub(super) limits: Limits,
    pub(super) digest_function: DigestFunction,
    /// The number of other chains united into this one since it is in memory.
    pub(super) num_united: u32,
    /// The charge of all layers to a budget, if there is one.
    pub(super) charge: Option<Charge>,
    /// Held while a layer is created or published.
    pub(super) growing: Lock,
}

/// Filled from the front. `Arc`, since the contents of a slot cannot be taken out again.
type Later = [Slot<Arc<SharedLayer>>; MAX_LAYERS - 1];

#[derive(Debug)]
pub(super) struct SharedLayer {
    pub(super) layer: Layer<ConcurrentBlockedBloomFilter>,
    /// Keys inserted, and places that threads have reserved and will use or return.
    taken: AtomicU64,
    /// The layer after this one, once it has been sized: that takes milliseconds, and if there is
    /// no memory for it, every further key needs it again.
    pub(super) next: Slot<LayerParams>,
    /// That layer, once it has been created: published as soon as this one is full.
    pub(super) ahead: Slot<Arc<SharedLayer>>,
    /// Whether a thread was notified to create it.
    pub(super) notified: AtomicBool,
}

/// A chain has at most [`MAX_LAYERS`] layers, so all of them find a slot.
fn later_of(layers: impl IntoIterator<Item = Arc<SharedLayer>>) -> Box<Later> {
    let mut layers = layers.into_iter();
    Box::new(core::array::from_fn(|_| match layers.next() {
        Some(layer) => Slot::with_value(Box::new(layer)),
        None => Slot::new(),
    }))
}

impl SharedLayer {
    pub(super) fn new(layer: Layer<BlockedBloomFilter>) -> Self {
        let taken = AtomicU64::new(layer.inserted_items);
        let (next, ahead, notified) = (Slot::new(), Slot::new(), AtomicBool::new(false));
        Self { layer: layer.into_concurrent(), taken, next, ahead, notified }
    }

    /// Reserves up to `wanted` places; 0 if the layer is full.
    fn reserve(&self, wanted: u64) -> u64 {
        let capacity = self.layer.full_at;
        // ORDERING: Relaxed. A first guess; the exchange below decides.
        let mut taken = self.taken.load(Ordering::Relaxed);
        loop {
            let granted = wanted.min(capacity.saturating_sub(taken));
            if granted == 0 {
                return 0;
            }
            // ORDERING: Relaxed. The number guards no memory; a read-modify-write sees the last
            // value, so places are never granted twice.
            match self.taken.compare_exchange_weak(
                taken,
                taken + granted,
                Ordering::Relaxed,
                Ordering::Relaxed,
            ) {
                Ok(_) => return granted,
                Err(now) => taken = now,
            }
        }
    }

    fn give_back(&self, places: u64) {
        if places != 0 {
            // ORDERING: Relaxed, as in `reserve`: a number that guards no memory.
            self.taken.fetch_sub(places, Ordering::Relaxed);
        }
    }

    /// The rate when it is full.
    pub(super) fn promised_fpp(&self) -> f64 {
        self.layer.promised_fpp_of(self.inserted_items())
    }

    pub(super) fn inserted_items(&self) -> u64 {
        // ORDERING: Relaxed. A number for display and comparison; it guards no memory.
        self.taken.load(Ordering::Relaxed)
    }
}

impl ConcurrentScalableBloomFilter {
    /// Same as [`ScalableBloomFilter::new`].
    ///
    /// # Errors
    ///
    /// Same as [`ScalableBloomFilter::new`].
    pub fn new(
        first_items: u64,
        target_fpp: f64,
        digest_function: DigestFunction,
    ) -> Result<Self, Error> {
        Ok(ScalableBloomFilter::new(first_items, target_fpp, digest_function)?.into_concurrent())
    }

    pub(super) fn from_exclusive(filter: ScalableBloomFilter) -> Self {
        let limits = filter.limits();
        let ScalableBloomFilter { mut layers, digest_function, num_united, .. } = filter;
        let num_layers = AtomicU64::new(layers.len() as u64);
        // It is never empty.
        let first = SharedLayer::new(layers.remove(0));
        let later = if layers.is_empty() {
            Slot::new()
        } else {
            let later = layers.into_iter().map(SharedLayer::new).map(Arc::new);
            Slot::with_value(later_of(later))
        };
        let growing = Lock::new();
        Self {
            first,
            later,
            num_layers,
            limits,
            digest_function,
            num_united,
            charge: None,
            growing,
        }
    }

    /// The same filter for one owner, without copying its bits.
    pub fn into_exclusive(self) -> ScalableBloomFilter {
        let Self { first, later, limits, digest_function, num_united, .. } = self;
        let slots = later.get().into_iter().flatten();
        let shared: Vec<_> = slots.filter_map(|slot| slot.get().cloned()).collect();
        drop(later);
        let exclusive = |shared: SharedLayer| {
            let inserted_items = shared.inserted_items();
            shared.layer.into_exclusive(inserted_items)
        };
        let first = core::iter::once(exclusive(first));
        // The slots are dropped, and with each layer its reference to the next, so these are the
        // only references.
        let owned = first.chain(shared.into_iter().filter_map(Arc::into_inner).map(exclusive));
        let Limits { first_items, target_fpp, max_bytes } = limits;
        let layers = owned.collect();
        ScalableBloomFilter {
            layers,
            first_items,
            target_fpp,
            digest_function,
            max_bytes,
            num_united,
        }
    }

    /// A copy of all current layers while other threads continue: it holds at least every key whose
    /// insertion happened before the call.
    ///
    /// Layers published later are not in it. Its counts are the current ones, except for keys that
    /// are being inserted.
    ///
    /// # Errors
    ///
    /// [`Error::OutOfMemory`].
    ///
    /// # Examples
    ///
    /// ```
    /// use mayhap::{ConcurrentScalableBloomFilter, DigestFunction};
    /// let seen = ConcurrentScalableBloomFilter::new(10, 1e-6, DigestFunction::default())?;
    /// seen.insert_batch(&(0..1_000u64).collect::<Vec<_>>())?;
    /// let copy = seen.snapshot()?;
    /// assert!(seen.insert(&1_000u64)?);
    /// assert!(copy.contains(&999u64) && !copy.contains(&1_000u64));
    /// # Ok::<(), mayhap::Error>(())
    /// ```
    pub fn snapshot(&self) -> Result<ScalableBloomFilter, Error> {
        let copy = |shared: &SharedLayer| {
            let layer = shared.layer.snapshot()?;
            // After the bits: a key that is in them had reserved its place before it set any. A
            // load that sees an older count makes it too low by keys in flight, no more.
            Ok(Layer { inserted_items: shared.inserted_items(), ..layer })
        };
        let layers = self.published().map(copy).collect::<Result<_, Error>>()?;
        let Limits { first_items, target_fpp, max_bytes } = self.limits;
        let digest_function = self.digest_function;
        Ok(ScalableBloomFilter {
            layers,
            first_items,
            target_fpp,
            digest_function,
            max_bytes,
            num_united: self.num_united,
        })
    }

    /// Sets a limit on the total number of bytes, beyond which the filter does not grow.
    pub fn set_max_bytes(&mut self, max_bytes: u64) {
        self.limits.max_bytes = max_bytes;
    }

    /// Charges each further layer to the budget of `charge`, which must hold the bytes of the
    /// existing layers ([`ConcurrentScalableBloomFilter::num_bytes`]) and is released with the
    /// filter.
    pub fn set_charge(&mut self, charge: Charge) {
        self.charge = Some(charge);
    }

    /// Inserts a key; `true` if it is new: surely not in the filter before.
    ///
    /// # Errors
    ///
    /// Same as [`ScalableBloomFilter::insert`]; [`Error::TooLarge`] also if a budget is exhausted.
    pub fn insert<K: Key + ?Sized>(&self, key: &K) -> Result<bool, Error> {
        self.insert_digest(self.digest_function.digest(key))
    }

    /// Like [`ConcurrentScalableBloomFilter::insert`], for a key that is already a digest.
    ///
    /// # Errors
    ///
    /// Same as [`ScalableBloomFilter::insert`].
    pub fn insert_digest(&self, digest: Digest) -> Result<bool, Error> {
        let (mut searched, mut count) = (0, self.num_layers());
        loop {
            if self.slice(searched, count).rev().any(|shared| shared.layer.contains(digest)) {
                return Ok(false);
            }
            let newest = self.newest(count);
            if newest.reserve(1) == 1 {
                let new = newest.layer.insert_shared(digest);
                // Another thread may have been faster with this key.
                newest.give_back(u64::from(!new));
                return Ok(new);
            }
            searched = count;
            count = self.more_than(count)?;
        }
    }

    /// Inserts many keys in order: bit `i` of the result is set if `keys[i]` was new.
    ///
    /// # Errors
    ///
    /// Same as [`ScalableBloomFilter::insert`]; some of the first keys are then inserted.
    pub fn insert_batch<K: Key>(&self, keys: &[K]) -> Result<Bitmap, Error> {
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
    /// Same as [`ScalableBloomFilter::insert_digests_into`].
    pub fn insert_digests_into(&self, digests: &[Digest], new: &mut Bitmap) -> Result<(), Error> {
        let words = new.reset(digests.len()).chunks_mut(CHUNK / 64);
        let mut pending = Pending::new();
        for (digests, words) in digests.chunks(CHUNK).zip(words) {
            pending.fill(digests);
            self.insert_pending(&mut pending, words)?;
        }
        Ok(())
    }

    /// The newest layer is also queried before room in it is reserved, so that keys already present
    /// reserve nothing: otherwise threads that insert the same keys would push each other on to new
    /// layers.
    fn insert_pending(&self, pending: &mut Pending, new: &mut [u64]) -> Result<(), Error> {
        let (mut searched, mut count) = (0, self.num_layers());
        loop {
            for shared in self.slice(searched, count).rev() {
                pending.keep_absent(&shared.layer.contains_batch(pending.digests()));
            }
            let newest = self.newest(count);
            while !pending.digests().is_empty() {
                let granted = newest.reserve(pending.digests().len() as u64);
                if granted == 0 {
                    break;
                }
                let inserted = &pending.digests()[..granted as usize];
                let answers = newest.layer.insert_batch_shared(inserted);
                newest.give_back(granted - count_ones(&answers));
                pending.mark(&answers, new);
                pending.advance(granted as usize);
            }
            if pending.digests().is_empty() {
                return Ok(());
            }
            // Twice in one batch, and the first time took the last place.
            pending.keep_absent(&newest.layer.contains_batch(pending.digests()));
            if pending.digests().is_empty() {
                return Ok(());
            }
            searched = count;
            count = self.more_than(count)?;
        }
    }

    /// Whether the key may have been inserted: `false` is certain.
    pub fn contains<K: Key + ?Sized>(&self, key: &K) -> bool {
        self.contains_digest(self.digest_function.digest(key))
    }

    /// Like [`ConcurrentScalableBloomFilter::contains`], for a key that is already a digest.
    pub fn contains_digest(&self, digest: Digest) -> bool {
        let mut newest_first = self.published().rev();
        newest_first.any(|shared| shared.layer.contains(digest))
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
        let newest_first = self.published().rev().map(|shared| &shared.layer);
        layer::contains_in(&newest_first, digests, found);
    }

    /// How keys become digests.
    pub const fn digest_function(&self) -> &DigestFunction {
        &self.digest_function
    }

    /// The current number of layers.
    pub fn num_layers(&self) -> usize {
        // ORDERING: Acquire, with the Release of `grow_to`: the slots of the counted layers are
        // seen filled. (With Relaxed, a slot could be seen empty on machines that reorder loads.) A
        // layer that is not counted yet but that this thread must see, since a key was put into it
        // before, is found by looking further.
        let mut count = self.num_layers.load(Ordering::Acquire) as usize;
        while self.layer(count).is_some() {
            count += 1;
        }
        count
    }

    /// The layer of this index, if it is published.
    #[inline]
    fn layer(&self, index: usize) -> Option<&SharedLayer> {
        match index {
            0 => Some(&self.first),
            _ => self.later.get()?.get(index - 1)?.get().map(|shared| &**shared),
        }
    }

    pub(super) const fn limits(&self) -> Limits {
        self.limits
    }

    /// All current layers, oldest first.
    pub(super) fn published(&self) -> impl DoubleEndedIterator<Item = &SharedLayer> + Clone {
        self.slice(0, self.num_layers())
    }

    /// Layers `from..to`, oldest first.
    pub(super) fn slice(
        &self,
        from: usize,
        to: usize,
    ) -> impl DoubleEndedIterator<Item = &SharedLayer> + Clone {
        (from..to).filter_map(|index| self.layer(index))
    }

    /// The last of `count` layers; there is always at least one.
    pub(super) fn newest(&self, count: usize) -> &SharedLayer {
        self.layer(count - 1).expect("layers are counted after they are published")
    }

    /// The number of layers, after adding one if there are no more than `count`.
    fn more_than(&self, count: usize) -> Result<usize, Error> {
        if self.num_layers() <= count {
            // Sizing takes longer than the rest, and needs no lock.
            self.next_after(count)?;
            self.growing.with(|| self.grow_to(count + 1))?;
        }
        Ok(self.num_layers())
    }

    /// Publishes layer number `count`, unless that has been done. Requires that `growing` is held.
    fn grow_to(&self, count: usize) -> Result<(), Error> {
        if self.num_layers() < count {
            let layer = self.layer_after(count - 1)?.clone();
            // No other thread fills either.
            if let Some(later) = self.later.get() {
                let _ = later[count - 2].set(Box::new(layer));
            } else {
                let _ = self.later.set(later_of([layer]));
            }
            // ORDERING: Release, with the Acquire of `num_layers`: a thread that sees the count
            // sees the layer.
            self.num_layers.fetch_max(count as u64, Ordering::Release);
        }
        Ok(())
    }
}
