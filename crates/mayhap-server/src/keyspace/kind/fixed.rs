//! Filters that do not grow and say when they are full: `NONSCALING`.

use super::contents::same_kind;
use super::unordered::{self, Unordered};
use super::{Contents, FEWEST_ITEMS, Filter, Home, Plan, Target};
use crate::Turn;
use crate::durable::{Answered, Snapshot, write_native};
use crate::keyspace::info::is_overfull;
use crate::keyspace::spec::hash_of;
use crate::keyspace::{Info, InsertError, Measured, RecoveryError, Shape, Spec};
use mayhap::native::Kind;
use mayhap::{
    AnyFilter, Bitmap, Build, Charge, Digest, DigestFunction, Error, Estimate, Layout, SharedBlocks,
};
use std::io::{self, Write};
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;

/// Sizes an empty one.
pub(super) fn plan(capacity: u64, target_fpp: f64, layout: Option<Layout>) -> Result<Plan, Error> {
    let items = capacity.max(FEWEST_ITEMS);
    let builder = AnyFilter::builder().expected_items(items).target_fpp(target_fpp);
    let builder = match layout {
        Some(layout) => builder.layout(layout),
        None => builder,
    };
    let params = builder.params()?;
    Ok(Plan::new(params.num_bytes(), move |function| AnyFilter::empty(params, function)))
}

/// Places that a thread reserves at once: whoever waits for them waits for so many insertions.
const RESERVED: usize = 4_096;

/// A filter that many threads fill and that says when it is full: `NONSCALING`.
///
/// A thread reserves room before it inserts, so the filter never counts more keys than show that it
/// holds those that it was made for. It reserves for repeats too, which need none, and gives that
/// back: a filter is full once keys have all its places, and whoever finds some of them reserved
/// waits until they are taken or given back.
#[derive(Debug)]
pub(super) struct Fixed {
    filter: AnyFilter<SharedBlocks>,
    charge: Charge,
    capacity: u64,
    /// The count of keys inserted at which so many distinct ones are in, those that were taken for
    /// repeats among them.
    full_at: u64,
    /// Keys inserted, and places that threads reserved and will use or give back.
    taken: AtomicU64,
    /// Keys inserted, without the places that are reserved.
    used: AtomicU64,
}

impl Fixed {
    /// With the keys that the filter has.
    fn new(filter: AnyFilter, capacity: u64, charge: Charge) -> Self {
        let [taken, used] = [0, 1].map(|_| AtomicU64::new(filter.inserted_items()));
        let full_at = filter.params().inserted_when_holding(capacity);
        Self { filter: filter.into_concurrent(), charge, capacity, full_at, taken, used }
    }

    fn reserve(&self, places: u64) -> bool {
        // ORDERING: Relaxed. The number guards no memory; a read-modify-write sees the last value,
        // so places are never granted twice.
        let more = |taken: u64| taken.checked_add(places).filter(|&sum| sum <= self.full_at);
        self.taken.fetch_update(Ordering::Relaxed, Ordering::Relaxed, more).is_ok()
    }

    /// Ends a reservation of so many places, of which keys took `new`.
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

    /// Whether keys have all places, and none is only reserved.
    fn is_full(&self) -> bool {
        // ORDERING: Acquire, with the Release in `settle`: who finds it full sees all its keys.
        self.used.load(Ordering::Acquire) >= self.full_at
    }
}

impl Unordered for Fixed {
    #[inline]
    fn has(&self, digest: Digest) -> bool {
        self.filter.contains_digest(digest)
    }

    fn add(&self, digest: Digest) -> Result<bool, InsertError> {
        loop {
            let is_full = self.is_full();
            // Afterwards, since another thread may have taken the last place with this key.
            if self.filter.contains_digest(digest) {
                return Ok(false);
            }
            if is_full {
                return Err(InsertError::Full);
            }
            if self.reserve(1) {
                let new = self.filter.insert_digest(digest);
                self.settle(1, new.into());
                return Ok(new);
            }
            // Others have reserved what is left, and will take it or give it back: they wait for
            // nothing meanwhile.
            thread::yield_now();
        }
    }

