//! A set of keys as programs know it: one trait for every kind, wherever it is.
//!
//! They call what they need of a set and learn from the answer whether the set has it: there is
//! no `match` on kinds. A new kind is one file with an `impl` of [`KeySet`], and a row in
//! [`crate::load`].

use crate::error::{Error, Refusal};
use crate::fullness::{Forgotten, MIN_RATE_STEP, RATE_STEPS};
use crate::keys::{KeyTypes, Keys, NotKeys};
use crate::layout_name::LayoutName;
use crate::numbers::Numbers;
use crate::room::{Held, near_full};
use crate::state::State;
use mayhap::native::Header;
use mayhap::{
    Age, AnyFilter, Bitmap, Block, Digest, DigestFunction, Estimate, FilterParams, SecretKey,
};
use mayhap_keys::KeyOptions;
use mayhap_store::{FilterLock, Image, MappedFilter, Record};
use serde_json::Value;
use std::fmt;
use std::path::Path;

/// A set of keys that can be queried and, unless its kind refuses, filled.
///
/// A virtual call is one per batch of 1024 digests, so that the loops inside stay static.
pub trait KeySet: fmt::Debug {
    /// The name of its layout or kind.
    fn name(&self) -> &'static str;

    /// The kind with its size as `--layout` takes it, where the file of one can be given it.
    fn layout_name(&self) -> Option<LayoutName> {
        None
    }

    /// How keys become digests; without a meaning for a set that [`KeySet::takes_keys`].
    fn digest_function(&self) -> DigestFunction;

    /// Whether keys are hashed where the set is, so that it takes their bytes:
    /// [`KeySet::insert_keys_into`] and its like, and none of the methods that take digests, which
    /// return [`Refusal::TakesKeys`].
    fn takes_keys(&self) -> bool {
        false
    }

    /// Queries many keys by their bytes.
    ///
    /// # Errors
    ///
    /// As [`KeySet::contains_digests_into`].
    fn contains_keys_into(&mut self, keys: Keys<'_>, found: &mut Bitmap) -> Result<(), Error> {
        self.contains_digests_into(&digests_of(self.digest_function(), keys), found)
    }

    /// Inserts many keys by their bytes; reports which were new. `new` is as long as there were
    /// keys dealt with: fewer than were given after an error, and if the set is full before.
    ///
    /// # Errors
    ///
    /// As [`KeySet::insert_digests_into`]; [`Error::Foreign`] where another system would refuse.
    fn insert_keys_into(&mut self, keys: Keys<'_>, new: &mut Bitmap) -> Result<(), Error> {
        self.insert_digests_into(&digests_of(self.digest_function(), keys), new)
    }

    /// Removes many keys by their bytes and reports which were removed: those that were there, but
    /// for those that stay, which are still there afterwards. `false`, and nothing done, for kinds
    /// that cannot.
    ///
    /// # Errors
    ///
    /// [`Error::Server`].
    fn remove_keys_into(&mut self, keys: Keys<'_>, removed: &mut Bitmap) -> Result<bool, Error> {
        let digests = digests_of(self.digest_function(), keys);
        Ok(self.remove_digests_into(&digests, removed))
    }

    /// The positions, in the keys given last, of texts that are no keys of this set; sorted.
    fn not_keys(&self) -> &[usize] {
        &[]
    }

    /// All texts given so far that are no keys of this set, if there were any. A line counts once,
    /// however often it is given.
    fn all_not_keys(&self) -> Option<NotKeys> {
        None
    }

    /// What its system hashes of a key, for a set that [`KeySet::takes_keys`] of several types.
    fn key_types(&self) -> Option<KeyTypes> {
        None
    }

    /// Why any key may be in it, whatever its bits are: a sentence. `None` if its bits decide.
    fn holds_any(&self) -> Option<String> {
        None
    }

    /// What is wrong, in words, if another system's filter holds so many keys that its answers are
    /// of no use, or of less than was promised. Reads all bits.
    fn overfilled(&self) -> Option<String> {
        None
    }

    /// A random number as the text of a key, for a set that [`KeySet::takes_keys`].
    fn random_key(&self, number: u64) -> String {
        format!("{number:016x}")
    }

    /// Queries many digests.
    ///
    /// # Errors
    ///
    /// [`Error::Server`].
    fn contains_digests_into(&self, digests: &[Digest], found: &mut Bitmap) -> Result<(), Error>;

    /// Inserts many digests; reports which were new. After an error of a set in memory the digests
    /// before the one for which there was no room are inserted; on a server any may be.
    ///
    /// # Errors
    ///
    /// [`Error::Filter`] of kinds that grow and cannot; [`Error::Server`].
    fn insert_digests_into(&mut self, digests: &[Digest], new: &mut Bitmap) -> Result<(), Error>;

    /// [`KeySet::insert_digests_into`] that leaves alone what is there already, where inserting it
    /// again would count.
    ///
    /// # Errors
    ///
    /// As [`KeySet::insert_digests_into`].
    fn insert_absent_into(&mut self, digests: &[Digest], new: &mut Bitmap) -> Result<(), Error> {
        self.insert_digests_into(digests, new)
    }

