//! Filters that grow with their keys: what `BF.ADD` and `BF.RESERVE` create.

use super::contents::same_kind;
use super::unordered::{self, Unordered};
use super::{Contents, Filter, Home, Plan, Target};
use crate::Turn;
use crate::durable::{Answered, Snapshot, write_native};
use crate::fail_point::fail_point;
use crate::keyspace::growth::Growth;
use crate::keyspace::info::is_overfull;
use crate::keyspace::spec::hash_of;
use crate::keyspace::{Info, InsertError, LayerInfo, Measured, RecoveryError, Shape, Spec};
use mayhap::native::Kind;
use mayhap::{
    Bitmap, Charge, ConcurrentScalableBloomFilter, Digest, DigestFunction, Error,
    ScalableBloomFilter, sizing,
};
use std::io::{self, Write};
use std::sync::Arc;

/// A filter that grows with its keys. Threads insert and query without a lock.
#[derive(Debug)]
pub(in crate::keyspace) struct Growing {
    filter: ConcurrentScalableBloomFilter,
    /// The `EXPANSION` of its creation; `None` for a file.
    expansion: Option<u32>,
    growth: Arc<Growth>,
}

/// Sizes an empty one: for few keys if it is so reserved, since it grows.
pub(super) fn plan(capacity: u64, target_fpp: f64) -> Result<Plan, Error> {
    let layer = sizing::scalable::chain_layer(capacity, target_fpp, 0, 0.0)?;
    Ok(Plan::new(layer.num_bytes(), move |function| {
        ScalableBloomFilter::with_first_layer(layer, capacity, target_fpp, function)
    }))
}

impl Growing {
    pub(in crate::keyspace) fn new(
        mut filter: ScalableBloomFilter,
        spec: Option<&Spec>,
        home: Home<'_>,
        charge: Charge,
    ) -> Self {
        filter.set_max_bytes(home.options.max_filter_bytes);
        let mut filter = filter.into_concurrent();
        filter.set_charge(charge);
        let expansion = spec.and_then(|spec| match spec.shape {
            Shape::Growing { expansion, .. } => Some(expansion),
            _ => None,
        });
        Self { filter, expansion, growth: home.growth.clone() }
    }

    /// Queues it for the thread that allocates layers, if it needs one soon.
    #[inline]
    fn request_growth(&self, id: u64) {
        if self.filter.growth_is_due() {
            self.growth.request(id);
        }
    }

    /// Calls `insert` between the fail points before and after a growth.
    #[inline(always)]
    fn between_points<T>(&self, keys: usize, insert: impl FnOnce() -> T) -> T {
        if !cfg!(feature = "fail-points") {
            return insert();
        }
        let filter = &self.filter;
        let layers = filter.num_layers();
        if filter.inserted_items() + keys as u64 > filter.inserted_when_full() {
            fail_point("growth.before");
        }
        let done = insert();
        if filter.num_layers() > layers {
            fail_point("growth.published");
        }
        done
    }
}

impl Unordered for Growing {
    #[inline]
    fn has(&self, digest: Digest) -> bool {
        self.filter.contains_digest(digest)
    }

    #[inline]
    fn add(&self, digest: Digest) -> Result<bool, InsertError> {
        Ok(self.between_points(1, || self.filter.insert_digest(digest))?)
    }

    fn add_many(&self, digests: &[Digest], new: &mut Bitmap) -> Result<(), (usize, InsertError)> {
        let insert = || self.filter.insert_digests_into(digests, new);
        self.between_points(digests.len(), insert).map_err(|error| {
            // Those before it are there, and it is not, or it would have needed no room.
            let absent = digests.iter().position(|&digest| !self.has(digest));
            (absent.unwrap_or(digests.len()), error.into())
        })
    }
}

