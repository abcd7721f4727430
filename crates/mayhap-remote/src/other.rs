//! A filter of another scheme on a server.

use crate::origin::Origin;
use crate::problem::failed;
use crate::scheme::Scheme;
use crate::server_set::ServerSet;
use crate::wait::wait;
use mayhap::{Bitmap, Digest, DigestFunction, Health};
use mayhap_foreign::{BadKeys, KeyBytes, random_text};
use mayhap_formats::{KeyChoice, KeyType};
use mayhap_redis::{Error as RedisError, FilterInfo, InsertedBatch};
use mayhap_sets::{
    Detail, Error, Held, KeySet, KeyTypes, Keys, NotKeys, RATE_STEPS, Refusal, State,
    highest_full_fill, overfilled_by_bits,
};
use std::time::Duration;

/// New keys of our own between looks at the filter, at least, and as a part of its capacity.
const LOOK_KEYS: u64 = 16_384;
const LOOK_PART: u64 = 100;
/// A round trip on one machine, or between two of one rack.
const NEAR: Duration = Duration::from_millis(1);

/// A filter of another scheme: keys go as the bytes that its system hashes, or as digests where
/// the server takes these.
#[derive(Debug)]
pub struct OtherSet<F> {
    name: String,
    filter: F,
    by_digest: Option<DigestFunction>,
    key_types: KeyChoice,
    /// When it was looked at last.
    seen: FilterInfo,
    /// Keys that were new to us since.
    new_since: u64,
    /// Those of which it is not known, since the start.
    unsure: u64,
    round_trip: Duration,
    keys: KeyBytes,
    bad_keys: BadKeys,
}

impl<F: Scheme> OtherSet<F> {
    /// The filter, looked at once. `round_trip` is how long the server took for nothing much.
    ///
    /// # Errors
    ///
    /// [`Error::Server`], also for a type of keys that the scheme does not have.
    pub fn new(
        origin: &Origin,
        filter: F,
        key_type: Option<KeyType>,
        round_trip: Duration,
    ) -> Result<Self, Error> {
        let name = origin.url.clone();
        let seen = wait(filter.info())?.map_err(|source| failed(&name, &source))?;
        let key_types = KeyChoice::among(F::NAME, F::KEY_TYPES, key_type).map_err(|source| {
            let hint = Some("choose one of these with --key-type".to_owned());
            Error::Server { message: format!("{name}: {source}"), hint }
        })?;
        let takes_bytes = key_types.key_type == KeyType::Bytes;
        let by_digest = filter.digest_function(None).filter(|_| takes_bytes);
        Ok(Self {
            name,
            filter,
            by_digest,
            key_types,
            seen,
            new_since: 0,
            unsure: 0,
            round_trip,
            keys: KeyBytes::default(),
            bad_keys: BadKeys::default(),
        })
    }

    fn wait<T>(&self, call: impl Future<Output = Result<T, RedisError>>) -> Result<T, Error> {
        wait(call)?.map_err(|source| failed(&self.name, &source))
    }

    /// Takes over the answers of an insertion, of as many lines as bits are in `new`.
    fn note(&mut self, batch: &InsertedBatch, line_of: impl Fn(usize) -> usize, new: &mut Bitmap) {
        for one in batch.new.iter_ones().chain(batch.unsure.iter_ones()) {
            new.set(line_of(one));
        }
        self.unsure += batch.unsure.count_ones() as u64;
        self.new_since += new.count_ones() as u64;
        let step = LOOK_KEYS.max(self.seen.expected_items.unwrap_or(0) / LOOK_PART);
        if self.new_since >= step {
            // Where it fails, the next insertion does too, or the next look succeeds; what was
            // inserted here has to be reported.
            let _ = self.refresh();
        }
    }
}

