//! Filters from which keys can be removed: `COUNTING`.

use super::contents::same_kind;
use super::ordered::{Ordered, REMOVAL};
use super::{Contents, FEWEST_ITEMS, Filter, Home, Plan, Target};
use crate::Turn;
use crate::count::Count;
use crate::keyspace::lock::locked;
use crate::keyspace::spec::hash_of;
use crate::keyspace::{Info, InsertError, Measured, RecoveryError, Shape, Spec, WrongKind};
use mayhap::native::Kind;
use mayhap::{Bitmap, Charge, CountingBloomFilter, Digest, DigestFunction, Error};
use std::slice::from_ref;
use std::sync::Mutex;

/// A filter from which keys can be removed. It is locked by all who query or change it. It does not
/// grow, and says when it is full: with as many distinct keys as it was made for, however often
/// each of them was added.
#[derive(Debug)]
struct Counting {
    ordered: Mutex<Ordered<CountingBloomFilter>>,
    digest_function: DigestFunction,
    /// The capacity of its creation.
    capacity: u64,
    /// The number of distinct keys that were new at which so many are in.
    full_at: u64,
    /// Distinct keys that were new and are there. Changed with the filter locked.
    distinct: Count,
    charge: Charge,
}

/// Sizes an empty one.
pub(super) fn plan(capacity: u64, target_fpp: f64) -> Result<Plan, Error> {
    let items = capacity.max(FEWEST_ITEMS);
    let builder = CountingBloomFilter::builder().expected_items(items).target_fpp(target_fpp);
    let params = builder.params()?;
    let num_bytes = (params.num_bits() / params.layout().block_bits()).saturating_mul(64);
    Ok(Plan::new(num_bytes, move |function| {
        Ok(Ordered::new(CountingBloomFilter::empty(params, function)?, 0))
    }))
}

impl Counting {
    /// Inserts digests in their order, up to the first new one for which there is no room, and
    /// records them; returns how many. The answers are in [`Turn::answers`].
    fn insert_all(&self, digests: &[Digest], target: Target<'_>, turn: &mut Turn) -> usize {
        let mut ordered = locked(&self.ordered);
        let room = self.full_at.saturating_sub(self.distinct.get());
        let inserted = if digests.len() as u64 <= room {
            ordered.filter.insert_digests_into(digests, &mut turn.answers);
            digests.len()
        } else {
            insert_within(&mut ordered.filter, room, digests, &mut turn.answers)
        };
        self.distinct.add(turn.answers.count_ones() as u64);
        if inserted > 0 {
            ordered.record(&mut turn.recorder, target, 0, &digests[..inserted]);
        }
        inserted
    }

    /// Counts the keys that are there no more, of those that were removed. With the filter locked.
    fn were_removed(&self, filter: &CountingBloomFilter, removed: &[Digest]) {
        let mut gone = removed.to_vec();
        gone.retain(|&digest| !filter.contains_digest(digest));
        gone.sort_unstable();
        gone.dedup();
        self.distinct.sub(self.distinct.get().min(gone.len() as u64));
    }
}

/// Inserts digests in their order, up to the first one for which there is no room; returns how
/// many.
fn insert_within(
    filter: &mut CountingBloomFilter,
    mut room: u64,
    digests: &[Digest],
    new: &mut Bitmap,
) -> usize {
    new.clear_to(digests.len());
    for (i, &digest) in digests.iter().enumerate() {
        if room == 0 && !filter.contains_digest(digest) {
            return i;
        }
        if filter.insert_digest(digest) {
            new.set(i);
            room -= 1;
        }
    }
    digests.len()
}

