//! A filter of another scheme on a server.

use super::error::{Error as ServerError, failed};
use super::origin::Origin;
use super::scheme::Scheme;
use super::server_set::{LOOK_KEYS, LOOK_PART, NEAR, ServerSet};
use super::wait::wait;
use crate::capabilities::Capabilities;
use crate::error::Error;
use crate::file::{KeyBytes, random_text};
use crate::fullness::RATE_STEPS;
use crate::key_set::{KeySet, Remote};
use crate::keys::{KeyTypes, Keys, NotKeys, TakesTexts};
use crate::measurements::{Detail, Measurements, highest_full_fill, overfilled_by_bits};
use crate::numbers::Numbers;
use crate::room::Held;
use crate::state::State;
use mayhap::native::Kind;
use mayhap::set::Repeats;
use mayhap::{Bitmap, DigestFunction, Health};
use mayhap_formats::{KeyChoice, KeyType};
use mayhap_redis::{Error as RedisError, FilterInfo, InsertedBatch};
use std::time::Duration;

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
    /// Keys sent since the start of which it is unknown whether they were new.
    unsure: u64,
    round_trip: Duration,
    keys: KeyBytes,
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
        let seen = wait(filter.info())?.map_err(|source| failed(&name, source))?;
        let key_types = KeyChoice::among(F::NAME, F::KEY_TYPES, key_type)
            .map_err(|source| ServerError::KeyType { url: name.clone(), source })?;
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
        })
    }

    fn wait<T>(&self, call: impl Future<Output = Result<T, RedisError>>) -> Result<T, Error> {
        Ok(wait(call)?.map_err(|source| failed(&self.name, source))?)
    }

    fn takes_bytes(&self) -> bool {
        self.key_types.key_type == KeyType::Bytes
    }

    fn capacity(&self) -> Option<u64> {
        self.seen.expected_items.filter(|&items| items > 0 && !self.seen.grows)
    }

    /// NaN where the server does not report it.
    fn target_fpp(&self) -> f64 {
        self.seen.target_fpp.unwrap_or(f64::NAN)
    }

    /// Likewise.
    fn fill_ratio(&self) -> f64 {
        match self.seen.num_hashes {
            0 => f64::NAN,
            _ => self.seen.count_ones as f64 / self.seen.num_bits as f64,
        }
    }

    fn encode(&mut self, keys: Keys<'_>) -> Result<(), Error> {
        let (texts, key_type) = (keys.texts(&self.name)?, self.key_types.key_type);
        self.keys.encode(texts, |text, scratch| key_type.encode(text, scratch));
        Ok(())
    }
}

