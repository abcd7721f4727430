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

/// A filter that many threads fill and that says when it is full: `NONSCALING`.
///
/// A thread reserves room before it inserts, so the filter never counts more keys than show that it
/// holds those that it was made for.
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
}

impl Fixed {
    /// With the keys that the filter has.
    fn new(filter: AnyFilter, capacity: u64, charge: Charge) -> Self {
        let taken = AtomicU64::new(filter.inserted_items());
        let full_at = filter.params().inserted_when_holding(capacity);
        Self { filter: filter.into_concurrent(), charge, capacity, full_at, taken }
    }

    fn reserve(&self, places: u64) -> bool {
        // ORDERING: Relaxed. The number guards no memory; a read-modify-write sees the last value,
        // so places are never granted twice.
        let more = |taken: u64| taken.checked_add(places).filter(|&sum| sum <= self.full_at);
        self.taken.fetch_update(Ordering::Relaxed, Ordering::Relaxed, more).is_ok()
    }

    fn give_back(&self, places: u64) {
        // ORDERING: Relaxed, as in `reserve`.
        self.taken.fetch_sub(places, Ordering::Relaxed);
    }
}

impl Unordered for Fixed {
    #[inline]
    fn has(&self, digest: Digest) -> bool {
        self.filter.contains_digest(digest)
    }

    fn add(&self, digest: Digest) -> Result<bool, InsertError> {
        if self.filter.contains_digest(digest) {
            return Ok(false);
        }
        if !self.reserve(1) {
            // Another thread may have taken the last place, with this key.
            return if self.filter.contains_digest(digest) {
                Ok(false)
            } else {
                Err(InsertError::Full)
            };
        }
        let new = self.filter.insert_digest(digest);
        self.give_back(u64::from(!new));
        Ok(new)
    }

    /// Up to the first one for which there is no room.
    fn add_many(&self, digests: &[Digest], new: &mut Bitmap) -> Result<(), (usize, InsertError)> {
        let places = digests.len() as u64;
        if self.reserve(places) {
            self.filter.insert_digests_into(digests, new);
            self.give_back(places - new.count_ones() as u64);
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
        Info { capacity: self.capacity, ..base }
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
        let items = self.inserted_items().max(other.inserted_items());
        Self::union_with(self, other)?;
        self.set_inserted_items(self.inserted_items().max(items));
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
