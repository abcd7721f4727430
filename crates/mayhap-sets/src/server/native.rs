//! A filter in mayhap's own layout, queried and inserted into batch by batch.

use super::error::failed;
use super::origin::Origin;
use super::server_set::{LOOK_KEYS, LOOK_PART, NEAR, ServerSet};
use super::wait::wait;
use crate::capabilities::Capabilities;
use crate::error::Error;
use crate::fullness::RATE_STEPS;
use crate::key_set::{KeySet, Remote};
use crate::keys::Keys;
use crate::measurements::Measurements;
use crate::numbers::Numbers;
use crate::room::Held;
use crate::state::State;
use futures_util::future::try_join_all;
use mayhap::native::Kind;
use mayhap::set::Repeats;
use mayhap::{Bitmap, Digest, DigestFunction, Estimate, FilterParams};
use mayhap_keys::KeyOptions;
use mayhap_redis::{Error as RedisError, FilterInfo, NativeFilter, RemoteFilter};
use std::time::Duration;

/// Digests of a call that go together: while the server works on the first, the next ones are made
/// ready here. Few of a query, as each call reads of every shard that it touches for its trailer
/// too.
const INSERT_PART: usize = 256;
const ASK_PART: usize = 512;

/// The bytes that [`RemoteFilter::glance`] counts: all of a filter that has no more.
const SAMPLE_BYTES: u64 = 16 << 10;
/// How often a batch is sent while filters are switched or masters lost.
const ATTEMPTS: u32 = 100;

/// A filter on a server.
#[derive(Debug)]
pub struct NativeSet {
    name: String,
    filter: NativeFilter,
    /// When its bits were counted last, or a sample of them.
    seen: FilterInfo,
    is_sample: bool,
    /// Keys that were new to us since the bits were counted.
    new_since: u64,
    /// Keys that were sent since, new or not.
    sent_since: u64,
    /// Keys sent since the start of which it is unknown whether they were new.
    unsure: u64,
    /// Which of the filters of this name was there last, and the keys that were sent to it.
    generation: i64,
    sent: u64,
    /// Keys that were sent to filters that were replaced since.
    replaced: u64,
    /// How long the server takes for nothing much.
    round_trip: Duration,
}

impl NativeSet {
    /// The filter with its bits counted, and the key options that it keeps. `round_trip` is how
    /// long the server took for nothing much.
    ///
    /// # Errors
    ///
    /// [`Error::Server`], those of [`KeyOptions::from_header`].
    pub fn new(
        origin: &Origin,
        filter: NativeFilter,
        round_trip: Duration,
    ) -> Result<(Self, KeyOptions), Error> {
        let (mut set, options) = Self::glanced(origin, filter, round_trip)?;
        set.refresh()?;
        Ok((set, options))
    }

    /// Like [`NativeSet::new`] with a sample of the bits: queries need none, and to count all of a
    /// large filter costs the server as much as 100,000 queries.
    pub(super) fn glanced(
        origin: &Origin,
        filter: NativeFilter,
        round_trip: Duration,
    ) -> Result<(Self, KeyOptions), Error> {
        let name = origin.url.clone();
        // First: where the filter is switched meanwhile, all that follows is of the new one.
        let seen = wait(filter.glance())?.map_err(|source| failed(&name, source))?;
        let options = KeyOptions::from_header(&name, &filter.key_options())?;
        let set = Self {
            generation: filter.generation(),
            is_sample: filter.params().num_bytes() > SAMPLE_BYTES,
            name,
            filter,
            seen,
            new_since: 0,
            sent_since: 0,
            unsure: 0,
            sent: 0,
            replaced: 0,
            round_trip,
        };
        Ok((set, options))
    }

    /// How many keys the bits spoke of then.
    pub fn estimate(&self) -> Estimate {
        Estimate::from_ones(&self.filter.params(), self.seen.count_ones)
    }

    /// Its numbers.
    pub fn params(&self) -> FilterParams {
        self.filter.params()
    }

    /// Sends keys until all of them are in one filter, and no master was lost that may have taken
    /// some of them with it.
    fn send(&mut self, digests: &[Digest], new: &mut Bitmap) -> Result<(), Error> {
        for _ in 0..ATTEMPTS {
            let before = (self.filter.generation(), self.filter.losses());
            let parts = digests.chunks(INSERT_PART).map(|part| self.filter.insert_digests(part));
            let parts = self.wait(try_join_all(parts))?;
            for (i, part) in parts.iter().enumerate() {
                for one in part.new.iter_ones().chain(part.unsure.iter_ones()) {
                    new.set(i * INSERT_PART + one);
                }
                self.unsure += part.unsure.count_ones() as u64;
            }
            if (self.filter.generation(), self.filter.losses()) == before {
                self.note_generation();
                self.sent += digests.len() as u64;
                return Ok(());
            }
        }
        let (server, what) = (self.filter.server().name().to_owned(), "the insertion");
        Err(failed(&self.name, RedisError::Broken { server, what }).into())
    }

    /// Notes if the filter is another one than before.
    fn note_generation(&mut self) {
        let generation = self.filter.generation();
        if generation != self.generation {
            self.generation = generation;
            self.replaced += std::mem::take(&mut self.sent);
        }
    }

