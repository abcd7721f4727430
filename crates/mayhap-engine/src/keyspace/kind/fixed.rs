//! Filters that do not grow and refuse keys when they are full: `NONSCALING`.

use super::filter::{Contents, Filter, Home, Target};
use super::lock_free::{self, LockFree, lock_free};
use super::own::{Own, Owned};
use super::{FEWEST_ITEMS, Plan};
use crate::Work;
use crate::durable::{Answered, Piece};
use crate::keyspace::fold_size::Size;
use crate::keyspace::info::is_overfull;
use crate::keyspace::{Info, InsertError, Measured, RecoveryError, Saving, Shape};
use crate::sync::unpoisoned;
use mayhap::set::{Set, same_kind};
use mayhap::{
    AnyFilter, Bitmap, Build, Charge, Digest, DigestFunction, Error, Estimate, FilterParams, Gain,
    Layout, SharedBlocks,
};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock};
use std::thread;

/// Sizes an empty filter.
pub(super) fn plan(
    shape: Shape,
    capacity: u64,
    target_fpp: f64,
    layout: Option<Layout>,
) -> Result<Plan, Error> {
    let items = capacity.max(FEWEST_ITEMS);
    let builder = AnyFilter::builder().expected_items(items).target_fpp(target_fpp);
    let builder = match layout {
        Some(layout) => builder.layout(layout),
        None => builder,
    };
    let params = builder.params()?;
    Ok(Plan::new(shape, params.num_bytes(), move |function| AnyFilter::empty(params, function)))
}

/// Places that a thread reserves at a time; a thread that waits for them waits for this many
/// insertions.
const RESERVED: usize = 4_096;

/// Added to the places taken while the filter is folded, and for ever if it was: none is left.
const CLOSED: u64 = 1 << 63;

/// A filter that many threads fill and that refuses keys when it is full: `NONSCALING`.
///
/// A thread reserves room before it inserts, so the filter never counts more keys than correspond
/// to its capacity. It reserves for repeats too, which need none, and returns that: a filter is
/// full once keys have all its places, and a thread that finds some of them only reserved waits
/// until they are used or returned.
///
/// For a fold the filter is closed: no thread reserves a place, and once those that have are done
/// its bits change no more. The smaller filter is the successor, in an entry of its own. A thread
/// that has found the old entry queries it and inserts into it instead.
#[derive(Debug)]
pub(in crate::keyspace) struct Fixed {
    filter: AnyFilter<SharedBlocks>,
    charge: Charge,
    /// Its shape and its capacity at creation.
    shape: Shape,
    capacity: u64,
    /// The count of inserted keys at which the filter holds `capacity` distinct ones, including
    /// those counted as repeats.
    full_at: u64,
    /// Keys inserted, and places that threads have reserved and will use or return.
    taken: AtomicU64,
    /// Keys inserted, without reserved places.
    used: AtomicU64,
    /// Held while it is closed.
    folding: Mutex<()>,
    /// The smaller filter that has taken its place.
    successor: OnceLock<Arc<dyn Successor>>,
}

impl Fixed {
    /// Starts with the keys that the filter has.
    fn new(filter: AnyFilter, shape: Shape, charge: Charge) -> Self {
        let [taken, used] = [0, 1].map(|_| AtomicU64::new(filter.inserted_items()));
        let capacity = capacity(shape, filter.params());
        let full_at = filter.params().inserted_when_holding(capacity).min(CLOSED - 1);
        let (filter, folding, successor) =
            (filter.into_concurrent(), Mutex::default(), OnceLock::new());
        Self { filter, charge, shape, capacity, full_at, taken, used, folding, successor }
    }

    /// Itself, or the smaller filter that has taken its place.
    #[inline]
    fn current(&self) -> &Self {
        let mut current = self;
        while let Some(next) = current.successor.get().and_then(|next| next.fixed()) {
            current = next;
        }
        current
    }

    /// The keys that it has room for.
    pub(in crate::keyspace) const fn capacity(&self) -> u64 {
        self.capacity
    }

    /// What a fold would save.
    pub(in crate::keyspace) fn saving(&self) -> Option<Saving> {
        Saving::of(self.filter.params(), self.items())
    }

