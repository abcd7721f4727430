//! A filter in mayhap's own layout, queried and inserted into batch by batch.

use crate::origin::Origin;
use crate::problem::failed;
use crate::server_set::ServerSet;
use crate::wait::wait;
use futures_util::future::try_join_all;
use mayhap::{Bitmap, Digest, DigestFunction, Estimate, FilterParams};
use mayhap_keys::KeyOptions;
use mayhap_redis::{Error as RedisError, FilterInfo, NativeFilter, RemoteFilter};
use mayhap_sets::{Error, Held, KeySet, RATE_STEPS, State};
use std::time::Duration;

/// Keys of our own between looks at all bits, at least, and as a part of all.
const LOOK_KEYS: u64 = 16_384;
const LOOK_PART: u64 = 100;

/// A round trip on one machine, or between two of one rack.
const NEAR: Duration = Duration::from_millis(1);

/// Digests of a call that go together: while the server works on the first, the next ones are made
/// ready here. Few of a query, as each call reads of every shard that it touches for its trailer
/// too.
const INSERT_PART: usize = 256;
const ASK_PART: usize = 512;

/// A filter on a server.
#[derive(Debug)]
pub struct NativeSet {
    name: String,
    filter: NativeFilter,
    /// When its bits were counted last.
    seen: FilterInfo,
    /// Keys that were new to us since the bits were counted.
    new_since: u64,
    /// Keys that were sent since, new or not.
    sent_since: u64,
    /// Those of which it is not known, since the start.
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
        let name = origin.url.clone();
        // First: where the filter is switched meanwhile, all that follows is of the new one.
        let seen = wait(filter.info())?.map_err(|source| failed(&name, &source))?;
        let options = KeyOptions::from_header(&name, &filter.key_options())?;
        let set = Self {
            generation: filter.generation(),
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

    /// Sends keys until all of them are in one filter.
    fn send(&mut self, digests: &[Digest], new: &mut Bitmap) -> Result<(), Error> {
        loop {
            let generation = self.filter.generation();
            let parts = digests.chunks(INSERT_PART).map(|part| self.filter.insert_digests(part));
            let parts = self.wait(try_join_all(parts))?;
            for (i, part) in parts.iter().enumerate() {
                for one in part.new.iter_ones().chain(part.unsure.iter_ones()) {
                    new.set(i * INSERT_PART + one);
                }
                self.unsure += part.unsure.count_ones() as u64;
            }
            if self.filter.generation() == generation {
                self.note_generation();
                self.sent += digests.len() as u64;
                return Ok(());
            }
        }
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
        wait(call)?.map_err(|source| failed(&self.name, &source))
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

    fn digest_function(&self) -> DigestFunction {
        self.filter.digest_function()
    }

    fn insert_digests_into(&mut self, digests: &[Digest], new: &mut Bitmap) -> Result<(), Error> {
        new.clear_to(digests.len());
        if let Err(error) = self.send(digests, new) {
            new.clear_to(0);
            return Err(error);
        }
        let count = new.count_ones() as u64;
        self.new_since += count;
        self.sent_since += digests.len() as u64;
        let (items, expected) = (self.items(), self.params().expected_items());
        // Of a filter that is overfilled hardly any key is new, and many more come.
        let came = items.saturating_sub(items_of(&self.seen)).max(self.new_since);
        if came >= LOOK_KEYS.max(expected / LOOK_PART) {
            // Where it fails, the next insertion does too, or the next look succeeds; what was
            // inserted here has to be reported.
            let _ = self.refresh();
        }
        Ok(())
    }

    fn contains_digests_into(&self, digests: &[Digest], found: &mut Bitmap) -> Result<(), Error> {
        let parts = digests.chunks(ASK_PART).map(|part| self.filter.contains_digests(part));
        let parts = self.wait(try_join_all(parts))?;
        found.clear_to(digests.len());
        for (i, part) in parts.iter().enumerate() {
            part.iter_ones().for_each(|one| found.set(i * ASK_PART + one));
        }
        Ok(())
    }

    /// Its parameters and its expiry stay.
    fn clear(&mut self) -> Result<bool, Error> {
        self.wait(self.filter.clear())?;
        // As was wanted.
        self.sent = 0;
        self.refresh()?;
        Ok(true)
    }

    fn refresh(&mut self) -> Result<(), Error> {
        self.seen = self.wait(self.filter.info())?;
        self.note_generation();
        (self.new_since, self.sent_since) = (0, 0);
        Ok(())
    }

    fn items(&self) -> u64 {
        let seen = items_of(&self.seen);
        if self.new_since == 0 {
            return seen;
        }
        // With those that were taken for repeats since.
        let params = self.params();
        let counted = params.expected_inserted(seen).round() as u64;
        let came = params.distinct_items(counted.saturating_add(self.new_since));
        // Where most bits are set one more that is new may speak of any number of keys.
        came.clamp(seen, seen.saturating_add(self.sent_since))
    }

    fn held(&self) -> Held {
        Held::Estimated(self.items())
    }

    fn capacity(&self) -> Option<u64> {
        Some(self.params().expected_items())
    }

    fn estimated_items(&self) -> Option<(Estimate, FilterParams)> {
        Some((self.estimate(), self.params()))
    }

    fn num_bytes(&self) -> u64 {
        self.params().num_bytes()
    }

    fn target_fpp(&self) -> f64 {
        self.params().target_fpp()
    }

    fn expected_fpp(&self) -> f64 {
        self.params().expected_fpp(self.items())
    }

    fn rate_step(&self) -> u64 {
        self.params().expected_items() / RATE_STEPS
    }

    fn is_shared(&self) -> bool {
        true
    }

    /// The items at which it is full beyond chance (99 %), which the bits are subject to.
    fn full_at(&self, _absent_only: bool) -> Option<u64> {
        let expected = self.params().expected_items();
        let width = self.estimate().high - self.estimate().items;
        // Without a clear bit nothing is known, and it is full.
        let chance = if width.is_finite() { width.round() as u64 } else { 0 };
        Some(expected.saturating_add(chance))
    }

    fn is_far(&self) -> bool {
        self.round_trip > NEAR
    }

    fn state(&self) -> State {
        let params = self.params();
        let items = self.items();
        State {
            layout: params.layout().name(),
            num_bytes: params.num_bytes(),
            items,
            distinct_items: Some(items),
            expected_items: Some(params.expected_items()),
            target_fpp: params.target_fpp(),
            estimated_fpp: self.seen.estimated_fpp,
            fill_ratio: self.seen.count_ones as f64 / self.seen.num_bits as f64,
            health: self.estimate().health(params.expected_items()),
        }
    }

    fn unsure_keys(&self) -> u64 {
        self.unsure
    }

    fn replaced_keys(&self) -> u64 {
        self.replaced
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

    fn expire(&mut self, after: Option<Duration>) -> Result<(), Error> {
        self.wait(self.filter.expire(after))
    }

    fn delete(&mut self) -> Result<bool, Error> {
        self.wait(self.filter.delete())
    }

    fn into_key_set(self: Box<Self>) -> Box<dyn KeySet> {
        self
    }
}
