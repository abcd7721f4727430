//! Filters from which keys can be removed: `COUNTING`.

use super::contents::same_kind;
use super::ordered::{self, InOrder, Ordered, REMOVAL};
use super::{Contents, FEWEST_ITEMS, Filter, Home, Plan, Target};
use crate::Turn;
use crate::keyspace::lock::locked;
use crate::keyspace::spec::hash_of;
use crate::keyspace::{Info, InsertError, Measured, RecoveryError, Shape, Spec, WrongKind};
use mayhap::native::Kind;
use mayhap::{Bitmap, Charge, CountingBloomFilter, Digest, DigestFunction, Error};
use std::sync::Mutex;

/// A filter from which keys can be removed. It is locked by all who query or change it.
#[derive(Debug)]
struct Counting {
    ordered: Mutex<Ordered<CountingBloomFilter>>,
    digest_function: DigestFunction,
    /// The capacity of its creation.
    capacity: u64,
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

impl InOrder for Counting {
    fn insert_all(&self, digests: &[Digest], target: Target<'_>, turn: &mut Turn) {
        let mut ordered = locked(&self.ordered);
        ordered.filter.insert_digests_into(digests, &mut turn.answers);
        ordered.record(&mut turn.recorder, target, 0, digests);
    }
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
        Ok(ordered::insert(self, digest, target, turn))
    }

    fn insert_many(&self, target: Target<'_>, turn: &mut Turn) -> Result<(), (usize, InsertError)> {
        ordered::insert_many(self, target, turn);
        Ok(())
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
            ordered.record(recorder, target, REMOVAL, &removed);
        }
        Ok(())
    }

    fn info(&self) -> Info {
        let filter = &locked(&self.ordered).filter;
        let base = Info::new(self.kind(), filter.inserted_items(), self.num_bytes());
        Info {
            capacity: self.capacity,
            target_fpp: filter.params().target_fpp(),
            expected_fpp: filter.expected_fpp(base.items),
            ..base
        }
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
        Box::new(Counting { ordered: self.shared(), digest_function, capacity, charge })
    }

    fn union_with(&mut self, other: &dyn Contents) -> Result<(), Error> {
        let other = same_kind(self, other)?;
        self.filter.union_with(&other.filter)
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