    /// Closes it for a fold: waits for another one, and for insertions in progress; others wait
    /// until this is dropped.
    pub(in crate::keyspace) fn close(&self) -> Closed<'_> {
        let folding = unpoisoned(self.folding.lock());
        if self.successor.get().is_none() {
            // ORDERING: Relaxed. A read-modify-write, as that of `reserve`: none succeeds later.
            self.taken.fetch_add(CLOSED, Ordering::Relaxed);
        }
        // The places taken only become fewer now, and those used more, until all are used. A thread
        // that has reserved some waits for nothing meanwhile.
        // ORDERING: Acquire, with the Release in `settle`: the bits of all keys are seen.
        while self.items() != self.used.load(Ordering::Acquire) {
            thread::yield_now();
        }
        Closed { fixed: self, _folding: folding }
    }

    /// Its parameters.
    pub(in crate::keyspace) const fn params(&self) -> &FilterParams {
        self.filter.params()
    }

    /// How keys become digests.
    pub(in crate::keyspace) const fn function(&self) -> &DigestFunction {
        self.filter.digest_function()
    }

    /// Keeps folds waiting; `None` if it was folded.
    pub(in crate::keyspace) fn hold(&self) -> Option<MutexGuard<'_, ()>> {
        let folding = unpoisoned(self.folding.lock());
        self.successor.get().is_none().then_some(folding)
    }

    /// What a piece of bits would add.
    pub(in crate::keyspace) fn gain_of(&self, offset: u64, bits: &[u8]) -> Result<Gain, Error> {
        self.filter.gain_of(offset, bits)
    }

    /// The bits that are set; reads all of them.
    pub(in crate::keyspace) fn count_ones(&self) -> u64 {
        self.filter.count_ones()
    }

    /// Sets the bits of a piece, and counts its keys; returns how many it lacked. With folds
    /// waiting.
    pub(in crate::keyspace) fn unite(
        &self,
        offset: u64,
        bits: &[u8],
        items: u64,
    ) -> Result<u64, Error> {
        let new = self.filter.union_bytes(offset, bits)?;
        // ORDERING: as in `settle`; a fold, which would find one without the other, waits.
        self.used.fetch_add(items, Ordering::Release);
        self.taken.fetch_add(items, Ordering::Relaxed);
        Ok(new)
    }

    fn is_closed(&self) -> bool {
        // ORDERING: Relaxed. Who finds it closed waits for the lock.
        self.taken.load(Ordering::Relaxed) & CLOSED != 0
    }

    fn reserve(&self, places: u64) -> bool {
        // ORDERING: Relaxed. The number guards no memory; a read-modify-write sees the last value,
        // so places are never granted twice.
        let more = |taken: u64| taken.checked_add(places).filter(|&sum| sum <= self.full_at);
        self.taken.fetch_update(Ordering::Relaxed, Ordering::Relaxed, more).is_ok()
    }

    /// Ends a reservation of `places` places, of which keys took `new`.
    fn settle(&self, places: u64, new: u64) {
        // ORDERING: Release, after the bits of the keys: with the Acquire in `is_full`.
        self.used.fetch_add(new, Ordering::Release);
        // ORDERING: Relaxed, as in `reserve`.
        self.taken.fetch_sub(places - new, Ordering::Relaxed);
    }

    /// Inserts digests in order, up to the first one for which there is no room.
    fn add_part(&self, digests: &[Digest], new: &mut Bitmap) -> Result<(), (usize, InsertError)> {
        let places = digests.len() as u64;
        if self.reserve(places) {
            self.filter.insert_digests_into(digests, new);
            self.settle(places, new.count_ones() as u64);
            return Ok(());
        }
        new.clear_to(digests.len());
        for (i, &digest) in digests.iter().enumerate() {
            if self.add(digest).map_err(|error| (i, error))? {
                new.set(i);
            }
        }
        Ok(())
    }

    /// Whether keys have all places, with none only reserved.
    fn is_full(&self) -> bool {
        // ORDERING: Acquire, with the Release in `settle`: a thread that finds it full sees all its
        // keys.
        self.used.load(Ordering::Acquire) >= self.full_at
    }
}

/// The entry of a smaller filter that has taken the place of one.
pub(in crate::keyspace) trait Successor: std::fmt::Debug + Send + Sync {
    /// The filter, unless another one has its place by now.
    fn fixed(&self) -> Option<&Fixed>;
}

/// A filter that is closed for a fold, and opens again when this is dropped, unless another has
/// taken its place.
#[derive(Debug)]
pub(in crate::keyspace) struct Closed<'a> {
    fixed: &'a Fixed,
    _folding: MutexGuard<'a, ()>,
}

impl Closed<'_> {
    /// Its parameters.
    pub(in crate::keyspace) const fn params(&self) -> &FilterParams {
        self.fixed.filter.params()
    }

    /// The keys that it has answered "new" to.
    pub(in crate::keyspace) fn items(&self) -> u64 {
        self.fixed.items()
    }

    /// The filter folded by a factor, with these parameters; a copy of its bits is in memory
    /// meanwhile.
    pub(in crate::keyspace) fn folded(
        &self,
        factor: u64,
        params: &FilterParams,
    ) -> Result<Box<dyn Contents>, Error> {
        let Fixed { filter, shape, .. } = self.fixed;
        let (items, target_fpp) = (params.expected_items(), params.target_fpp());
        let mut folded =
            filter.snapshot()?.fold(factor, target_fpp)?.promising(items, target_fpp)?;
        folded.set_inserted_items(self.fixed.items());
        Ok(Box::new(Owned::new(folded, *shape)))
    }

    /// Has this filter take its place, for those that have found it.
    pub(in crate::keyspace) fn replace_with(self, successor: Arc<dyn Successor>) {
        // With the lock held, and none before: or another filter had its place by now.
        let _is_first = self.fixed.successor.set(successor);
    }
}

