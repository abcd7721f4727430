//! A filter on a server, queried and inserted into batch by batch.

use super::connect::{Connection, wait};
use super::{Place, connect};
use crate::args::{ReplicaArgs, ServerArgs};
use crate::error::Error;
use crate::io::messages::Talk;
use futures_util::future::try_join_all;
use mayhap::{Bitmap, Digest, DigestFunction, Estimate, FilterParams, SecretKey};
use mayhap_keys::KeyOptions;
use mayhap_redis::{FilterInfo, NativeFilter, RemoteFilter};
use mayhap_sets::{Error as SetError, Held, KeySet, RATE_STEPS, State};
use std::path::Path;
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
pub struct RemoteFile {
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
    /// How long the server takes for nothing much.
    round_trip: Duration,
}

impl RemoteFile {
    /// Connects, finds the filter and counts its bits; returns the key options that it keeps.
    ///
    /// # Errors
    ///
    /// Those of [`Place::of`], [`Connection::open`] and [`KeyOptions::from_header`].
    pub fn open(
        path: &Path,
        key: Option<SecretKey>,
        (args, replicas): (&ServerArgs, ReplicaArgs),
        talk: Talk,
    ) -> Result<(Self, KeyOptions), Error> {
        let connection = Connection::open(Place::of(path)?, args, replicas, talk)?;
        let filter = connection.attach(key)?;
        Self::of(&connection, filter)
    }

    /// The filter of a connection.
    ///
    /// # Errors
    ///
    /// [`Error::Remote`], those of [`KeyOptions::from_header`].
    pub fn of(connection: &Connection, filter: NativeFilter) -> Result<(Self, KeyOptions), Error> {
        let name = connection.place.name.clone();
        // First: where the filter is switched meanwhile, all that follows is of the new one.
        let seen = connection.wait(filter.info())?;
        let options = KeyOptions::from_header(&name, &filter.key_options())?;
        let round_trip = connection.round_trip();
        let file = Self { name, filter, seen, new_since: 0, sent_since: 0, unsure: 0, round_trip };
        Ok((file, options))
    }

    /// What was seen when its bits were counted last.
    pub fn seen(&self) -> &FilterInfo {
        &self.seen
    }

    /// How many keys the bits spoke of then.
    pub fn estimate(&self) -> Estimate {
        Estimate::from_ones(&self.filter.params(), self.seen.count_ones)
    }

    /// The URL, without the password.
    pub fn url(&self) -> &str {
        &self.name
    }

    /// Its numbers.
    pub fn params(&self) -> FilterParams {
        self.filter.params()
    }

    fn wait<T>(
        &self,
        call: impl Future<Output = Result<T, mayhap_redis::Error>>,
    ) -> Result<T, SetError> {
        let answer = wait(call)
            .map_err(|source| SetError::Server { message: source.to_string(), hint: None })?;
        answer.map_err(|source| {
            let (message, hint) = connect::problem(&self.name, &source);
            SetError::Server { message, hint }
        })
    }
}

/// How many keys the bits speak of; where all are set, at least as many as there are bits.
fn items_of(info: &FilterInfo) -> u64 {
    info.estimated_items.map_or(info.num_bits, |items| items.round() as u64)
}

impl KeySet for RemoteFile {
    fn name(&self) -> &'static str {
        self.params().layout().name()
    }

    fn digest_function(&self) -> DigestFunction {
        self.filter.digest_function()
    }

    fn insert_digests_into(
        &mut self,
        digests: &[Digest],
        new: &mut Bitmap,
    ) -> Result<(), SetError> {
        new.clear_to(0);
        let parts = digests.chunks(INSERT_PART).map(|part| self.filter.insert_digests(part));
        let parts = self.wait(try_join_all(parts))?;
        new.clear_to(digests.len());
        for (i, part) in parts.iter().enumerate() {
            for one in part.new.iter_ones().chain(part.unsure.iter_ones()) {
                new.set(i * INSERT_PART + one);
            }
            self.unsure += part.unsure.count_ones() as u64;
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

    fn contains_digests_into(
        &self,
        digests: &[Digest],
        found: &mut Bitmap,
    ) -> Result<(), SetError> {
        let parts = digests.chunks(ASK_PART).map(|part| self.filter.contains_digests(part));
        let parts = self.wait(try_join_all(parts))?;
        found.clear_to(digests.len());
        for (i, part) in parts.iter().enumerate() {
            part.iter_ones().for_each(|one| found.set(i * ASK_PART + one));
        }
        Ok(())
    }

    fn refresh(&mut self) -> Result<(), SetError> {
        self.seen = self.wait(self.filter.info())?;
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
}
