//! The way of keys into a filter, and into the log; `durable/announced.rs` keeps "not new" safe.

use super::filter::Filter;
use super::lock::{locked, write};
use super::{Entry, InsertError};
use crate::Turn;
use crate::durable::Recorder;
use crate::resp::Words;
use mayhap::{Bitmap, Digest};
use mayhap_formats::ForeignFilter;

/// What [`Recorder::ordered`] is told: the time in milliseconds, or this for a removal.
pub(super) const REMOVAL: u64 = u64::MAX;

impl Entry {
    /// Inserts a key; `true` if it is new. What a crash must not take is in [`Turn::recorder`].
    ///
    /// # Errors
    ///
    /// [`InsertError`]; the key is then not inserted.
    pub fn insert(&self, key: &[u8], turn: &mut Turn) -> Result<bool, InsertError> {
        match self.digest_function() {
            Some(function) => self.insert_digest(function.digest(key), turn),
            None => self.insert_key(key, turn),
        }
    }

    /// [`Entry::insert`] for a key that is already a digest.
    ///
    /// # Errors
    ///
    /// As [`Entry::insert`]; schemes of others take no digests.
    pub fn insert_digest(&self, digest: Digest, turn: &mut Turn) -> Result<bool, InsertError> {
        if self.is_read_only() {
            return Err(InsertError::ReadOnly);
        }
        if self.is_ordered() {
            return self.insert_in_order(&[digest], turn);
        }
        let Some(recorder) = &mut turn.recorder else {
            let new = self.filter.insert(digest)?;
            self.request_growth();
            return Ok(new);
        };
        let (filter, tally) = (&self.filter, &self.tally);
        let contains = || filter.contains(digest, 0);
        let new =
            recorder.insert_one(tally, self.id, digest, contains, || filter.insert(digest))?;
        if new {
            self.request_growth();
        }
        Ok(new)
    }

    /// Inserts many keys in order; the answers are in [`Turn::answers`].
    ///
    /// # Errors
    ///
    /// Which key was the first one that could not be inserted, and why. Those before it are
    /// inserted and have their answers.
    pub fn insert_many(
        &self,
        keys: Words<'_>,
        turn: &mut Turn,
    ) -> Result<(), (usize, InsertError)> {
        if let Some(function) = self.digest_function() {
            turn.digests.clear();
            turn.digests.extend(keys.iter().map(|key| function.digest(key)));
            return self.insert_digests(turn);
        }
        turn.answers.clear_to(keys.len());
        for (i, key) in keys.iter().enumerate() {
            if self.insert_key(key, turn).map_err(|error| (i, error))? {
                turn.answers.set(i);
            }
        }
        Ok(())
    }

    /// [`Entry::insert_many`] for [`Turn::digests`], which are not kept.
    ///
    /// # Errors
    ///
    /// As [`Entry::insert_many`]; schemes of others take no digests.
    pub fn insert_digests(&self, turn: &mut Turn) -> Result<(), (usize, InsertError)> {
        if self.is_read_only() {
            turn.answers.clear_to(turn.digests.len());
            return Err((0, InsertError::ReadOnly));
        }
        if self.is_ordered() {
            let digests = std::mem::take(&mut turn.digests);
            let done = self.insert_in_order(&digests, turn).map_err(|error| (0, error));
            turn.digests = digests;
            return done.map(|_| ());
        }
        let Turn { recorder, digests, answers, .. } = turn;
        let Some(recorder) = recorder else {
            let done = self.filter.insert_many(digests, answers);
            self.request_growth();
            return done;
        };
        let insert = |digests: &[Digest], new: &mut Bitmap| self.filter.insert_many(digests, new);
        let done = recorder.insert_each(&self.tally, self.id, digests, answers, insert);
        self.request_growth();
        done
    }

    /// Says that the next layer is needed soon, if it is.
    #[inline]
    fn request_growth(&self) {
        if let Filter::Growing(filter) = &self.filter
            && filter.growth_is_due()
        {
            self.growth.request(self.id);
        }
    }

    fn insert_key(&self, key: &[u8], turn: &mut Turn) -> Result<bool, InsertError> {
        let Filter::RedisBloom(filter, charge) = &self.filter else {
            return Err(InsertError::ReadOnly);
        };
        let mut filter = write(filter);
        if filter.contains(key) && !self.tally.is_at_risk() {
            return Ok(false);
        }
        let mut announced = self.tally.announce(1);
        let new = super::redisbloom::insert(&mut filter, key, self.max_bytes, charge)?;
        if (new || announced.others_are_at_risk())
            && let Some(recorder) = &mut turn.recorder
        {
            let recorded = recorder.keys(&self.tally, self.id, std::iter::once(key));
            recorded.map_err(|refused| InsertError::Grow(refused.0))?;
            announced.hand_over(1);
        }
        Ok(new)
    }

    /// Whether everything has to be done to it once and in an order, also after a crash.
    const fn is_ordered(&self) -> bool {
        matches!(self.filter, Filter::Counting(..) | Filter::Window(..))
    }

    /// `true` if the last one is new.
    fn insert_in_order(&self, digests: &[Digest], turn: &mut Turn) -> Result<bool, InsertError> {
        let Turn { recorder, answers, now, .. } = turn;
        match &self.filter {
            Filter::Counting(filter, _) => {
                let mut filter = locked(filter);
                filter.filter.insert_digests_into(digests, answers);
                record(recorder, self.id, &mut filter.order, 0, digests);
            }
            Filter::Window(filter, _) => {
                let mut filter = locked(filter);
                filter.filter.advance(*now);
                filter.filter.insert_digests_into(digests, answers);
                record(recorder, self.id, &mut filter.order, *now, digests);
            }
            _ => return Err(InsertError::ReadOnly),
        }
        Ok(answers.len().checked_sub(1).is_some_and(|last| answers.get(last)))
    }

    /// Takes a key away again, once; `false` if it is surely not there.
    ///
    /// # Errors
    ///
    /// [`InsertError::ReadOnly`] for all but counting filters.
    pub fn remove(&self, key: &[u8], turn: &mut Turn) -> Result<bool, InsertError> {
        let (Filter::Counting(filter, _), Some(function)) = (&self.filter, self.digest_function())
        else {
            return Err(InsertError::ReadOnly);
        };
        let digest = function.digest(key);
        let mut filter = locked(filter);
        let removed = filter.filter.remove_digest(digest);
        if removed {
            record(&mut turn.recorder, self.id, &mut filter.order, REMOVAL, &[digest]);
        }
        Ok(removed)
    }
}

fn record(
    recorder: &mut Option<Recorder>,
    id: u64,
    order: &mut u64,
    what: u64,
    digests: &[Digest],
) {
    if let Some(recorder) = recorder {
        recorder.ordered(id, *order, what, digests);
    }
    *order += digests.len() as u64;
}
