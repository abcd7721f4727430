//! A filter with what belongs to it.

use super::growth::Growth;
use super::kind::{Contents, Filter, Home, Target};
use super::outgoing::Outgoing;
use super::{DigestError, Hash, Info, InsertError, LayerInfo, Measured, Options, Shape, Spec};
use super::{Unreadable, WrongKind};
use crate::Turn;
use crate::count::Count;
use crate::durable::Tally;
use crate::resp::Words;
use mayhap::{Age, Bitmap, BloomMatrix, Charge, ClockJumps, Digest, DigestFunction, Error, Window};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex};

/// A filter with what belongs to it. Queries and insertions take no lock in the kinds that
/// `BF.RESERVE` creates by default.
#[derive(Debug)]
pub struct Entry {
    /// What the log calls it: a number that is never used again.
    pub id: u64,
    /// What it was created to be.
    pub spec: Spec,
    /// Its place in scans: its id, unless it was renamed.
    place: AtomicU64,
    /// Milliseconds since 1970; 0 for never.
    expires_at: AtomicU64,
    /// How many filters of the keyspace have such a time.
    expiring: Arc<Count>,
    filter: Box<dyn Filter>,
    /// Whether it may have no answer: a file, one that could not be recovered, or is put back now.
    unsure: AtomicBool,
    /// It is put back to what the folder has of it: a turn that changed it was refused.
    putting_back: AtomicBool,
    digest_function: Option<DigestFunction>,
    /// What the log knows of its keys.
    pub(super) tally: Arc<Tally>,
    /// Keys that were looked up since the server began.
    checked: Count,
    /// When it was last said that it is over its capacity, in milliseconds since 1970; 0 for never.
    over_said: Count,
    /// What it costs beside its bits, given back with it.
    pub(super) overhead: Charge,
    /// A dump that is going out.
    pub(super) outgoing: Mutex<Option<Outgoing>>,
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
        let unsure = spec.shape == Shape::File || filter.is_quarantined();
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

    /// Its place in scans. With the index locked.
    pub(super) fn place(&self) -> u64 {
        // ORDERING: Relaxed. The lock of the index orders it.
        self.place.load(Ordering::Relaxed)
    }

    /// Gives it another place in scans; returns the one before. With the index locked for writing.
    pub(super) fn move_to(&self, place: u64) -> u64 {
        // ORDERING: Relaxed, as above.
        self.place.swap(place, Ordering::Relaxed)
    }

    /// Whether its time is over.
    pub fn is_expired(&self, now: u64) -> bool {
        let expires_at = self.expires_at();
        expires_at != 0 && expires_at <= now
    }

    /// When its time is over, in milliseconds since 1970; 0 for never.
    pub fn expires_at(&self) -> u64 {
        // ORDERING: Relaxed. The time stands for itself; changes of it are under the keyspace's
        // lock.
        self.expires_at.load(Ordering::Relaxed)
    }

    pub(super) fn set_expires_at(&self, expires_at: u64) {
        // ORDERING: Relaxed, as above.
        let before = self.expires_at.swap(expires_at, Ordering::Relaxed);
        self.expiring.add(u64::from(expires_at != 0));
        self.expiring.sub(u64::from(before != 0));
    }

    /// Keys that were looked up since the server began.
    pub fn items_checked(&self) -> u64 {
        self.checked.get()
    }

    /// Bytes of its memory.
    pub fn num_bytes(&self) -> u64 {
        self.filter.num_bytes()
    }

    /// Whether it is a file, which nothing can be inserted into.
    pub fn is_read_only(&self) -> bool {
        self.spec.shape == Shape::File
    }

    /// How keys become digests; `None` for schemes of other systems, which take keys.
    pub const fn digest_function(&self) -> Option<&DigestFunction> {
        self.digest_function.as_ref()
    }

    /// Its digest function in words: `xxh3:` and the seed, or `sip13:` and the id of the key.
    pub fn digest_name(&self) -> Option<String> {
        let function = self.digest_function.as_ref()?;
        Some(format!("{}:{:016x}", function.name(), function.parameter()))
    }

    /// That digests can be looked up in it.
    ///
    /// # Errors
    ///
    /// [`DigestError::NoDigests`].
    pub fn check_digests(&self) -> Result<(), DigestError> {
        self.digest_function.map(|_| ()).ok_or(DigestError::NoDigests)
    }