impl<F: Scheme> KeySet for OtherSet<F> {
    fn name(&self) -> &'static str {
        F::NAME
    }

    fn digest_function(&self) -> DigestFunction {
        self.by_digest.unwrap_or_default()
    }

    fn takes_keys(&self) -> bool {
        self.by_digest.is_none()
    }

    fn contains_digests_into(&self, digests: &[Digest], found: &mut Bitmap) -> Result<(), Error> {
        if self.takes_keys() {
            return Err(Error::Refused { name: self.name.clone(), why: Refusal::TakesKeys });
        }
        *found = self.wait(self.filter.contains_digests(digests))?;
        Ok(())
    }

    fn insert_digests_into(&mut self, digests: &[Digest], new: &mut Bitmap) -> Result<(), Error> {
        new.clear_to(0);
        if self.takes_keys() {
            return Err(Error::Refused { name: self.name.clone(), why: Refusal::TakesKeys });
        }
        let batch = self.wait(self.filter.insert_digests(digests))?;
        new.clear_to(digests.len());
        self.note(&batch, |i| i, new);
        Ok(())
    }

    fn contains_keys_into(&mut self, keys: Keys<'_>, found: &mut Bitmap) -> Result<(), Error> {
        if self.key_types.key_type == KeyType::Bytes {
            *found = self.wait(self.filter.contains_batch(keys.texts))?;
            return Ok(());
        }
        self.keys.encode(self.key_types.key_type, keys, &mut self.bad_keys);
        let encoded: Vec<&[u8]> = self.keys.keys().collect();
        let answers = self.wait(self.filter.contains_batch(&encoded))?;
        found.clear_to(keys.texts.len());
        for (i, (line, _)) in self.keys.lines_and_keys().enumerate() {
            if answers.get(i) {
                found.set(line);
            }
        }
        Ok(())
    }

    fn insert_keys_into(&mut self, keys: Keys<'_>, new: &mut Bitmap) -> Result<(), Error> {
        new.clear_to(0);
        if self.key_types.key_type == KeyType::Bytes {
            let batch = self.wait(self.filter.insert_batch(keys.texts))?;
            new.clear_to(keys.texts.len());
            self.note(&batch, |i| i, new);
            return Ok(());
        }
        self.keys.encode(self.key_types.key_type, keys, &mut self.bad_keys);
        let encoded: Vec<&[u8]> = self.keys.keys().collect();
        let batch = self.wait(self.filter.insert_batch(&encoded))?;
        let lines: Vec<usize> = self.keys.lines_and_keys().map(|(line, _)| line).collect();
        new.clear_to(keys.texts.len());
        self.note(&batch, |i| lines[i], new);
        Ok(())
    }

    fn remove_keys_into(&mut self, keys: Keys<'_>, removed: &mut Bitmap) -> Result<bool, Error> {
        removed.clear_to(0);
        if self.key_types.key_type != KeyType::Bytes {
            return Ok(false);
        }
        *removed = self.wait(self.filter.remove_batch(keys.texts))?;
        Ok(true)
    }

    fn not_keys(&self) -> &[usize] {
        self.keys.not_keys()
    }

    fn all_not_keys(&self) -> Option<NotKeys> {
        self.bad_keys.of(&self.name)
    }

    fn key_types(&self) -> Option<KeyTypes> {
        let KeyChoice { key_type, is_guess, .. } = self.key_types;
        let others = self.key_types.others().map(KeyType::name).collect();
        Some(KeyTypes { taken: key_type.name(), others, formats: Vec::new(), is_guess })
    }

    fn overfilled(&self) -> Option<String> {
        let seen = &self.seen;
        if seen.num_hashes == 0 {
            return None;
        }
        let fill = seen.count_ones as f64 / seen.num_bits as f64;
        let highest = highest_full_fill(seen.num_hashes);
        overfilled_by_bits(fill, seen.num_bits, highest, seen.estimated_fpp)
    }

    fn random_key(&self, number: u64) -> String {
        random_text(self.key_types.key_type)(number)
    }

    /// Its parameters and its expiry stay.
    fn clear(&mut self) -> Result<bool, Error> {
        self.wait(self.filter.clear())?;
        self.refresh()?;
        Ok(true)
    }

    fn refresh(&mut self) -> Result<(), Error> {
        self.seen = self.wait(self.filter.info())?;
        self.new_since = 0;
        Ok(())
    }

    fn items(&self) -> u64 {
        // Where all bits are set there may be any number of keys.
        let seen = self.seen.estimated_items.map_or(self.seen.num_bits, |n| n.round() as u64);
        seen.saturating_add(self.new_since)
    }

    fn held(&self) -> Held {
        if F::COUNTS { Held::Counted(self.items()) } else { Held::Estimated(self.items()) }
    }

    fn capacity(&self) -> Option<u64> {
        self.seen.expected_items.filter(|&items| items > 0 && !self.seen.grows)
    }

    fn num_bytes(&self) -> u64 {
        self.seen.num_bytes
    }

    fn target_fpp(&self) -> f64 {
        self.seen.target_fpp.unwrap_or(f64::NAN)
    }

    fn expected_fpp(&self) -> f64 {
        self.seen.estimated_fpp
    }

    fn rate_step(&self) -> u64 {
        self.capacity().map_or(LOOK_KEYS, |items| items / RATE_STEPS)
    }

    fn is_shared(&self) -> bool {
        true
    }

    fn is_far(&self) -> bool {
        self.round_trip > NEAR
    }

    fn state(&self) -> State {
        let (seen, items) = (&self.seen, self.items());
        let fill_ratio = match seen.num_hashes {
            // The server does not report its bits.
            0 => f64::NAN,
            _ => seen.count_ones as f64 / seen.num_bits as f64,
        };
        let over = seen.estimated_fpp > self.target_fpp() || self.overfilled().is_some();
        State {
            layout: seen.layout,
            num_bytes: seen.num_bytes,
            items,
            distinct_items: None,
            expected_items: self.capacity(),
            target_fpp: self.target_fpp(),
            estimated_fpp: seen.estimated_fpp,
            fill_ratio,
            health: match self.capacity() {
                Some(capacity) => Health::of(items as f64, capacity),
                None if over => Health::OverCapacity,
                None => Health::Ok,
            },
        }
    }

    fn details(&self) -> Vec<Detail> {
        let mut details = self.filter.details();
        if F::KEY_TYPES[0] != KeyType::Bytes || self.key_types.key_type != KeyType::Bytes {
            let name = self.key_types.key_type.name();
            details.push(Detail::new("key_type", "keys are", name.into(), name));
        }
        details
    }

    fn unsure_keys(&self) -> u64 {
        self.unsure
    }
}

impl<F: Scheme> ServerSet for OtherSet<F> {
    fn url(&self) -> &str {
        &self.name
    }

    fn scheme(&self) -> &'static str {
        F::NAME
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