impl Filter for Counting {
    fn kind(&self) -> &'static str {
        "counting"
    }

    fn digest_function(&self) -> Option<DigestFunction> {
        Some(self.digest_function)
    }

    fn contains(&self, digest: Digest, _now: u64) -> bool {
        locked(&self.ordered).filter.contains_digest(digest)
    }

    fn contains_many(&self, digests: &[Digest], _now: u64, found: &mut Bitmap) {
        locked(&self.ordered).filter.contains_digests_into(digests, found);
    }

    fn insert(
        &self,
        digest: Digest,
        target: Target<'_>,
        turn: &mut Turn,
    ) -> Result<bool, InsertError> {
        match self.insert_all(from_ref(&digest), target, turn) {
            0 => Err(InsertError::Full),
            _ => Ok(turn.answers.get(0)),
        }
    }

    fn insert_many(&self, target: Target<'_>, turn: &mut Turn) -> Result<(), (usize, InsertError)> {
        let digests = std::mem::take(&mut turn.digests);
        let inserted = self.insert_all(&digests, target, turn);
        let all = digests.len();
        turn.digests = digests;
        if inserted == all { Ok(()) } else { Err((inserted, InsertError::Full)) }
    }

    fn remove_many(&self, target: Target<'_>, turn: &mut Turn) -> Result<(), WrongKind> {
        let Turn { recorder, digests, answers, staying, .. } = turn;
        let mut ordered = locked(&self.ordered);
        ordered.filter.remove_digests_into(digests, answers);
        // The others changed nothing.
        let removed: Vec<Digest> = answers.iter_ones().map(|at| digests[at]).collect();
        staying.clear_to(digests.len());
        for (at, &digest) in digests.iter().enumerate() {
            if !answers.get(at) && ordered.filter.contains_digest(digest) {
                staying.set(at);
            }
        }
        if !removed.is_empty() {
            self.were_removed(&ordered.filter, &removed);
            ordered.record(recorder, target, REMOVAL, &removed);
        }
        Ok(())
    }

    fn info(&self) -> Info {
        let filter = &locked(&self.ordered).filter;
        let distinct_items = filter.params().distinct_items(self.distinct.get());
        Info {
            capacity: self.capacity,
            distinct_items,
            target_fpp: filter.params().target_fpp(),
            expected_fpp: filter.expected_fpp(distinct_items),
            over_capacity: self.is_over_capacity(),
            ..Info::new(self.kind(), filter.inserted_items(), self.num_bytes())
        }
    }

    fn is_over_capacity(&self) -> bool {
        self.distinct.get() > self.full_at
    }

    fn items(&self) -> u64 {
        locked(&self.ordered).filter.inserted_items()
    }

    fn num_bytes(&self) -> u64 {
        self.charge.bytes()
    }

    fn num_hashes(&self) -> u32 {
        locked(&self.ordered).filter.num_hashes()
    }

    fn measure(&self) -> Measured {
        let filter = &locked(&self.ordered).filter;
        let (fill_ratio, estimated_fpp) = (filter.fill_ratio(), filter.estimated_fpp());
        Measured { fill_ratio, estimated_fpp, fill_alarm: None }
    }

    fn snapshot(&self) -> Result<Option<Box<dyn Contents>>, Error> {
        let Ordered { filter, order } = &*locked(&self.ordered);
        Ok(Some(Box::new(Ordered::new(filter.try_clone()?, *order))))
    }
}

/// The distinct keys of a filter that was read or united: as many as were added if its counters
/// allow that, else what they say. Exact where each was added once.
fn distinct(filter: &CountingBloomFilter) -> u64 {
    let (added, estimate) = (filter.inserted_items(), filter.estimated_items());
    if added as f64 <= estimate.high { added } else { estimate.rounded().min(added) }
}

impl Contents for Ordered<CountingBloomFilter> {
    fn num_bytes(&self) -> u64 {
        self.filter.num_bytes()
    }

    fn spec(&self) -> Spec {
        let params = self.filter.params();
        let (capacity, error) = (params.expected_items(), params.target_fpp());
        let shape = Shape::Counting { capacity, error };
        Spec { shape, hash: hash_of(self.filter.digest_function()) }
    }

    fn kind_id(&self) -> u64 {
        Kind::Counting.id().into()
    }

    fn into_filter(
        self: Box<Self>,
        spec: &Spec,
        _home: Home<'_>,
        charge: Charge,
    ) -> Box<dyn Filter> {
        let capacity = match spec.shape {
            Shape::Counting { capacity, .. } => capacity,
            _ => self.filter.params().expected_items(),
        };
        let digest_function = *self.filter.digest_function();
        let full_at = self.filter.params().inserted_when_holding(capacity);
        let distinct = Count::new(distinct(&self.filter));
        let ordered = self.shared();
        Box::new(Counting { ordered, digest_function, capacity, full_at, distinct, charge })
    }

    fn union_with(&mut self, other: &dyn Contents) -> Result<(), Error> {
        let other = same_kind(self, other)?;
        self.filter.union_with(&other.filter)
    }

    fn num_set(&self) -> u64 {
        (self.filter.fill_ratio() * self.filter.num_counters() as f64).round() as u64
    }

    fn items_beyond(&self, capacity: u64) -> Option<u64> {
        let items = distinct(&self.filter);
        (items > self.filter.params().inserted_when_holding(capacity)).then_some(items)
    }

    fn replay_ordered(
        &mut self,
        order: u64,
        what: u64,
        digests: &[Digest],
        scratch: &mut Bitmap,
    ) -> Result<(), RecoveryError> {
        self.replayed(order, digests);
        if what == REMOVAL {
            self.filter.remove_digests_into(digests, scratch);
        } else {
            self.filter.insert_digests_into(digests, scratch);
        }
        Ok(())
    }
}
