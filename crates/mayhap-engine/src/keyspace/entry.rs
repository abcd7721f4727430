//! A filter with its state in the keyspace.

use super::dumps::Outgoing;
use super::kind::{Contents, Filter, Target};
use super::{DigestError, Hash, Info, InsertError, LayerInfo, Measured, Saving, Shape, Spec};
use super::{Unreadable, WrongKind};
use crate::Work;
use crate::count::Count;
use crate::durable::Tally;
use crate::sync::unpoisoned;
use crate::words::Words;
use mayhap::{Age, Bitmap, Charge, Digest, DigestFunction, Error, Window};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard};

/// A filter with its state in the keyspace. Queries and insertions take no lock in the kinds that
/// `BF.RESERVE` creates by default.
#[derive(Debug)]
pub struct Entry {
    /// Its id in the log: a number that is never reused.
    pub id: u64,
    /// Its specification at creation.
    pub spec: Spec,
    /// Its place in scans: its id, unless it was renamed.
    place: AtomicU64,
    /// Milliseconds since 1970; 0 for never.
    expires_at: AtomicU64,
    /// How many filters of the keyspace expire.
    expiring: Arc<Count>,
    filter: Box<dyn Filter>,
    /// Whether it may be unable to answer: a file, not recovered, or being put back now.
    unsure: AtomicBool,
    /// Whether it is being put back to its state in the folder: a turn that changed it was refused.
    putting_back: AtomicBool,
    digest_function: Option<DigestFunction>,
    /// The log's counts of its keys.
    tally: Arc<Tally>,
    /// Keys that were looked up since the start of the server.
    checked: Count,
    /// When it was last reported as over its capacity, in milliseconds since 1970; 0 for never.
    over_said: Count,
    /// Its memory other than its bits, returned with it.
    overhead: Charge,
    /// A dump in progress; few filters have one.
    outgoing: Mutex<Option<Box<Outgoing>>>,
}

impl Entry {
    pub(super) fn new(
        id: u64,
        spec: Spec,
        expires_at: u64,
        filter: Box<dyn Filter>,
        (overhead, expiring): (Charge, Arc<Count>),
    ) -> Self {
        let digest_function = filter.digest_function();
        let tally = Arc::new(Tally::new(filter.items()));
        expiring.add(u64::from(expires_at != 0));
        let expires_at = AtomicU64::new(expires_at);
        let unsure = spec.shape == Shape::File || filter.problem(None).is_some();
        Self {
            id,
            spec,
            place: AtomicU64::new(id),
            expires_at,
            expiring,
            filter,
            unsure: AtomicBool::new(unsure),
            putting_back: AtomicBool::new(false),
            digest_function,
            tally,
            checked: Count::default(),
            over_said: Count::default(),
            overhead,
            outgoing: Mutex::default(),
        }
    }

    /// Continues what is known of the same filter at another size: its place, and the log's counts
    /// of it. With names locked.
    pub(super) fn take_over(&mut self, before: &Self) {
        self.place = AtomicU64::new(before.place());
        self.tally = before.tally.clone();
        self.checked.add(before.checked.get());
        self.over_said.replace(before.over_said.get());
    }

    /// The keys that it refuses to exceed, or was created for; `None` for dumps and files.
    pub(super) fn capacity(&self) -> Option<u64> {
        match self.filter.fixed() {
            Some(fixed) => Some(fixed.capacity()),
            None => self.spec.shape.capacity(),
        }
    }

    /// What a fold would save, if it is of a kind that folds. Takes up to a millisecond.
    pub fn saving(&self) -> Option<Saving> {
        self.filter.fixed()?.saving()
    }

    /// Its place in scans. With the index locked.
    pub(super) fn place(&self) -> u64 {
        // ORDERING: Relaxed. The lock of the index orders it.
        self.place.load(Ordering::Relaxed)
    }

    /// Moves it to another place in scans; returns the previous one. With the index locked for
    /// writing.
    pub(super) fn move_to(&self, place: u64) -> u64 {
        // ORDERING: Relaxed, as above.
        self.place.swap(place, Ordering::Relaxed)
    }

    /// Whether it has expired.
    pub fn is_expired(&self, now: u64) -> bool {
        let expires_at = self.expires_at();
        expires_at != 0 && expires_at <= now
    }