    fn wait<T>(&self, call: impl Future<Output = Result<T, RedisError>>) -> Result<T, Error> {
        Ok(wait(call)?.map_err(|source| failed(&self.name, source))?)
    }
}

/// How many keys the bits speak of; where all are set, at least as many as there are bits.
fn items_of(info: &FilterInfo) -> u64 {
    info.estimated_items.map_or(info.num_bits, |items| items.round() as u64)
}

impl KeySet for NativeSet {
    fn name(&self) -> &'static str {
        self.params().layout().name()
    }

    fn digest_function(&self) -> Option<DigestFunction> {
        Some(self.filter.digest_function())
    }

    fn capabilities(&self) -> Capabilities {
        Kind::Bloom.capabilities().into()
    }

    fn contains_into(&mut self, keys: Keys<'_>, found: &mut Bitmap) -> Result<(), Error> {
        let digests = keys.digests(&self.filter.digest_function());
        let parts = digests.chunks(ASK_PART).map(|part| self.filter.contains_digests(part));
        let parts = self.wait(try_join_all(parts))?;
        found.clear_to(digests.len());
        for (i, part) in parts.iter().enumerate() {
            part.iter_ones().for_each(|one| found.set(i * ASK_PART + one));
        }
        Ok(())
    }

    fn insert_into(&mut self, keys: Keys<'_>, _: Repeats, new: &mut Bitmap) -> Result<(), Error> {
        let digests = keys.digests(&self.filter.digest_function());
        new.clear_to(digests.len());
        if let Err(error) = self.send(&digests, new) {
            new.clear_to(0);
            return Err(error);
        }
        let count = new.count_ones() as u64;
        self.new_since += count;
        self.sent_since += digests.len() as u64;
        let (items, expected) = (self.items(), self.params().expected_items());
        // Of a filter that is overfilled hardly any key is new, and many more come.
        let came = items.saturating_sub(items_of(&self.seen)).max(self.new_since);
        // A sample does not decide when it is full.
        let is_near = self.is_sample && items >= expected - expected / 10;
        if is_near || came >= LOOK_KEYS.max(expected / LOOK_PART) {
            // Where it fails, the next insertion does too, or the next look succeeds; what was
            // inserted here has to be reported.
            let _ = self.refresh();
        }
        Ok(())
    }

    /// Its parameters and its expiry stay.
    fn clear(&mut self) -> Result<(), Error> {
        self.wait(self.filter.clear())?;
        // As was wanted.
        self.sent = 0;
        self.refresh()
    }

    fn items(&self) -> u64 {
        let seen = items_of(&self.seen);
        if self.new_since == 0 {
            return seen;
        }
        // Includes new keys taken for repeats since.
        let params = self.params();
        let counted = params.expected_inserted(seen).round() as u64;
        let came = params.distinct_items(counted.saturating_add(self.new_since));
        // Where most bits are set one more that is new may speak of any number of keys.
        came.clamp(seen, seen.saturating_add(self.sent_since))
    }

    fn held(&self) -> Held {
        Held::Estimated(self.items())
    }

    /// It is full beyond chance (99 %), which the bits are subject to.
    fn numbers(&self, _: Repeats) -> Numbers {
        let (params, items, estimate) = (self.params(), self.items(), self.estimate());
        let expected = params.expected_items();
        let width = estimate.high - estimate.items;
        // Without a clear bit nothing is known, and it is full.
        let chance = if width.is_finite() { width.round() as u64 } else { 0 };
        let rates = (params.target_fpp(), params.expected_fpp(items));
        Numbers {
            full_at: Some(expected.saturating_add(chance)),
            rate_step: expected / RATE_STEPS,
            ..Numbers::of((items, Some(expected)), params.num_bytes(), rates)
        }
    }

    fn measurements(&self) -> Measurements {
        Measurements::Own(self.state())
    }

    fn remote(&self) -> Option<Remote> {
        let is_far = self.round_trip > NEAR;
        Some(Remote { is_far, unsure_keys: self.unsure, replaced_keys: self.replaced })
    }

    fn refresh(&mut self) -> Result<(), Error> {
        self.seen = self.wait(self.filter.info())?;
        self.is_sample = false;
        self.note_generation();
        (self.new_since, self.sent_since) = (0, 0);
        Ok(())
    }
}

impl ServerSet for NativeSet {
    fn url(&self) -> &str {
        &self.name
    }

    fn scheme(&self) -> &'static str {
        "mayhap"
    }

    fn seen(&self) -> &FilterInfo {
        &self.seen
    }

    fn state(&self) -> State {
        let (params, items, estimate) = (self.params(), self.items(), self.estimate());
        State {
            layout: params.layout().name(),
            num_bytes: params.num_bytes(),
            items,
            distinct_items: Some(items),
            expected_items: Some(params.expected_items()),
            target_fpp: params.target_fpp(),
            estimated_fpp: self.seen.estimated_fpp,
            fill_ratio: self.seen.count_ones as f64 / self.seen.num_bits as f64,
            health: estimate.health(params.expected_items()),
            estimated_items: Some((estimate, params)),
        }
    }

    fn expire(&mut self, after: Option<Duration>) -> Result<(), Error> {
        self.wait(self.filter.expire(after))
    }

    fn delete(&mut self) -> Result<bool, Error> {
        self.wait(self.filter.delete())
    }
}
