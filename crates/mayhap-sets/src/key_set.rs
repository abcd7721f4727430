//! A set of keys as programs know it: one trait for every kind, wherever it is.
//!
//! What a set cannot do is known before it is called ([`KeySet::capabilities`]), so there is no
//! `match` on kinds. What only some sets have is behind an accessor: [`KeySet::own`],
//! [`KeySet::texts`], [`KeySet::contents`], [`KeySet::remote`].

use crate::capabilities::Capabilities;
use crate::error::Error;
use crate::keys::{Keys, NotKeys, TakesTexts};
use crate::measurements::{Detail, Measurements};
use crate::numbers::Numbers;
use crate::own_set::OwnSet;
use crate::room::Held;
use mayhap::set::Repeats;
use mayhap::{Bitmap, DigestFunction};
use mayhap_store::{FilterLock, MappedFilter};
use std::fmt;
use std::path::Path;

/// A set of keys that can be queried and, unless its kind refuses, filled.
///
/// A virtual call is one per batch of 1024 keys, so that the loops inside stay static.
pub trait KeySet: fmt::Debug {
    /// The name of its layout or kind.
    fn name(&self) -> &'static str;

    /// How keys become digests; `None` if keys are hashed where the set is, so that it takes only
    /// [`Keys::Texts`].
    fn digest_function(&self) -> Option<DigestFunction>;

    /// Its capabilities.
    fn capabilities(&self) -> Capabilities;

    /// Queries many keys.
    ///
    /// # Errors
    ///
    /// [`Error::Server`]; [`Error::Refused`] for digests that it does not take.
    fn contains_into(&mut self, keys: Keys<'_>, found: &mut Bitmap) -> Result<(), Error>;

    /// Inserts many keys; reports which were new. After an error of a set in memory the keys before
    /// the one for which there was no room are inserted; on a server any may be. A set that hashes
    /// keys itself makes `new` as long as there were keys dealt with: fewer than were given after
    /// an error, and if it is full before.
    ///
    /// # Errors
    ///
    /// As [`KeySet::contains_into`]; [`Error::Filter`] of kinds that grow and cannot;
    /// [`Error::Foreign`] where another system would refuse.
    fn insert_into(
        &mut self,
        keys: Keys<'_>,
        repeats: Repeats,
        new: &mut Bitmap,
    ) -> Result<(), Error>;

    /// Removes many keys and reports which were removed: those that were there, but for those that
    /// stay, which are still there afterwards.
    ///
    /// # Errors
    ///
    /// [`Error::Server`]; [`Error::Filter`] unless it [`Capabilities::removes`].
    fn remove_into(&mut self, keys: Keys<'_>, removed: &mut Bitmap) -> Result<(), Error> {
        let _ = (keys, removed);
        Err(mayhap::Error::NotOfKind { operation: "remove", kind: self.name() }.into())
    }

    /// Forgets all keys, and nothing else.
    ///
    /// # Errors
    ///
    /// [`Error::Server`], also where a scheme or its server has no such operation;
    /// [`Error::Filter`] unless it [`Capabilities::clears`].
    fn clear(&mut self) -> Result<(), Error> {
        Err(mayhap::Error::NotOfKind { operation: "clear", kind: self.name() }.into())
    }

    /// Insertions that were new; where these are not counted, distinct keys.
    fn items(&self) -> u64;

    /// [`KeySet::items`], and how they are known.
    fn held(&self) -> Held {
        Held::Counted(self.items())
    }

    /// Its numbers if keys are inserted in this way; see [`Numbers`] for what they cost.
    fn numbers(&self, repeats: Repeats) -> Numbers;

    /// Its measurements. Reads all bits.
    fn measurements(&self) -> Measurements;

    /// Details that only its kind has.
    fn details(&self) -> Vec<Detail> {
        Vec::new()
    }

    /// Warnings for its users since the last call, in sentences: effects of insertions that only
    /// its system has, and jumps of the clock.
    fn warnings(&mut self) -> Vec<String> {
        Vec::new()
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

    /// As a filter of mayhap's own kinds in memory.
    fn own(&self) -> Option<&OwnSet> {
        None
    }

    /// As a filter that is read where it lies, whose bits a matrix can take over.
    fn mapped(&self) -> Option<&MappedFilter> {
        None
    }

    /// Its treatment of texts, if its system may hash keys by itself.
    fn texts(&self) -> Option<&dyn TakesTexts> {
        None
    }

    /// As the contents of a file; `None` where it cannot be saved as one.
    fn contents(&mut self) -> Option<Contents<'_>> {
        None
    }

    /// Facts about a filter on a server.
    fn remote(&self) -> Option<Remote> {
        None
    }

    /// Counts the bits of a filter on a server.
    ///
    /// # Errors
    ///
    /// [`Error::Server`].
    fn refresh(&mut self) -> Result<(), Error> {
        Ok(())
    }
}

impl dyn KeySet + '_ {
    /// As [`KeySet::own`], to be changed.
    pub fn own_mut(&mut self) -> Option<&mut OwnSet> {
        match self.contents() {
            Some(Contents::Own(own)) => Some(own),
            _ => None,
        }
    }

    /// The positions, in the keys given last, of texts that are no keys of this set; sorted.
    pub fn not_keys(&self) -> &[usize] {
        self.texts().map_or(&[], TakesTexts::not_keys)
    }

    /// All texts given so far that are no keys of this set, if there were any.
    pub fn all_not_keys(&self) -> Option<NotKeys> {
        self.texts()?.all_not_keys()
    }
}

/// The contents of the file of a set.
#[derive(Debug)]
pub enum Contents<'a> {
    /// A filter of mayhap's own, beside which there may be a log.
    Own(&'a mut OwnSet),
    /// One of another system, which is saved as a whole.
    Whole(&'a mut dyn WholeFile),
}

/// A set that is saved as a whole, as another system would.
pub trait WholeFile: fmt::Debug {
    /// The file.
    fn path(&self) -> &Path;

    /// Reads the file again if others have changed it since it was read or saved; whether they
    /// have.
    ///
    /// # Errors
    ///
    /// [`Error::Foreign`], also if it is of another system by now.
    fn reload(&mut self) -> Result<bool, Error>;

    /// Saves it to its file, whose lock this is; one that is there is replaced only if `replace` is
    /// set.
    ///
    /// # Errors
    ///
    /// [`Error::Foreign`].
    fn save(&mut self, lock: &FilterLock, replace: bool) -> Result<(), Error>;
}

/// The state of a filter on a server, into which others insert meanwhile: an insertion is recorded
/// at once.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Remote {
    /// Whether each batch waits for a round trip of more than a millisecond.
    pub is_far: bool,
    /// Keys that were sent again after a reply was lost: they are in it and count as new, but some
    /// may have been there before.
    pub unsure_keys: u64,
    /// Keys that were inserted into a filter that another client has replaced since, as far as
    /// [`KeySet::refresh`] or an insertion has noticed: they are in the one that stands there now
    /// only if it was made with them. The keys of one call are never among them.
    pub replaced_keys: u64,
}