    /// When it expires, in milliseconds since 1970; 0 for never.
    pub fn expires_at(&self) -> u64 {
        // ORDERING: Relaxed. The time stands for itself; it is changed under the keyspace's lock.
        self.expires_at.load(Ordering::Relaxed)
    }

    pub(super) fn set_expires_at(&self, expires_at: u64) {
        // ORDERING: Relaxed, as above.
        let before = self.expires_at.swap(expires_at, Ordering::Relaxed);
        self.expiring.add(u64::from(expires_at != 0));
        self.expiring.sub(u64::from(before != 0));
    }

    /// Keys that were looked up since the start of the server.
    pub fn items_checked(&self) -> u64 {
        self.checked.get()
    }

    /// Bytes of its memory.
    pub fn num_bytes(&self) -> u64 {
        self.filter.num_bytes()
    }

    /// Whether it is a file, which takes no insertions.
    pub fn is_read_only(&self) -> bool {
        self.spec.shape == Shape::File
    }

    /// How keys become digests; `None` for foreign filters, which take keys.
    pub const fn digest_function(&self) -> Option<&DigestFunction> {
        self.digest_function.as_ref()
    }

    /// Its digest function in words: `xxh3:` and the seed, or `sip13:` and the id of the key.
    pub fn digest_name(&self) -> Option<String> {
        let function = self.digest_function.as_ref()?;
        Some(format!("{}:{:016x}", function.name(), function.parameter()))
    }

    /// Checks that digests can be looked up in it.
    ///
    /// # Errors
    ///
    /// [`DigestError::NoDigests`].
    pub fn check_digests(&self) -> Result<(), DigestError> {
        self.digest_function.map(|_| ()).ok_or(DigestError::NoDigests)
    }

    /// Checks that digests can be inserted by a user; `is_admin` if it is an admin.
    ///
    /// # Errors
    ///
    /// [`DigestError`].
    pub fn check_new_digests(&self, is_admin: bool) -> Result<(), DigestError> {
        self.check_digests()?;
        if self.spec.hash == Hash::Keyed && !is_admin { Err(DigestError::Keyed) } else { Ok(()) }
    }