    /// Up to the first one for which there is no room.
    fn add_many(&self, digests: &[Digest], new: &mut Bitmap) -> Result<(), (usize, InsertError)> {
        if digests.len() <= RESERVED {
            return self.add_part(digests, new);
        }
        let mut part_new = Bitmap::new();
        new.clear_to(digests.len());
        for (start, part) in (0..).step_by(RESERVED).zip(digests.chunks(RESERVED)) {
            let added = self.add_part(part, &mut part_new);
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

    fn digest_function(&self) -> Option<DigestFunction> {
        Some(*self.filter.digest_function())
    }

    fn contains(&self, digest: Digest, _now: u64) -> bool {
        self.filter.contains_digest(digest)
    }

    fn contains_many(&self, digests: &[Digest], _now: u64, found: &mut Bitmap) {
        self.filter.contains_digests_into(digests, found);
    }

    fn insert(
        &self,
        digest: Digest,
        target: Target<'_>,
        turn: &mut Turn,
    ) -> Result<bool, InsertError> {
        unordered::insert(self, digest, target, turn)
    }

    fn insert_many(&self, target: Target<'_>, turn: &mut Turn) -> Result<(), (usize, InsertError)> {
        unordered::insert_many(self, target, turn)
    }

    fn info(&self) -> Info {
        let base = Info::plain(self.kind(), self.filter.params(), self.items(), self.num_bytes());
        Info { capacity: self.capacity, over_capacity: self.is_over_capacity(), ..base }
    }

    fn is_over_capacity(&self) -> bool {
        self.items() > self.full_at
    }

    fn items(&self) -> u64 {
        // ORDERING: Relaxed. A number that stands for itself.
        self.taken.load(Ordering::Relaxed)
    }

    fn num_bytes(&self) -> u64 {
        self.charge.bytes()
    }

    fn num_hashes(&self) -> u32 {
        self.filter.params().num_hashes()
    }

    fn measure(&self) -> Measured {
        let (params, fill_ratio) = (self.filter.params(), self.filter.fill_ratio());
        let ones = (fill_ratio * params.num_bits() as f64).round() as u64;
        // The keys after the bits: one whose bits were seen had been counted before.
        let came = params.distinct_items(self.items());
        let fill_alarm = Some(is_overfull(&Estimate::from_ones(params, ones), came));
        Measured { fill_ratio, estimated_fpp: self.filter.estimated_fpp(), fill_alarm }
    }

    fn snapshot(&self) -> Result<Option<Box<dyn Contents>>, Error> {
        let mut copy = self.filter.snapshot()?;
        // After the bits: a key that is in them had reserved its place before it set any.
        copy.set_inserted_items(self.items());
        Ok(Some(Box::new(copy)))
    }
}

impl Snapshot for AnyFilter {
    fn write(&self, out: &mut dyn Write) -> io::Result<()> {
        write_native(self, out)
    }
}

impl Contents for AnyFilter {
    fn num_bytes(&self) -> u64 {
        self.params().num_bytes()
    }

    fn spec(&self) -> Spec {
        let (capacity, error) = (self.params().expected_items(), self.params().target_fpp());
        let shape = Shape::Fixed { capacity, error, layout: None };
        Spec { shape, hash: hash_of(self.digest_function()) }
    }

    fn kind_id(&self) -> u64 {
        Kind::Bloom.id().into()
    }

    fn into_filter(
        self: Box<Self>,
        spec: &Spec,
        _home: Home<'_>,
        charge: Charge,
    ) -> Box<dyn Filter> {
        let capacity = match spec.shape {
            Shape::Fixed { capacity, .. } => capacity,
            _ => self.params().expected_items(),
        };
        Box::new(Fixed::new(*self, capacity, charge))
    }

    fn limit_items(&mut self, most: u64) {
        self.set_inserted_items(self.inserted_items().min(most));
    }

    fn union_with(&mut self, other: &dyn Contents) -> Result<(), Error> {
        let other = same_kind(self, other)?;
        let (ours, theirs) = (self.inserted_items(), other.inserted_items());
        let ones = self.count_ones().max(other.count_ones());
        Self::union_with(self, other)?;
        // The bits tell it with an error, and within what both have counted.
        let (least, most) = (ours.max(theirs), ours.saturating_add(theirs));
        let is_larger = self.count_ones() > ones;
        self.set_inserted_items(if is_larger {
            self.inserted_items().clamp(least, most)
        } else {
            least
        });
        Ok(())
    }

    fn num_set(&self) -> u64 {
        self.count_ones()
    }

    fn items_beyond(&self, capacity: u64) -> Option<u64> {
        let items = self.inserted_items();
        (items > self.params().inserted_when_holding(capacity)).then_some(items)
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

#[cfg(all(test, not(any(loom, shuttle))))]
mod tests {
    use super::*;
    use mayhap::Budget;
    use std::sync::mpsc::channel;

    /// Across the parts in which places are reserved: all before the first that finds no room.
    #[test]
    fn a_long_batch_is_inserted_in_order_up_to_the_last_place() {
        let builder = AnyFilter::builder().expected_items(10_000).target_fpp(1e-6);
        let charge = Budget::new(u64::MAX).empty();
        let filter = Fixed::new(builder.build().unwrap(), 10_000, charge);
        let function = DigestFunction::xxh3(0);
        let digests: Vec<Digest> = (0..9_000u64).map(|key| function.digest(&key)).collect();
        let mut new = Bitmap::new();
        assert_eq!(filter.add_many(&digests, &mut new), Ok(()));
        assert_eq!((new.count_ones(), filter.items()), (9_000, 9_000));
        // 4,500 repeats, and new ones of which the first 1,000 have places.
        let more = (9_000..20_000u64).map(|key| function.digest(&key));
        let batch: Vec<Digest> = digests[..4_500].iter().copied().chain(more).collect();
        let (at, error) = filter.add_many(&batch, &mut new).unwrap_err();
        assert_eq!((at, error), (5_500, InsertError::Full));
        assert!(new.iter_ones().eq(4_500..5_500));
        assert!((0..at).all(|at| filter.has(batch[at])));
    }

    /// Repeats of another thread have all places that are left: whoever comes then is neither
    /// refused nor let in, and has one of the places that are given back.
    #[test]
    fn places_that_are_only_reserved_make_nobody_full() {
        let builder = AnyFilter::builder().expected_items(1_000).target_fpp(1e-4);
        let charge = Budget::new(u64::MAX).empty();
        let filter = Fixed::new(builder.build().unwrap(), 1_000, charge);
        let left = filter.full_at;
        for (given_back, expected) in [(2, Ok(true)), (0, Err(InsertError::Full))] {
            let left = left - filter.items();
            assert!(filter.reserve(left));
            let (sender, answer) = channel();
            thread::scope(|scope| {
                let digest = Digest::new(u64::MAX / 7 * (1 + given_back));
                let (filter, waits) = (&filter, sender.clone());
                scope.spawn(move || waits.send(filter.add(digest)));
                // The other thread can run for as long as it likes.
                assert!(answer.recv_timeout(std::time::Duration::from_millis(50)).is_err());
                filter.settle(left, left - given_back);
                assert_eq!(answer.recv().unwrap(), expected);
            });
        }
    }
}