impl Drop for Closed<'_> {
    fn drop(&mut self) {
        if self.fixed.successor.get().is_none() {
            // ORDERING: Relaxed, as in `close`.
            self.fixed.taken.fetch_sub(CLOSED, Ordering::Relaxed);
        }
    }
}

/// The keys that a filter has room for: those of its creation, unless it was folded since.
fn capacity(shape: Shape, params: &FilterParams) -> u64 {
    match shape.size() {
        Some((capacity, target_fpp))
            if params.expected_items() == capacity.max(FEWEST_ITEMS)
                && params.target_fpp() == target_fpp =>
        {
            capacity
        }
        _ => params.expected_items(),
    }
}

impl LockFree for Fixed {
    fn add(&self, digest: Digest) -> Result<bool, InsertError> {
        loop {
            let current = self.current();
            let is_full = current.is_full();
            // After `is_full`, since another thread may have used the last place for this key.
            if current.filter.contains_digest(digest) {
                return Ok(false);
            }
            if is_full {
                return Err(InsertError::Full);
            }
            if current.reserve(1) {
                let new = current.filter.insert_digest(digest);
                current.settle(1, new.into());
                return Ok(new);
            }
            if current.is_closed() {
                drop(unpoisoned(current.folding.lock()));
            } else {
                // Other threads have reserved the remaining places, and will use or return them:
                // they wait for nothing meanwhile.
                thread::yield_now();
            }
        }
    }

    /// Inserts digests up to the first one for which there is no room.
    fn add_many(&self, digests: &[Digest], new: &mut Bitmap) -> Result<(), (usize, InsertError)> {
        if digests.len() <= RESERVED {
            return self.current().add_part(digests, new);
        }
        let mut part_new = Bitmap::new();
        new.clear_to(digests.len());
        for (start, part) in (0..).step_by(RESERVED).zip(digests.chunks(RESERVED)) {
            let added = self.current().add_part(part, &mut part_new);
            part_new.iter_ones().for_each(|at| new.set(start + at));
            added.map_err(|(at, error)| (start + at, error))?;
        }
        Ok(())
    }
}

impl Filter for Fixed {
    fn kind(&self) -> &'static str {
        self.filter.params().layout().name()
    }

    lock_free!(current);

    fn fixed(&self) -> Option<&Fixed> {
        Some(self)
    }

    fn info(&self) -> Info {
        let base = Info::plain(self.kind(), self.filter.params(), self.items(), self.num_bytes());
        Info { capacity: self.capacity, over_capacity: self.is_over_capacity(), ..base }
    }

    fn is_over_capacity(&self) -> bool {
        self.items() > self.full_at
    }

    fn items(&self) -> u64 {
        // ORDERING: Relaxed. The number stands for itself.
        self.taken.load(Ordering::Relaxed) & !CLOSED
    }

    fn num_bytes(&self) -> u64 {
        self.charge.bytes()
    }

    fn measure(&self) -> Measured {
        let (params, fill_ratio) = (self.filter.params(), self.filter.fill_ratio());
        let ones = (fill_ratio * params.num_bits() as f64).round() as u64;
        // The keys after the bits: a key whose bits were seen had been counted before.
        let came = params.distinct_items(self.items());
        let fill_alarm = Some(is_overfull(&Estimate::from_ones(params, ones), came));
        Measured { fill_ratio, estimated_fpp: self.filter.estimated_fpp(), fill_alarm }
    }

    fn snapshot(&self) -> Result<Option<Box<dyn Contents>>, Error> {
        let mut copy = self.filter.snapshot()?;
        // After the bits: a key among them had reserved its place before it set any.
        copy.set_inserted_items(self.items());
        Ok(Some(Box::new(Owned::new(copy, self.shape))))
    }
}

impl Own for AnyFilter {
    fn num_bytes(&self) -> u64 {
        self.params().num_bytes()
    }

    fn share(owned: Owned<Self>, _home: Home<'_>, charge: Charge) -> Box<dyn Filter> {
        Box::new(Fixed::new(owned.set, owned.shape, charge))
    }

    fn limit_items(&mut self, most: u64) {
        self.set_inserted_items(self.inserted_items().min(most));
    }