    /// Checks that all of these are keys of it: some foreign filters do not accept every text.
    ///
    /// # Errors
    ///
    /// [`Unreadable`].
    #[inline]
    pub fn check_keys<'a>(
        &self,
        mut keys: impl Iterator<Item = &'a [u8]>,
    ) -> Result<(), Unreadable> {
        if self.digest_function.is_some() {
            return Ok(());
        }
        keys.try_for_each(|key| self.filter.check_key(key)).map_err(Unreadable::NotAKey)
    }

    /// Whether the key may be in it; a window answers for the time `now`. For a file the answer is
    /// only valid if [`Entry::check_file`] succeeds afterwards.
    #[inline]
    pub fn contains(&self, key: &[u8], now: u64) -> bool {
        self.checked.add(1);
        match &self.digest_function {
            Some(function) => self.filter.contains(function.digest(key), now),
            None => self.filter.contains_key(key),
        }
    }

    /// How much it remembers, if it is a window: a number of keys, or a time in milliseconds.
    pub fn window(&self) -> Option<Window> {
        self.filter.window()
    }

    /// How long before `now` each of these keys was inserted, in items or milliseconds depending on
    /// the window; `None` for one that is surely not in it.
    ///
    /// # Errors
    ///
    /// [`WrongKind::NotWindow`] for all but windows.
    pub fn ages(
        &self,
        keys: Words<'_>,
        now: u64,
    ) -> Result<impl Iterator<Item = Option<Age>>, WrongKind> {
        let (Some(_), Some(function)) = (self.filter.window(), self.digest_function) else {
            return Err(WrongKind::NotWindow(self.filter.kind()));
        };
        Ok(keys.iter().map(move |key| self.filter.age(function.digest(key), now)))
    }

    /// [`Entry::contains`] for a digest; `false` for foreign filters.
    #[inline]
    pub fn contains_digest(&self, digest: Digest, now: u64) -> bool {
        self.checked.add(1);
        self.filter.contains(digest, now)
    }

    /// Looks many keys up; the answers are in [`Work::answers`], and are valid under the same
    /// condition as for [`Entry::contains`].
    pub fn contains_many(&self, keys: Words<'_>, work: &mut Work) {
        self.checked.add(keys.len() as u64);
        if let Some(function) = self.digest_function {
            work.digest(keys, function);
            return self.filter.contains_many(&work.digests, work.now, &mut work.answers);
        }
        work.answers.clear_to(keys.len());
        for (i, key) in keys.iter().enumerate() {
            if self.filter.contains_key(key) {
                work.answers.set(i);
            }
        }
    }

    /// [`Entry::contains_many`] for digests.
    pub fn contains_digests(&self, digests: &[Digest], now: u64, found: &mut Bitmap) {
        self.checked.add(digests.len() as u64);
        self.filter.contains_many(digests, now, found);
    }

    /// Inserts a key; `true` if it is new. The record that a crash must not lose is in
    /// [`Work::recorder`].
    ///
    /// # Errors
    ///
    /// [`InsertError`]; the key is then not inserted.
    pub fn insert(&self, key: &[u8], work: &mut Work) -> Result<bool, InsertError> {
        match self.digest_function {
            Some(function) => self.insert_digest(function.digest(key), work),
            None => self.filter.insert_key(key, self.target(), work),
        }
    }

    /// [`Entry::insert`] for a digest.
    ///
    /// # Errors
    ///
    /// As [`Entry::insert`]; foreign filters take no digests.
    pub fn insert_digest(&self, digest: Digest, work: &mut Work) -> Result<bool, InsertError> {
        if self.is_read_only() {
            return Err(InsertError::ReadOnly);
        }
        self.filter.insert(digest, self.target(), work)
    }

    /// Inserts many keys in order; the answers are in [`Work::answers`].
    ///
    /// # Errors
    ///
    /// The index of the first key that could not be inserted, and why. The keys before it are
    /// inserted and have their answers.
    pub fn insert_many(
        &self,
        keys: Words<'_>,
        work: &mut Work,
    ) -> Result<(), (usize, InsertError)> {
        if let Some(function) = self.digest_function {
            work.digest(keys, function);
            return self.insert_digests(work);
        }
        work.answers.clear_to(keys.len());
        for (i, key) in keys.iter().enumerate() {
            let new = self.filter.insert_key(key, self.target(), work);
            if new.map_err(|error| (i, error))? {
                work.answers.set(i);
            }
        }
        Ok(())
    }

    /// [`Entry::insert_many`] for [`Work::digests`], which are not kept.
    ///
    /// # Errors
    ///
    /// As [`Entry::insert_many`]; foreign filters take no digests.
    pub fn insert_digests(&self, work: &mut Work) -> Result<(), (usize, InsertError)> {
        if self.is_read_only() {
            work.answers.clear_to(work.digests.len());
            return Err((0, InsertError::ReadOnly));
        }
        self.filter.insert_many(self.target(), work)
    }

    /// Inserts, in order, those of many keys that are absent; the answers are in [`Work::answers`].
    ///
    /// # Errors
    ///
    /// As [`Entry::insert_many`]; filters of kinds from which nothing can be removed take no key.
    pub fn insert_absent(
        &self,
        keys: Words<'_>,
        work: &mut Work,
    ) -> Result<(), (usize, InsertError)> {
        work.digests.clear();
        if let Some(function) = self.digest_function {
            work.digest(keys, function);
        }
        self.filter.insert_absent(self.target(), work)
    }

    /// How often the key may be in it, for a compact filter: up to 15, which means "as often or
    /// more". The answer is valid under the same condition as for [`Entry::contains`].
    pub fn count(&self, key: &[u8], now: u64) -> u32 {
        self.checked.add(1);
        match &self.digest_function {
            Some(function) => self.filter.count(function.digest(key), now),
            None => self.filter.contains_key(key).into(),
        }
    }

    /// Removals since the start of the server; 0 for kinds that do not remove.
    pub fn removed(&self) -> u64 {
        self.filter.removed()
    }

    /// Removes many keys in order, each once; the answers are in [`Work::answers`], `false` for a
    /// key that is surely absent, or that is in [`Work::staying`]: it is present, but cannot be
    /// removed.
    ///
    /// # Errors
    ///
    /// [`WrongKind::NotCounting`] for all but counting and compact filters; nothing is removed.
    pub fn remove_many(&self, keys: Words<'_>, work: &mut Work) -> Result<(), WrongKind> {
        work.digests.clear();
        if let Some(function) = self.digest_function {
            work.digest(keys, function);
        }
        self.filter.remove_many(self.target(), work)
    }

    const fn target(&self) -> Target<'_> {
        Target { id: self.id, tally: &self.tally }
    }

    /// Its description. Reads no bits, except for those of a foreign file.
    pub fn info(&self) -> Info {
        let (function, info) = (self.digest_function, self.filter.info());
        Info {
            keyed: function.is_some_and(|function| function.name() == "sip13"),
            read_only: self.is_read_only() || info.read_only,
            ..info
        }
    }

    /// Keys that were new; for `BF.CARD`.
    pub fn items(&self) -> u64 {
        self.filter.items()
    }

    /// Its layers, oldest first; for `BF.DEBUG`. Reads no bits, except for those of a foreign file.
    pub fn layers(&self) -> Vec<LayerInfo> {
        self.filter.layers()
    }

    /// Measurements of its bits. Reads all of them three times, each a tenth of a second a GiB or
    /// more.
    pub fn measure(&self) -> Measured {
        self.filter.measure()
    }

    /// Checks that the answers read from a file so far can be used: to be called after queries,
    /// before they are answered. Always succeeds for filters that are not files.
    ///
    /// # Errors
    ///
    /// [`Unreadable`].
    pub fn check_file(&self) -> Result<(), Unreadable> {
        self.putting_back()?;
        self.file_problem().map_or(Ok(()), Err)
    }

    /// [`Entry::check_file`] after a single query, for which the system call would cost as much as
    /// the query itself: the file is only checked if `now`, any clock, has advanced since, so that
    /// an answer can be wrong in the millisecond in which the file begins to be overwritten. Lost
    /// pages are detected at once.
    ///
    /// # Errors
    ///
    /// [`Unreadable`].
    #[inline]
    pub fn check_file_at(&self, now: u64) -> Result<(), Unreadable> {
        // ORDERING: Relaxed. A query may be ordered before a concurrent refused change or after.
        if !self.unsure.load(Ordering::Relaxed) {
            return Ok(());
        }
        self.putting_back()?;
        self.filter.problem(Some(now)).map_or(Ok(()), Err)
    }

    /// A turn that changed it was refused: until another one has its name its contents are
    /// unknown.
    pub(super) fn begin_putting_back(&self) {
        // ORDERING: Release, so that a reader that finds it unsure finds the reason.
        self.putting_back.store(true, Ordering::Release);
        self.unsure.store(true, Ordering::Release);
    }

    fn putting_back(&self) -> Result<(), Unreadable> {
        // ORDERING: Acquire, with the Release above.
        let putting_back = self.putting_back.load(Ordering::Acquire);
        if putting_back { Err(Unreadable::PuttingBack) } else { Ok(()) }
    }

    /// Whether it could not be recovered.
    pub fn is_quarantined(&self) -> bool {
        !self.is_read_only() && matches!(self.file_problem(), Some(Unreadable::Quarantined(_)))
    }

    /// The filter itself.
    pub(super) fn filter(&self) -> &dyn Filter {
        &*self.filter
    }

    /// Its memory other than its bits.
    pub(super) const fn overhead(&self) -> &Charge {
        &self.overhead
    }

    /// Its dump in progress.
    pub(super) fn outgoing(&self) -> MutexGuard<'_, Option<Box<Outgoing>>> {
        unpoisoned(self.outgoing.lock())
    }

    /// The log's counts of its keys.
    pub(super) const fn tally(&self) -> &Arc<Tally> {
        &self.tally
    }

    /// The error of [`Entry::check_file`].
    pub fn file_problem(&self) -> Option<Unreadable> {
        self.filter.problem(None)
    }

    /// A copy, while insertions continue, that counts only keys that the log has before this
    /// segment. `None` for files.
    pub(super) fn contents_before(&self, segment: u64) -> Result<Option<Box<dyn Contents>>, Error> {
        let contents = self.filter.snapshot()?;
        Ok(contents.map(|mut contents| {
            contents.limit_items(self.tally.before(segment));
            contents
        }))
    }

    /// Whether to report that it has more keys than its capacity: the first time, and again after
    /// `pause_ms` milliseconds.
    pub(super) fn says_over_capacity(&self, now: u64, pause_ms: u64) -> bool {
        let said = self.over_said.get();
        let is_new = said == 0 || now.saturating_sub(said) >= pause_ms;
        if is_new {
            self.over_said.replace(now.max(1));
        }
        is_new
    }
}

impl Drop for Entry {
    fn drop(&mut self) {
        self.expiring.sub(u64::from(*self.expires_at.get_mut() != 0));
    }
}