    /// That digests can be inserted by a user, who is an admin or not.
    ///
    /// # Errors
    ///
    /// [`DigestError`].
    pub fn check_new_digests(&self, is_admin: bool) -> Result<(), DigestError> {
        self.check_digests()?;
        if self.spec.hash == Hash::Keyed && !is_admin { Err(DigestError::Keyed) } else { Ok(()) }
    }

    /// That all of these are keys of it: not all texts are of a filter of another system.
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

    /// Whether the key may be in it; a window answers for the time `now`. For a file the answer
    /// holds if [`Entry::check_file`] says so afterwards.
    #[inline]
    pub fn contains(&self, key: &[u8], now: u64) -> bool {
        self.checked.add(1);
        match &self.digest_function {
            Some(function) => self.filter.contains(function.digest(key), now),
            None => self.filter.contains_key(key),
        }
    }

    /// What it remembers, if it is a window: so many keys, or those of a time in milliseconds.
    pub fn window(&self) -> Option<Window> {
        self.filter.window()
    }

    /// How long before `now` each of these keys came, in items or milliseconds as the window is;
    /// `None` for one that is surely not in it.
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

    /// [`Entry::contains`] for a key that is already a digest; `false` for schemes of others.
    #[inline]
    pub fn contains_digest(&self, digest: Digest, now: u64) -> bool {
        self.checked.add(1);
        self.filter.contains(digest, now)
    }

    /// Looks many keys up; the answers are in [`Turn::answers`], and hold as that of
    /// [`Entry::contains`] does.
    pub fn contains_many(&self, keys: Words<'_>, turn: &mut Turn) {
        self.checked.add(keys.len() as u64);
        if let Some(function) = self.digest_function {
            turn.digest(keys, function);
            return self.filter.contains_many(&turn.digests, turn.now, &mut turn.answers);
        }
        turn.answers.clear_to(keys.len());
        for (i, key) in keys.iter().enumerate() {
            if self.filter.contains_key(key) {
                turn.answers.set(i);
            }
        }
    }

    /// Its sets, if it has many.
    pub(super) fn matrix(&self) -> Option<&BloomMatrix> {
        self.filter.matrix()
    }

    /// [`Entry::contains_many`] for digests.
    pub fn contains_digests(&self, digests: &[Digest], now: u64, found: &mut Bitmap) {
        self.checked.add(digests.len() as u64);
        self.filter.contains_many(digests, now, found);
    }

