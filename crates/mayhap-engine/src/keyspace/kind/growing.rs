//! Filters that grow with their keys: the default of `BF.ADD` and `BF.RESERVE`.

use super::Plan;
use super::filter::{Contents, Filter, Home, Target};
use super::lock_free::{self, LockFree, lock_free};
use super::own::{Own, Owned};
use crate::Work;
use crate::durable::Answered;
use crate::fail_point::fail_point;
use crate::keyspace::growth::Growth;
use crate::keyspace::info::is_overfull;
use crate::keyspace::{Info, InsertError, LayerInfo, Measured, RecoveryError, Shape};
use mayhap::{
    Bitmap, Charge, ConcurrentScalableBloomFilter, Digest, DigestFunction, Error,
    ScalableBloomFilter, sizing,
};
use std::sync::Arc;

/// A filter that grows with its keys. Threads insert and query without a lock.
#[derive(Debug)]
pub(in crate::keyspace) struct Growing {
    filter: ConcurrentScalableBloomFilter,
    growth: Arc<Growth>,
    /// `EXPANSION` at creation; `None` for a file.
    expansion: Option<u32>,
}

/// Sizes an empty filter: for few keys if it is reserved for few, since it grows.
pub(super) fn plan(shape: Shape, capacity: u64, target_fpp: f64) -> Result<Plan, Error> {
    let layer = sizing::scalable::chain_layer(capacity, target_fpp, 0, 0.0)?;
    Ok(Plan::new(shape, layer.num_bytes(), move |function| {
        ScalableBloomFilter::with_first_layer(layer, capacity, target_fpp, function)
    }))
}

impl Growing {
    pub(in crate::keyspace) fn new(
        mut filter: ScalableBloomFilter,
        shape: Shape,
        home: Home<'_>,
        charge: Charge,
    ) -> Self {
        filter.set_max_bytes(home.max_filter_bytes);
        let mut filter = filter.into_concurrent();
        filter.set_charge(charge);
        let expansion = match shape {
            Shape::Growing { expansion, .. } => Some(expansion),
            _ => None,
        };
        Self { filter, growth: home.growth.clone(), expansion }
    }

    /// Its shape at creation.
    fn shape(&self) -> Shape {
        let first = self.filter.layers().next();
        match (self.expansion, first) {
            (Some(expansion), Some((first, _))) => {
                let (capacity, target_fpp) = (first.expected_items(), self.filter.target_fpp());
                Shape::Growing { capacity, target_fpp, expansion }
            }
            _ => Shape::File,
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

impl LockFree for Growing {
    #[inline]
    fn add(&self, digest: Digest) -> Result<bool, InsertError> {
        Ok(self.between_points(1, || self.filter.insert_digest(digest))?)
    }

    fn add_many(&self, digests: &[Digest], new: &mut Bitmap) -> Result<(), (usize, InsertError)> {
        let insert = || self.filter.insert_digests_into(digests, new);
        self.between_points(digests.len(), insert).map_err(|error| {
            // The keys before it are present, and it is not, or it would have needed no room.
            let absent = digests.iter().position(|&digest| !self.filter.contains_digest(digest));
            (absent.unwrap_or(digests.len()), error.into())
        })
    }

    /// Queues it for the thread that allocates layers, if it needs one soon.
    #[inline]
    fn inserted(&self, id: u64) {
        if self.filter.growth_is_due() {
            self.growth.request(id);
        }
    }
}

impl Filter for Growing {
    fn kind(&self) -> &'static str {
        "scalable"
    }

    lock_free!();

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
        // The keys after the bits: a key whose bits were seen had been counted before.
        let estimate = self.filter.estimated_items();
        // For each layer, the keys that were inserted into it.
        let came = self.filter.layers().map(|(params, items)| params.distinct_items(items));
        let fill_alarm = is_overfull(&estimate, came.fold(0, u64::saturating_add));
        let (fill_ratio, estimated_fpp) = (self.filter.fill_ratio(), self.filter.estimated_fpp());
        Measured { fill_ratio, estimated_fpp, fill_alarm: Some(fill_alarm) }
    }

    fn snapshot(&self) -> Result<Option<Box<dyn Contents>>, Error> {
        Ok(Some(Box::new(Owned::new(self.filter.snapshot()?, self.shape()))))
    }

    fn chain(&self) -> Option<&ConcurrentScalableBloomFilter> {
        Some(&self.filter)
    }
}

impl Own for ScalableBloomFilter {
    fn num_bytes(&self) -> u64 {
        self.num_bytes()
    }

    fn share(owned: Owned<Self>, home: Home<'_>, charge: Charge) -> Box<dyn Filter> {
        Box::new(Growing::new(owned.set, owned.shape, home, charge))
    }

    fn limit_items(&mut self, most: u64) {
        self.limit_inserted_items(most);
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
