//! Filters that forget all keys whenever so many of their bits are set: `CLEARAT`.

use super::ordered::{self, InOrder, Ordered};
use super::{Contents, FEWEST_ITEMS, Filter, Home, Plan, Target};
use crate::Turn;
use crate::count::Count;
use crate::durable::{Snapshot, write_native};
use crate::keyspace::info::is_overfull;
use crate::keyspace::lock::locked;
use crate::keyspace::spec::hash_of;
use crate::keyspace::{Info, InsertError, Measured, RecoveryError, Shape, Spec};
use mayhap::native::Kind;
use mayhap::{
    Bitmap, Blocked, BlockedBloomFilter, Charge, ClearingFilter, Digest, DigestFunction, Error,
    Estimate, OwnedBlocks,
};
use std::io::{self, Write};
use std::sync::Mutex;

/// A filter that forgets all keys whenever so many of its bits are set. It is locked by all who
/// query or change it, so that it is cleared between the same two keys again after a crash.
#[derive(Debug)]
struct Clearing {
    ordered: Mutex<Ordered<ClearingFilter<Blocked>>>,
    at: f64,
    digest_function: DigestFunction,
    /// The capacity of its creation.
    capacity: u64,
    /// How often it was cleared while the log was replayed.
    replayed: u64,
    /// How often as far as that was noticed.
    noticed: Count,
    charge: Charge,
}

/// One for one owner.
#[derive(Debug)]
pub(super) struct Round {
    ordered: Ordered<ClearingFilter<Blocked>>,
    at: f64,
}

/// Sizes an empty one.
pub(super) fn plan(capacity: u64, target_fpp: f64, at: f64) -> Result<Plan, Error> {
    let items = capacity.max(FEWEST_ITEMS);
    let builder = BlockedBloomFilter::builder().expected_items(items).target_fpp(target_fpp);
    let params = builder.params()?;
    Ok(Plan::new(params.num_bytes(), move |function| {
        let blocks = OwnedBlocks::zeroed(params.num_blocks())?;
        Round::new(BlockedBloomFilter::from_parts(params, function, blocks, 0)?, at, 0)
    }))
}

impl Clearing {
    /// How often it was cleared since the server began.
    const fn clears(&self, filter: &ClearingFilter<Blocked>) -> u64 {
        filter.num_clears() - self.replayed
    }
}

/// How far above the promised rate a filter may be that is cleared at half of its bits: it has
/// about as many keys then as it was sized for, and at times a little more.
const MARGIN: f64 = 1.25;

/// Whether it has so many keys that its rate is above the promised one, which a filter that is
/// cleared late has for a while.
fn is_over(filter: &BlockedBloomFilter) -> bool {
    let params = filter.params();
    let distinct = params.distinct_items(filter.inserted_items());
    params.expected_fpp(distinct) > params.target_fpp() * MARGIN
}

impl InOrder for Clearing {
    fn insert_all(&self, digests: &[Digest], target: Target<'_>, turn: &mut Turn) {
        let mut ordered = locked(&self.ordered);
        ordered.filter.insert_digests_into(digests, &mut turn.answers);
        ordered.record(&mut turn.recorder, target, 0, digests);
    }
}

impl Filter for Clearing {
    fn kind(&self) -> &'static str {
        "clearing"
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

    fn info(&self) -> Info {
        let clearing = &locked(&self.ordered).filter;
        let filter = clearing.filter();
        let items = filter.inserted_items();
        let base = Info::plain(self.kind(), filter.params(), items, self.num_bytes());
        let over_capacity = is_over(filter);
        Info { capacity: self.capacity, clears: Some(self.clears(clearing)), over_capacity, ..base }
    }

    fn is_over_capacity(&self) -> bool {
        is_over(locked(&self.ordered).filter.filter())
    }

    fn items(&self) -> u64 {
        locked(&self.ordered).filter.filter().inserted_items()
    }

    fn num_bytes(&self) -> u64 {
        self.charge.bytes()
    }

    fn num_hashes(&self) -> u32 {
        locked(&self.ordered).filter.filter().params().num_hashes()
    }

    fn measure(&self) -> Measured {
        let ordered = locked(&self.ordered);
        let filter = ordered.filter.filter();
        let (params, fill_ratio) = (filter.params(), filter.fill_ratio());
        let came = params.distinct_items(filter.inserted_items());
        let ones = (fill_ratio * params.num_bits() as f64).round() as u64;
        let fill_alarm = Some(is_overfull(&Estimate::from_ones(params, ones), came));
        Measured { fill_ratio, estimated_fpp: filter.estimated_fpp(), fill_alarm }
    }

    fn snapshot(&self) -> Result<Option<Box<dyn Contents>>, Error> {
        let Ordered { filter, order } = &*locked(&self.ordered);
        Ok(Some(Box::new(Round::new(filter.filter().try_clone()?, self.at, *order)?)))
    }

    fn new_clears(&self) -> u64 {
        let clears = self.clears(&locked(&self.ordered).filter);
        clears - self.noticed.replace(clears)
    }
}

impl Round {
    /// `order` is how many digests were put in.
    pub(super) fn new(filter: BlockedBloomFilter, at: f64, order: u64) -> Result<Self, Error> {
        Ok(Self { ordered: Ordered::new(filter.clear_at_fill_ratio(at)?, order), at })
    }

    fn filter(&self) -> &BlockedBloomFilter {
        self.ordered.filter.filter()
    }
}

impl Snapshot for Round {
    fn mark(&self) -> u64 {
        self.ordered.order
    }

    fn write(&self, out: &mut dyn Write) -> io::Result<()> {
        write_native(self.filter(), out)
    }
}

impl Contents for Round {
    fn num_bytes(&self) -> u64 {
        self.filter().params().num_bytes()
    }

    fn spec(&self) -> Spec {
        let params = self.filter().params();
        let (capacity, error) = (params.expected_items(), params.target_fpp());
        let shape = Shape::Clearing { capacity, error, at: self.at };
        Spec { shape, hash: hash_of(self.filter().digest_function()) }
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
            Shape::Clearing { capacity, .. } => capacity,
            _ => self.filter().params().expected_items(),
        };
        let digest_function = *self.filter().digest_function();
        let replayed = self.ordered.filter.num_clears();
        let Self { ordered, at } = *self;
        let (ordered, noticed) = (ordered.shared(), Count::default());
        Box::new(Clearing { ordered, at, digest_function, capacity, replayed, noticed, charge })
    }

    fn replay_ordered(
        &mut self,
        order: u64,
        _what: u64,
        digests: &[Digest],
        scratch: &mut Bitmap,
    ) -> Result<(), RecoveryError> {
        self.ordered.replayed(order, digests);
        self.ordered.filter.insert_digests_into(digests, scratch);
        Ok(())
    }
}