    fn unite(&mut self, other: &dyn Set) -> Result<bool, Error> {
        let other = same_kind(self, other)?;
        let (ours, theirs) = (self.inserted_items(), other.inserted_items());
        let ones = self.count_ones().max(other.count_ones());
        self.union_with(other)?;
        // The bits give an estimate, within the bounds of the two counts.
        let (least, most) = (ours.max(theirs), ours.saturating_add(theirs));
        let is_larger = self.count_ones() > ones;
        self.set_inserted_items(if is_larger {
            self.inserted_items().clamp(least, most)
        } else {
            least
        });
        Ok(is_larger)
    }

    fn counted_of(&self, capacity: u64) -> Option<(u64, u64)> {
        Some((self.inserted_items(), self.params().inserted_when_holding(capacity)))
    }

    fn fold_to(&mut self, to: &Size) -> Result<(), RecoveryError> {
        let (num_bits, items) = (self.params().num_bits(), self.inserted_items());
        if num_bits <= to.num_bits {
            return Ok(());
        }
        if to.num_bits == 0 || !num_bits.is_multiple_of(to.num_bits) {
            return Err(RecoveryError::NoSize);
        }
        let folded = self.fold(num_bits / to.num_bits, to.target_fpp)?;
        *self = folded.promising(to.expected_items, to.target_fpp)?;
        self.set_inserted_items(items);
        Ok(())
    }

    fn unite_piece(&mut self, piece: Piece<'_>) -> Result<(), RecoveryError> {
        let (num_bits, items) = (self.params().num_bits(), self.inserted_items());
        if num_bits > piece.num_bits {
            return Err(RecoveryError::NoPiece);
        }
        if num_bits == piece.num_bits {
            self.union_bytes(piece.offset, piece.bits)?;
        }
        self.set_inserted_items(items.saturating_add(piece.items));
        Ok(())
    }

    fn replay(
        &mut self,
        digests: &[Digest],
        answered: Answered,
        scratch: &mut Bitmap,
    ) -> Result<(), RecoveryError> {
        let before = self.inserted_items();
        self.insert_digests_into(digests, scratch);
        match answered {
            Answered::New => {
                self.set_inserted_items(before.saturating_add(digests.len() as u64));
            }
            Answered::There => self.set_inserted_items(before),
            Answered::Unknown => {}
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use mayhap::Budget;
    use std::sync::mpsc::channel;

    /// Across the parts in which places are reserved: every key before the first without room.
    #[test]
    fn a_long_batch_is_inserted_in_order_up_to_the_last_place() {
        let builder = AnyFilter::builder().expected_items(10_000).target_fpp(1e-6);
        let charge = Budget::new(u64::MAX).empty();
        let filter = Fixed::new(builder.build().unwrap(), Shape::File, charge);
        let function = DigestFunction::xxh3(0);
        let digests: Vec<Digest> = (0..9_000u64).map(|key| function.digest(&key)).collect();
        let mut new = Bitmap::new();
        assert_eq!(filter.add_many(&digests, &mut new), Ok(()));
        assert_eq!((new.count_ones(), filter.items()), (9_000, 9_000));
        // 4,500 repeats, and new ones, the first 1,000 of which have places.
        let more = (9_000..20_000u64).map(|key| function.digest(&key));
        let batch: Vec<Digest> = digests[..4_500].iter().copied().chain(more).collect();
        let (at, error) = filter.add_many(&batch, &mut new).unwrap_err();
        assert_eq!((at, error), (5_500, InsertError::Full));
        assert!(new.iter_ones().eq(4_500..5_500));
        assert!((0..at).all(|at| filter.contains(batch[at], 0)));
    }

    /// Repeats of another thread have reserved all remaining places: a thread that inserts then is
    /// neither refused nor let in, and gets one of the places that are returned.
    #[test]
    fn reserved_places_do_not_make_a_filter_full() {
        let builder = AnyFilter::builder().expected_items(1_000).target_fpp(1e-4);
        let charge = Budget::new(u64::MAX).empty();
        let filter = Fixed::new(builder.build().unwrap(), Shape::File, charge);
        let left = filter.full_at;
        for (given_back, expected) in [(2, Ok(true)), (0, Err(InsertError::Full))] {
            let left = left - filter.items();
            assert!(filter.reserve(left));
            let (sender, answer) = channel();
            thread::scope(|scope| {
                let digest = Digest::new(u64::MAX / 7 * (1 + given_back));
                let (filter, waits) = (&filter, sender.clone());
                scope.spawn(move || waits.send(filter.add(digest)));
                // The other thread may run for as long as it likes.
                assert!(answer.recv_timeout(std::time::Duration::from_millis(50)).is_err());
                filter.settle(left, left - given_back);
                assert_eq!(answer.recv().unwrap(), expected);
            });
        }
    }
}
