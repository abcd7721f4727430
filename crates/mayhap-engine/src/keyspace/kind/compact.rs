//! Filters from which keys can be removed, in little more memory than the set needs: `LAYOUT
//! compact`, `CF.*`. One counts copies, not keys: it is full with as many copies as its capacity,
//! or doubles itself when it has no room.

use super::filter::{Filter, Home};
use super::locked::{Locked, Ordered, Within, by_numbers};
use super::own::{Own, Owned};
use super::{FEWEST_ITEMS, Plan};
use crate::keyspace::error::FILTER_BYTES;
use crate::keyspace::{Info, InsertError, Shape};
use mayhap::set::{Repeats, Set, same_kind};
use mayhap::sizing::compact::{CompactParams, MIN_TARGET_FPP};
use mayhap::{Bitmap, Charge, CompactFilter, Digest, Error};

/// Doublings within the rate of a filter that grows: to a thousand times its capacity.
const DOUBLINGS: u32 = 10;
/// Keys whose cache lines are fetched together.
const TOGETHER: usize = 256;

/// The size of an empty filter. One that grows has room for a few keys more, and as many doublings
/// within its rate as a rate that low can have.
pub(in crate::keyspace) fn params(
    capacity: u64,
    target_fpp: f64,
    grows: bool,
) -> Result<CompactParams, Error> {
    if target_fpp < MIN_TARGET_FPP {
        return Err(Error::FppUnreachable { target_fpp, lowest_fpp: MIN_TARGET_FPP });
    }
    let items = if grows { capacity.max(FEWEST_ITEMS) } else { capacity };
    let builder = CompactFilter::builder().expected_items(items).target_fpp(target_fpp);
    let with = |doublings| builder.clone().doublings(doublings).params();
    let most = if grows { DOUBLINGS } else { 0 };
    (1..=most).rev().find_map(|doublings| with(doublings).ok()).map_or_else(|| with(0), Ok)
}

/// Sizes an empty filter.
pub(super) fn plan(
    shape: Shape,
    capacity: u64,
    target_fpp: f64,
    grows: bool,
) -> Result<Plan, Error> {
    let params = params(capacity, target_fpp, grows)?;
    Ok(Plan::new(shape, params.num_bytes(), move |function| {
        let mut filter = CompactFilter::empty(params, function)?;
        filter.set_grows(grows);
        Ok(filter)
    }))
}

impl Own for CompactFilter {
    const IS_ORDERED: bool = true;

    fn num_bytes(&self) -> u64 {
        self.num_bytes()
    }

    fn share(owned: Owned<Self>, home: Home<'_>, charge: Charge) -> Box<dyn Filter> {
        Box::new(Locked::new(owned, charge).up_to(home.max_filter_bytes))
    }

    fn unite(&mut self, other: &dyn Set) -> Result<bool, Error> {
        let other = same_kind(self, other)?;
        self.union_with(other)?;
        Ok(other.inserted_items() > 0)
    }

    fn items_beyond(&self, capacity: u64) -> Option<u64> {
        let items = self.inserted_items();
        (!self.grows() && items > capacity).then_some(items)
    }

    /// Without a removal that was refused there are more copies than there were, so one that does
    /// not grow may need more room than it has.
    fn replay_in_order(
        &mut self,
        digests: &[Digest],
        repeats: Repeats,
        scratch: &mut Bitmap,
    ) -> Result<(), Error> {
        let grows = self.grows();
        self.set_grows(true);
        let done = self.insert_into(digests, repeats, scratch);
        self.set_grows(grows);
        done
    }
}

impl Ordered for CompactFilter {
    const NAME: &'static str = "compact";

    fn copied(&self) -> Result<Self, Error> {
        self.try_clone()
    }

    /// By itself it does not grow meanwhile: memory is charged before it is allocated.
    fn fill(
        &mut self,
        digests: &[Digest],
        repeats: Repeats,
        within: &Within<'_>,
        new: &mut Bitmap,
    ) -> Result<(), (usize, InsertError)> {
        let grows = self.grows();
        self.set_grows(false);
        let done = fill_each(self, grows, digests, repeats, within, new);
        self.set_grows(grows);
        done
    }

    fn count(&self, digest: Digest, _now: u64) -> u32 {
        self.count_digest(digest)
    }

    /// Whether its copies put its rate above the promised one, as in a filter that grew further
    /// than its fingerprints were made for.
    fn is_over_capacity(&self, shape: &Shape) -> bool {
        let target_fpp = shape.size().map_or(self.params().target_fpp(), |(_, target)| target);
        self.expected_fpp(self.inserted_items()) > target_fpp
    }

    fn describe(&self, info: Info, _counted: u64, _events: u64) -> Info {
        let items = self.params().expected_items();
        let has_grown = self.grows() && items > info.capacity.max(FEWEST_ITEMS);
        let capacity = if has_grown { items } else { info.capacity };
        Info { capacity, ..by_numbers(self, info) }
    }
}

fn fill_each(
    filter: &mut CompactFilter,
    grows: bool,
    digests: &[Digest],
    repeats: Repeats,
    within: &Within<'_>,
    new: &mut Bitmap,
) -> Result<(), (usize, InsertError)> {
    new.clear_to(digests.len());
    let mut fetched = Bitmap::new();
    for (part, start) in digests.chunks(TOGETHER).zip((0..).step_by(TOGETHER)) {
        // One by one, since the filter does not say at which key it was full; their cache lines
        // are fetched together all the same.
        if part.len() > 1 {
            filter.contains_digests_into(part, &mut fetched);
        }
        for (&digest, at) in part.iter().zip(start..) {
            let is_new = insert_one(filter, grows, digest, repeats, within);
            if is_new.map_err(|error| (at, error))? {
                new.set(at);
            }
        }
    }
    Ok(())
}

fn insert_one(
    filter: &mut CompactFilter,
    grows: bool,
    digest: Digest,
    repeats: Repeats,
    within: &Within<'_>,
) -> Result<bool, InsertError> {
    if repeats == Repeats::Ignore && filter.contains_digest(digest) {
        return Ok(false);
    }
    if !grows && filter.inserted_items() >= within.capacity {
        return Err(InsertError::Full);
    }
    loop {
        match filter.insert_digest(digest) {
            Err(Error::Full { .. }) if grows => grow(filter, within)?,
            Err(Error::Full { .. }) => return Err(InsertError::Full),
            done => return Ok(done?),
        }
    }
}

/// Doubles it, if a fingerprint has a bit for it and the limits allow that.
fn grow(filter: &mut CompactFilter, within: &Within<'_>) -> Result<(), InsertError> {
    if filter.params().remainder_bits() == 0 {
        return Err(InsertError::Full);
    }
    let before = filter.num_bytes();
    let (limit, found) = (within.max_bytes, before.saturating_mul(2));
    if found > limit {
        return Err(Error::TooLarge { field: FILTER_BYTES, limit, found }.into());
    }
    // Both are there for a moment.
    within.charge.add(found)?;
    let doubled = filter.doubled();
    let after = doubled.as_ref().map_or(before, CompactFilter::num_bytes);
    within.charge.give_back((before + found).saturating_sub(after));
    match doubled {
        Ok(doubled) => {
            *filter = doubled;
            Ok(())
        }
        Err(Error::Full { .. } | Error::OutOfRange { .. }) => Err(InsertError::Full),
        Err(error) => Err(error.into()),
    }
}