    /// Whether inserting what is there already changes something, so that a log needs every key and
    /// not only those that were new.
    fn repeats_change_it(&self, _absent_only: bool) -> bool {
        false
    }

    /// From now on, a repeat does not make its key young again; `false`, and nothing done, for
    /// kinds that do not forget old keys.
    fn stop_refresh(&mut self) -> bool {
        false
    }

    /// Removes many digests and reports which were removed, as [`KeySet::remove_keys_into`] does;
    /// `false`, and nothing done, for kinds that cannot.
    fn remove_digests_into(&mut self, _digests: &[Digest], _removed: &mut Bitmap) -> bool {
        false
    }

    /// Forgets all keys, and nothing else; `false`, and nothing done, for kinds that cannot.
    ///
    /// # Errors
    ///
    /// [`Error::Server`], also where a scheme or its server has no such operation.
    fn clear(&mut self) -> Result<bool, Error> {
        Ok(false)
    }

    /// Why nothing can be inserted, if so.
    fn refuses_insert(&self) -> Option<Refusal> {
        None
    }

    /// Refuses to grow beyond this many bytes, if it grows.
    fn set_max_bytes(&mut self, _max_bytes: u64) {}

    /// Distinct keys after which it is full; `None` if it never is.
    fn capacity(&self) -> Option<u64>;

    /// Distinct keys that it was created for, or starts with.
    fn expected_items(&self) -> u64 {
        self.capacity().unwrap_or(0)
    }

    /// The [`KeySet::items`] at which it is full; those of absent keys, if no others are inserted.
    fn full_at(&self, _absent_only: bool) -> Option<u64> {
        self.capacity()
    }

    /// The [`KeySet::items`] at which four fifths of its keys are in.
    fn warn_at(&self) -> Option<u64> {
        self.capacity().map(near_full)
    }

    /// Insertions that were new; where these are not counted, distinct keys.
    fn items(&self) -> u64;

    /// [`KeySet::items`], and how they are known.
    fn held(&self) -> Held {
        Held::Counted(self.items())
    }

    /// How many distinct keys came, by those that were counted. `None` where they do not say.
    fn distinct_items(&self, _absent_only: bool) -> Option<Estimate> {
        None
    }

    /// [`KeySet::distinct_items`], by the bits too where these say more. Reads all of them.
    fn distinct_items_by_all(&self, absent_only: bool) -> Option<Estimate> {
        self.distinct_items(absent_only)
    }

    /// Keys that were forgotten before their time so far, of a kind that does so rather than answer
    /// wrongly more often.
    fn forgotten_early(&self) -> Option<u64> {
        None
    }

    /// [`KeySet::forgotten_early`] with the keys that it remembers.
    fn forgotten(&self) -> Option<Forgotten> {
        let expected_items = self.expected_items();
        self.forgotten_early().map(|keys| Forgotten { keys, expected_items })
    }

    /// How many keys the bits speak of, of a plain filter. Reads all of them.
    fn estimated_items(&self) -> Option<(Estimate, FilterParams)> {
        None
    }

    /// Bytes of memory.
    fn num_bytes(&self) -> u64;

    /// The rate that was promised.
    fn target_fpp(&self) -> f64;

    /// The rate predicted from the keys that came. Reads no bits.
    fn expected_fpp(&self) -> f64;

    /// The rate by the bits, where the kind has one. Reads all of them.
    fn estimated_fpp(&self) -> f64 {
        self.state().estimated_fpp
    }

    /// Keys of a step in which the rate changes little.
    fn rate_step(&self) -> u64 {
        (self.expected_items() / RATE_STEPS).max(MIN_RATE_STEP)
    }

    /// The numbers of its state. Reads all bits.
    fn state(&self) -> State;

    /// Its numbers as its own system has them. Reads all bits.
    fn numbers(&self) -> Numbers {
        Numbers::Own(self.state())
    }

    /// Derives the count of keys from the bits, so that it does not depend on their order; does
    /// nothing for kinds other than plain filters. Reads all bits.
    fn settle_items(&mut self) {}

    /// What users have to be warned of since the last call, in sentences: what insertions did that
    /// is the way of its system alone.
    fn warnings(&mut self) -> Vec<String> {
        Vec::new()
    }

    /// What only its kind has.
    fn details(&self) -> Vec<Detail> {
        Vec::new()
    }

    /// The time that a log needs with so many of the digests inserted last: the last one given to a
    /// window of time; how many keys had come to a window of keys; 0 for all others.
    fn log_time(&self, _digests: usize) -> u64 {
        0
    }

    /// Whether keys that are not inserted move it on, so that a log needs the time even where it
    /// has no digest for it: a window of keys in which repeats renew nothing.
    fn moves_with_repeats(&self) -> bool {
        false
    }

    /// How keys are cut, with what the kind itself says in its file.
    fn key_options(&self, options: KeyOptions) -> KeyOptions {
        options
    }