    /// Inserts a key; `true` if it is new. What a crash must not take is in [`Turn::recorder`].
    ///
    /// # Errors
    ///
    /// [`InsertError`]; the key is then not inserted.
    pub fn insert(&self, key: &[u8], turn: &mut Turn) -> Result<bool, InsertError> {
        match self.digest_function {
            Some(function) => self.insert_digest(function.digest(key), turn),
            None => self.filter.insert_key(key, self.target(), turn),
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
        self.filter.insert(digest, self.target(), turn)
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
        if let Some(function) = self.digest_function {
            turn.digest(keys, function);
            return self.insert_digests(turn);
        }
        turn.answers.clear_to(keys.len());
        for (i, key) in keys.iter().enumerate() {
            let new = self.filter.insert_key(key, self.target(), turn);
            if new.map_err(|error| (i, error))? {
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
        self.filter.insert_many(self.target(), turn)
    }

    /// Removes many keys in order, each once; the answers are in [`Turn::answers`], `false` for one
    /// that is surely not there, or that is in [`Turn::staying`]: it is there, and cannot be
    /// removed.
    ///
    /// # Errors
    ///
    /// [`WrongKind::NotCounting`] for all but counting filters; nothing is removed then.
    pub fn remove_many(&self, keys: Words<'_>, turn: &mut Turn) -> Result<(), WrongKind> {
        turn.digests.clear();
        if let Some(function) = self.digest_function {
            turn.digest(keys, function);
        }
        self.filter.remove_many(self.target(), turn)
    }

    const fn target(&self) -> Target<'_> {
        Target { id: self.id, tally: &self.tally }
    }

    /// What is known of it. Reads no bits, but those of another system's file.
    pub fn info(&self) -> Info {
        let function = self.digest_function;
        Info {
            keyed: function.is_some_and(|function| function.name() == "sip13"),
            read_only: self.is_read_only(),
            ..self.filter.info()
        }
    }

    /// Keys that were new; for `BF.CARD`.
    pub fn items(&self) -> u64 {
        self.filter.items()
    }

    /// Its layers, oldest first; for `BF.DEBUG`. Reads no bits, but those of another system's file.
    pub fn layers(&self) -> Vec<LayerInfo> {
        self.filter.layers()
    }

    /// What its bits say. Reads all of them three times, each a tenth of a second a GiB or more.
    pub fn measure(&self) -> Measured {
        self.filter.measure()
    }

    /// Whether what was read of a file until now can be used: to be called after queries, before
    /// they are answered. Filters that are no files always can.
    ///
    /// # Errors
    ///
    /// [`Unreadable`].
    pub fn check_file(&self) -> Result<(), Unreadable> {
        self.putting_back()?;
        self.file_problem().map_or(Ok(()), Err)
    }

    /// [`Entry::check_file`] after a single query, which the system call would cost as much as the
    /// query itself: the file is looked at if `now`, any clock, has gone on since, so that an
    /// answer can be wrong in the millisecond in which somebody begins to overwrite it. Pages that
    /// are gone are noticed at once.
    ///
    /// # Errors
    ///
    /// [`Unreadable`].
    #[inline]
    pub fn check_file_at(&self, now: u64) -> Result<(), Unreadable> {
        // ORDERING: Relaxed. A query beside a refused change may come before it or after.
        if !self.unsure.load(Ordering::Relaxed) {
            return Ok(());
        }
        self.putting_back()?;
        self.filter.changed_at(now).map_or(Ok(()), Err)
    }

    /// A turn that changed it was refused: until another one has its name nobody can say what is in
    /// it.
    pub(super) fn begin_putting_back(&self) {
        // ORDERING: Release, so that who finds it unsure finds the reason.
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
        self.filter.is_quarantined()
    }

    /// Checks up to so many pages of a file that no query has read yet; returns whether nothing is
    /// left to check.
    pub(super) fn check_ahead(&self, most_pages: u64) -> bool {
        self.filter.check_ahead(most_pages)
    }

    /// What [`Entry::check_file`] says.
    pub fn file_problem(&self) -> Option<Unreadable> {
        self.filter.changed()
    }

    /// A copy, while insertions go on: it holds at least every key whose insertion happened before.
    /// `None` for files.
    pub(super) fn contents(&self) -> Result<Option<Box<dyn Contents>>, Error> {
        self.filter.snapshot()
    }

    /// [`Entry::contents`], counting only keys that the log has before this segment.
    pub(super) fn contents_before(&self, segment: u64) -> Result<Option<Box<dyn Contents>>, Error> {
        let contents = self.contents()?;
        Ok(contents.map(|mut contents| {
            contents.limit_items(self.tally.before(segment));
            contents
        }))
    }

    /// How often it cleared itself since this was last called.
    pub(super) fn new_clears(&self) -> u64 {
        self.filter.new_clears()
    }

    /// Whether it has more keys than it was created for.
    pub(super) fn is_over_capacity(&self) -> bool {
        self.filter.is_over_capacity()
    }

    /// Whether that is to be said: the first time, and again after so many milliseconds.
    pub(super) fn says_over_capacity(&self, now: u64, pause_ms: u64) -> bool {
        let said = self.over_said.get();
        let is_new = said == 0 || now.saturating_sub(said) >= pause_ms;
        if is_new {
            self.over_said.replace(now.max(1));
        }
        is_new
    }

    /// The jumps of the clock, if there was one since this was last called, of a window.
    pub(super) fn new_clock_jumps(&self) -> Option<ClockJumps> {
        self.filter.new_clock_jumps()
    }

    /// Sizes its next layer, if it grows and will need one soon.
    pub(super) fn prepare_growth(&self) {
        self.filter.prepare_growth();
    }

    /// Allocates its next layer and touches its pages, for as long as `goes_on`.
    pub(super) fn grow_ahead(&self, goes_on: &dyn Fn() -> bool) {
        self.filter.grow_ahead(goes_on);
    }
}

impl Drop for Entry {
    fn drop(&mut self) {
        self.expiring.sub(u64::from(*self.expires_at.get_mut() != 0));
    }
}

/// What all filters of a keyspace take from it.
pub(super) const fn home<'a>(options: &'a Options, growth: &'a Arc<Growth>) -> Home<'a> {
    Home { options, growth }
}