impl Filter for Growing {
    fn kind(&self) -> &'static str {
        "scalable"
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
        let new = unordered::insert(self, digest, target, turn)?;
        if new {
            self.request_growth(target.id);
        }
        Ok(new)
    }

    fn insert_many(&self, target: Target<'_>, turn: &mut Turn) -> Result<(), (usize, InsertError)> {
        let done = unordered::insert_many(self, target, turn);
        self.request_growth(target.id);
        done
    }

    fn info(&self) -> Info {
        let filter = &self.filter;
        let base = Info::new(self.kind(), self.items(), self.num_bytes());
        Info {
            capacity: filter.capacity(),
            layers: filter.num_layers() as u64,
            expansion: self.expansion,
            distinct_items: filter.distinct_items().rounded(),
            target_fpp: filter.target_fpp(),
            expected_fpp: filter.expected_fpp(),
            ..base
        }
    }

    fn items(&self) -> u64 {
        self.filter.inserted_items()
    }

    fn num_bytes(&self) -> u64 {
        self.filter.num_bytes()
    }

    fn num_hashes(&self) -> u32 {
        self.layers().first().map_or(0, |layer| layer.num_hashes)
    }

    fn layers(&self) -> Vec<LayerInfo> {
        let layers = self.filter.layers().map(|(params, items)| LayerInfo {
            num_bytes: params.num_bytes(),
            num_bits: params.num_bits(),
            num_hashes: params.num_parts() * params.part().num_hashes(),
            capacity: params.expected_items(),
            items,
            target_fpp: params.expected_fpp(params.expected_items()),
        });
        layers.collect()
    }

    fn measure(&self) -> Measured {
        // The keys after the bits: one whose bits were seen had been counted before.
        let estimate = self.filter.estimated_items();
        // Of each layer, those that came to it.
        let came = self.filter.layers().map(|(params, items)| params.distinct_items(items));
        let fill_alarm = is_overfull(&estimate, came.fold(0, u64::saturating_add));
        let (fill_ratio, estimated_fpp) = (self.filter.fill_ratio(), self.filter.estimated_fpp());
        Measured { fill_ratio, estimated_fpp, fill_alarm: Some(fill_alarm) }
    }

    fn snapshot(&self) -> Result<Option<Box<dyn Contents>>, Error> {
        Ok(Some(Box::new(self.filter.snapshot()?)))
    }

    fn prepare_growth(&self) {
        self.filter.prepare_growth();
    }

    fn grow_ahead(&self, goes_on: &dyn Fn() -> bool) {
        self.filter.grow_ahead(goes_on);
    }
}

impl Snapshot for ScalableBloomFilter {
    fn write(&self, out: &mut dyn Write) -> io::Result<()> {
        write_native(self, out)
    }
}

impl Contents for ScalableBloomFilter {
    fn num_bytes(&self) -> u64 {
        self.num_bytes()
    }

    fn spec(&self) -> Spec {
        let (capacity, error) = (self.first_items(), self.target_fpp());
        let shape = Shape::Growing { capacity, error, expansion: 2 };
        Spec { shape, hash: hash_of(self.digest_function()) }
    }

    fn kind_id(&self) -> u64 {
        Kind::Scalable.id().into()
    }

    fn into_filter(
        self: Box<Self>,
        spec: &Spec,
        home: Home<'_>,
        charge: Charge,
    ) -> Box<dyn Filter> {
        Box::new(Growing::new(*self, Some(spec), home, charge))
    }

    fn limit_items(&mut self, most: u64) {
        self.limit_inserted_items(most);
    }

    fn union_with(&mut self, other: &dyn Contents) -> Result<(), Error> {
        let other = same_kind(self, other)?;
        Self::union_with(self, other)
    }

    fn replay(
        &mut self,
        digests: &[Digest],
        answered: Answered,
        scratch: &mut Bitmap,
    ) -> Result<(), RecoveryError> {
        Ok(match answered {
            Answered::New => self.insert_digests_counted(digests),
            Answered::There => self.insert_digests_uncounted(digests),
            Answered::Unknown => self.insert_digests_into(digests, scratch),
        }?)
    }
}