    /// As a set that knows how long ago its keys came; `None` for those that do not.
    fn ages(&self) -> Option<&dyn Ages> {
        None
    }

    /// As the contents of a file; `None` where it cannot be saved as one.
    fn contents(&mut self) -> Option<&mut dyn Contents> {
        None
    }

    /// As a file without a log, which is saved as a whole; `None` for all that have
    /// [`KeySet::contents`] or are no file.
    fn whole_file(&mut self) -> Option<&mut dyn WholeFile> {
        None
    }

    /// Whether what was read of it until now is what its file had when it was opened. To be called
    /// before anything of it is used: others may change a mapped file.
    ///
    /// # Errors
    ///
    /// [`Error::Store`] with what happened to the file.
    fn check_unchanged(&self) -> Result<(), Error> {
        Ok(())
    }

    /// As a filter that is read where it lies, whose bits a matrix can take over.
    fn as_mapped(&self) -> Option<&MappedFilter> {
        None
    }

    /// As a plain filter in memory, which can be queried one key at a time.
    fn as_plain(&mut self) -> Option<&mut AnyFilter> {
        None
    }

    /// Whether others insert into it meanwhile and what is inserted is recorded at once: a filter
    /// on a server.
    fn is_shared(&self) -> bool {
        false
    }

    /// Whether each batch waits for a round trip of more than a millisecond.
    fn is_far(&self) -> bool {
        false
    }

    /// Counts the bits of a set that others share.
    ///
    /// # Errors
    ///
    /// [`Error::Server`].
    fn refresh(&mut self) -> Result<(), Error> {
        Ok(())
    }

    /// Keys that were sent to a server again after a reply was lost: they are in it and count as
    /// new, but some may have been there before.
    fn unsure_keys(&self) -> u64 {
        0
    }

    /// Keys that were inserted into a filter on a server that another client has replaced since,
    /// as far as [`KeySet::refresh`] or an insertion has noticed: they are in the one that stands
    /// there now only if it was made with them. The keys of one call are never among them.
    fn replaced_keys(&self) -> u64 {
        0
    }
}

fn digests_of(function: DigestFunction, keys: Keys<'_>) -> Vec<Digest> {
    let mut digests = vec![Digest::default(); keys.texts.len()];
    function.digest_batch(keys.texts, &mut digests);
    digests
}

/// A set that knows how long ago each of its keys came last.
pub trait Ages {
    /// Appends the age of each digest's key; `None` for keys that are surely not in it.
    fn ages_into(&self, digests: &[Digest], ages: &mut Vec<Option<Age>>);

    /// An age as people read it, between its bounds: `150..249` keys, `2.1 h..2.5 h`.
    fn age_text(&self, age: &Age) -> String;
}

/// A set as the contents of a file.
pub trait Contents {
    /// What the header of the file says, with these key options.
    fn header(&mut self, key_options: &str) -> Header;

    /// The body of the file.
    fn segments(&self) -> Vec<&[Block]>;

    /// Takes over the filter of an image that another process has saved since.
    ///
    /// # Errors
    ///
    /// Those of [`Image::load`].
    fn load(&mut self, image: &Image, key: Option<SecretKey>) -> Result<(), mayhap_store::Error>;

    /// Applies a record of the log; returns how many keys were new. Nothing for kinds that never
    /// change.
    ///
    /// # Errors
    ///
    /// Those of the filter.
    fn apply(&mut self, _record: &Record<'_>) -> Result<u64, mayhap::Error> {
        Ok(0)
    }
}

/// A set that is saved as a whole, as another system would.
pub trait WholeFile {
    /// The file.
    fn path(&self) -> &Path;

    /// Reads the file again if others have changed it since it was read or saved; whether they
    /// have.
    ///
    /// # Errors
    ///
    /// [`Error::Foreign`], also if it is of another system by now.
    fn reload(&mut self) -> Result<bool, Error>;

    /// Saves it to its file, whose lock this is.
    ///
    /// # Errors
    ///
    /// [`Error::Foreign`].
    fn save(&mut self, lock: &FilterLock) -> Result<(), Error>;

    /// Saves one that was created in memory to its file, whose lock this is; one that is there is
    /// replaced only if `replace` is set.
    ///
    /// # Errors
    ///
    /// [`Error::Foreign`].
    fn save_new(&mut self, lock: &FilterLock, replace: bool) -> Result<(), Error>;
}

/// A row of a report on a set.
#[derive(Debug, Clone)]
pub struct Detail {
    /// The name in JSON.
    pub key: &'static str,
    /// The name in text.
    pub label: &'static str,
    /// The value in text.
    pub text: String,
    /// The value in JSON.
    pub value: Value,
}

impl Detail {
    /// A row; one without a label is in JSON alone.
    pub fn new(
        key: &'static str,
        label: &'static str,
        text: String,
        value: impl Into<Value>,
    ) -> Self {
        Self { key, label, text, value: value.into() }
    }
}