impl<F: Scheme> KeySet for OtherSet<F> {
    fn name(&self) -> &'static str {
        F::NAME
    }

    fn digest_function(&self) -> Option<DigestFunction> {
        self.by_digest
    }

    /// A scheme, or its server, may still refuse to remove.
    fn capabilities(&self) -> Capabilities {
        Capabilities { removes: self.takes_bytes(), ..Kind::Bloom.capabilities().into() }
    }

    fn contains_into(&mut self, keys: Keys<'_>, found: &mut Bitmap) -> Result<(), Error> {
        if let (Keys::Digests(digests), Some(_)) = (keys, self.by_digest) {
            *found = self.wait(self.filter.contains_digests(digests))?;
            return Ok(());
        }
        self.encode(keys)?;
        let encoded: Vec<&[u8]> = self.keys.keys().collect();
        let answers = self.wait(self.filter.contains_batch(&encoded))?;
        self.keys.place(answers.iter_ones(), found);
        Ok(())
    }

    fn insert_into(&mut self, keys: Keys<'_>, _: Repeats, new: &mut Bitmap) -> Result<(), Error> {
        new.clear_to(0);
        let unsure = if let (Keys::Digests(digests), Some(_)) = (keys, self.by_digest) {
            let InsertedBatch { new: is_new, unsure } =
                self.wait(self.filter.insert_digests(digests))?;
            new.clear_to(digests.len());
            is_new.iter_ones().chain(unsure.iter_ones()).for_each(|i| new.set(i));
            unsure
        } else {
            self.encode(keys)?;
            let encoded: Vec<&[u8]> = self.keys.keys().collect();
            let InsertedBatch { new: is_new, unsure } =
                self.wait(self.filter.insert_batch(&encoded))?;
            self.keys.place(is_new.iter_ones().chain(unsure.iter_ones()), new);
            unsure
        };
        self.unsure += unsure.count_ones() as u64;
        self.new_since += new.count_ones() as u64;
        let step = LOOK_KEYS.max(self.seen.expected_items.unwrap_or(0) / LOOK_PART);
        if self.new_since >= step {
            // Where it fails, the next insertion does too, or the next look succeeds; what was
            // inserted here has to be reported.
            let _ = self.refresh();
        }
        Ok(())
    }

    fn remove_into(&mut self, keys: Keys<'_>, removed: &mut Bitmap) -> Result<(), Error> {
        removed.clear_to(0);
        if !self.takes_bytes() {
            return Err(mayhap::Error::NotOfKind { operation: "remove", kind: F::NAME }.into());
        }
        *removed = self.wait(self.filter.remove_batch(keys.texts(&self.name)?.texts))?;
        Ok(())
    }

    /// Its parameters and its expiry stay.
    fn clear(&mut self) -> Result<(), Error> {
        self.wait(self.filter.clear())?;
        self.refresh()
    }

    fn items(&self) -> u64 {
        // Where all bits are set there may be any number of keys.
        let seen = self.seen.estimated_items.map_or(self.seen.num_bits, |n| n.round() as u64);
        seen.saturating_add(self.new_since)
    }

    fn held(&self) -> Held {
        if self.filter.counts() {
            Held::Counted(self.items())
        } else {
            Held::Estimated(self.items())
        }
    }

    fn numbers(&self, _: Repeats) -> Numbers {
        let (seen, capacity) = (&self.seen, self.capacity());
        let rates = (self.target_fpp(), seen.estimated_fpp);
        let rate_step = capacity.map_or(LOOK_KEYS, |items| items / RATE_STEPS);
        Numbers { rate_step, ..Numbers::of((self.items(), capacity), seen.num_bytes, rates) }
    }

    fn measurements(&self) -> Measurements {
        Measurements::Own(self.state())
    }

    fn details(&self) -> Vec<Detail> {
        let mut details = self.filter.details();
        if F::KEY_TYPES[0] != KeyType::Bytes || !self.takes_bytes() {
            let name = self.key_types.key_type.name();
            details.push(Detail::new("key_type", "keys are", name.into(), name));
        }
        details
    }

    fn texts(&self) -> Option<&dyn TakesTexts> {
        Some(self)
    }

    fn remote(&self) -> Option<Remote> {
        let is_far = self.round_trip > NEAR;
        Some(Remote { is_far, unsure_keys: self.unsure, replaced_keys: 0 })
    }

    fn refresh(&mut self) -> Result<(), Error> {
        self.seen = self.wait(self.filter.info())?;
        self.new_since = 0;
        Ok(())
    }
}

impl<F: Scheme> TakesTexts for OtherSet<F> {
    fn not_keys(&self) -> &[usize] {
        self.keys.not_keys()
    }

    fn all_not_keys(&self) -> Option<NotKeys> {
        self.keys.all_not_keys(&self.name)
    }

    fn key_types(&self) -> KeyTypes {
        KeyTypes::of(&self.key_types)
    }

    fn overfilled(&self) -> Option<String> {
        let seen = &self.seen;
        if seen.num_hashes == 0 {
            return None;
        }
        let highest = highest_full_fill(seen.num_hashes);
        overfilled_by_bits(self.fill_ratio(), seen.num_bits, highest, seen.estimated_fpp)
    }

    fn random_key(&self, number: u64) -> String {
        random_text(self.key_types.key_type)(number)
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

    fn state(&self) -> State {
        let (seen, items, capacity) = (&self.seen, self.items(), self.capacity());
        let over = seen.estimated_fpp > self.target_fpp() || self.overfilled().is_some();
        State {
            layout: seen.layout,
            num_bytes: seen.num_bytes,
            items,
            distinct_items: None,
            expected_items: capacity,
            target_fpp: self.target_fpp(),
            estimated_fpp: seen.estimated_fpp,
            fill_ratio: self.fill_ratio(),
            health: match capacity {
                Some(capacity) => Health::of(items as f64, capacity),
                None if over => Health::OverCapacity,
                None => Health::Ok,
            },
            estimated_items: None,
        }
    }

    fn expire(&mut self, after: Option<Duration>) -> Result<(), Error> {
        self.wait(self.filter.expire(after))
    }

    fn delete(&mut self) -> Result<bool, Error> {
        self.wait(self.filter.delete())
    }
}

#[cfg(test)]
mod tests;
