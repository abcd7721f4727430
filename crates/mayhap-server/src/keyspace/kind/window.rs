//! Filters that forget old keys: `WINDOW`.

use super::ordered::Ordered;
use super::{Contents, Filter, Home, Plan, Target};
use crate::Turn;
use crate::keyspace::lock::locked;
use crate::keyspace::spec::hash_of;
use crate::keyspace::{Info, InsertError, Measured, RecoveryError, Shape, Spec};
use mayhap::native::Kind;
use mayhap::{Age, Bitmap, Charge, Digest, DigestFunction, Error, WindowBloomFilter};
use std::slice::from_ref;
use std::sync::Mutex;

/// A filter that forgets old keys. It is locked by all who query or change it.
#[derive(Debug)]
struct Window {
    ordered: Mutex<Ordered<WindowBloomFilter>>,
    digest_function: DigestFunction,
    charge: Charge,
}

/// Sizes an empty one: for so many keys, or for those that are expected in so many milliseconds.
pub(super) fn plan(items: u64, time_ms: u64, target_fpp: f64) -> Result<Plan, Error> {
    let builder = match time_ms {
        0 => WindowBloomFilter::builder().window_items(items),
        span => WindowBloomFilter::builder().window_time(span, items),
    };
    let builder = builder.target_fpp(target_fpp);
    Ok(Plan::new(builder.num_bytes()?, move |function| {
        Ok(Ordered::new(builder.clone().digest_function(function).build()?, 0))
    }))
}

impl Window {
    fn insert_all(&self, digests: &[Digest], target: Target<'_>, turn: &mut Turn) {
        let Turn { recorder, answers, now, .. } = turn;
        let mut ordered = locked(&self.ordered);
        ordered.filter.advance(*now);
        ordered.filter.insert_digests_into(digests, answers);
        ordered.record(recorder, target, *now, digests);
    }
}

impl Filter for Window {
    fn kind(&self) -> &'static str {
        "window"
    }

    fn digest_function(&self) -> Option<DigestFunction> {
        Some(self.digest_function)
    }

    fn contains(&self, digest: Digest, now: u64) -> bool {
        locked(&self.ordered).filter.contains_digest_at(digest, now)
    }

    fn contains_many(&self, digests: &[Digest], now: u64, found: &mut Bitmap) {
        locked(&self.ordered).filter.contains_digests_at_into(digests, now, found);
    }

    fn age(&self, digest: Digest, now: u64) -> Option<Age> {
        locked(&self.ordered).filter.age_of_digest_at(digest, now)
    }

    fn insert(
        &self,
        digest: Digest,
        target: Target<'_>,
        turn: &mut Turn,
    ) -> Result<bool, InsertError> {
        self.insert_all(from_ref(&digest), target, turn);
        Ok(turn.answers.get(0))
    }

    fn insert_many(&self, target: Target<'_>, turn: &mut Turn) -> Result<(), (usize, InsertError)> {
        let digests = std::mem::take(&mut turn.digests);
        self.insert_all(&digests, target, turn);
        turn.digests = digests;
        Ok(())
    }

    fn info(&self) -> Info {
        let filter = &locked(&self.ordered).filter;
        Info {
            capacity: filter.expected_items(),
            target_fpp: filter.target_fpp(),
            expected_fpp: filter.expected_fpp_now(),
            ..Info::new(self.kind(), filter.inserted_items(), self.num_bytes())
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

impl Contents for Ordered<WindowBloomFilter> {
    fn num_bytes(&self) -> u64 {
        self.filter.num_bytes()
    }

    fn spec(&self) -> Spec {
        let (items, error) = (self.filter.expected_items(), self.filter.target_fpp());
        let time_ms = match self.filter.window() {
            mayhap::Window::Time { span, .. } => span,
            _ => 0,
        };
        let shape = Shape::Window { items, time_ms, error };
        Spec { shape, hash: hash_of(self.filter.digest_function()) }
    }

    fn kind_id(&self) -> u64 {
        Kind::Window.id().into()
    }

    fn into_filter(
        self: Box<Self>,
        _spec: &Spec,
        _home: Home<'_>,
        charge: Charge,
    ) -> Box<dyn Filter> {
        let digest_function = *self.filter.digest_function();
        Box::new(Window { ordered: self.shared(), digest_function, charge })
    }

    fn replay_ordered(
        &mut self,
        order: u64,
        what: u64,
        digests: &[Digest],
        scratch: &mut Bitmap,
    ) -> Result<(), RecoveryError> {
        self.replayed(order, digests);
        self.filter.advance(what);
        self.filter.insert_digests_into(digests, scratch);
        Ok(())
    }
}
