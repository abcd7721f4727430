//! What the class `Filter` needs of a kind of filter; a file per kind.

mod bloom;
mod counting;
mod fuse;
mod mapped;
mod scalable;
mod window;

use crate::error::Error;
use crate::state::Kept;
use mayhap::native::{self, Native};
use mayhap::{Bitmap, Digest, Health, OwnedBlocks};
use std::any::Any;
use std::path::Path;

pub(crate) use mapped::Mapped;
pub(crate) use window::now;

/// What a filter says of itself.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Stats {
    /// The kind, as in file headers.
    pub kind: &'static str,
    /// The layout, for kinds that have several.
    pub layout: Option<&'static str>,
    /// n: the distinct keys that it was created for.
    pub expected_items: u64,
    /// p: the rate that was promised.
    pub target_fpp: f64,
    /// m.
    pub num_bits: u64,
    /// k.
    pub num_hashes: u32,
    /// Its memory.
    pub num_bytes: u64,
    /// Insertions that were answered "new".
    pub inserted_items: u64,
}

/// A filter of some kind: queried and filled by digests.
///
/// The second half is the same for all kinds of the native format: see [`Saved`].
pub(crate) trait Set: Saved + Send + Sync {
    /// Whether the key may be in it.
    fn contains_digest(&self, digest: Digest) -> bool;

    /// [`Set::contains_digest`] for many: bit `i` of `found` answers for `digests[i]`.
    fn contains_digests_into(&self, digests: &[Digest], found: &mut Bitmap);

    /// Inserts a key; whether it was new.
    fn insert_digest(&mut self, digest: Digest) -> Result<bool, Box<Error>>;

    /// [`Set::insert_digest`] for many: bit `i` of `new` answers for `digests[i]`.
    fn insert_digests_into(&mut self, digests: &[Digest], new: &mut Bitmap) -> Result<(), Error>;

    /// [`Set::insert_digests_into`], or [`Error::Full`] without any change if more would be new
    /// than the promise holds for.
    fn insert_all_or_none(&mut self, digests: &[Digest], new: &mut Bitmap) -> Result<(), Error> {
        check_room(self, digests)?;
        self.insert_digests_into(digests, new)
    }

    /// Insertions that were answered "new".
    fn inserted_items(&self) -> u64;

    /// The most of them with which the promise holds; `None` if there is no such number.
    fn inserted_when_full(&self) -> Option<u64>;

    /// Its numbers.
    fn stats(&self) -> Stats;

    /// The share of its bits that are set. Reads all of them.
    fn fill_ratio(&self) -> f64;

    /// The rate by the bits as they are. Reads all of them.
    fn estimated_fpp(&self) -> f64;

    /// The rate predicted from the number of keys that came.
    fn expected_fpp(&self) -> f64;

    /// An estimate of the distinct keys that came.
    fn distinct_items(&self) -> f64;

    /// Whether it keeps its promise still. Reads all of its bits.
    fn health(&self) -> Health;

    /// Takes over the keys of a filter of the same kind and shape.
    fn union_with(&mut self, other: &dyn Set) -> Result<(), Error>;

    /// Forgets all keys.
    fn clear(&mut self) -> Result<(), Error>;

    /// Takes the lock of a state, and what others have changed; nothing for all others.
    fn ready(&mut self) -> Result<(), Error> {
        Ok(())
    }

    /// As the filter of a state, for kinds that can be one.
    fn into_kept(self: Box<Self>) -> Result<Box<dyn Kept>, Error> {
        Err(Error::NotOfKind { operation: "state", kind: self.stats().kind })
    }

    /// Whether what was answered until now was read of a sound file; `tick` is any number that
    /// changes with time. Other filters than mapped ones are always sound.
    fn check(&self, _tick: Option<u64>) -> Result<(), Box<Error>> {
        Ok(())
    }
}

/// What all kinds of the native format have in common.
pub(crate) trait Saved {
    /// The filter as a file of the native format.
    fn encode(&self, key_options: &str) -> Result<Vec<u8>, Error>;

    /// Saves it at `path`, at once and as a whole.
    fn save(&self, path: &Path, key_options: &str, replace: bool) -> Result<(), Error>;

    /// A copy of it.
    fn copy(&self) -> Result<Box<dyn Set>, Error>;

    /// Whether `other` answers as this one to every key: its numbers and bits are the same.
    ///
    /// # Errors
    ///
    /// That the file of a mapped filter has changed.
    fn same(&self, other: &dyn Set) -> Result<bool, Error>;

    /// The bits, if they are one piece of memory.
    fn bits(&self) -> Option<&[u8]>;

    /// For operations of one kind.
    fn as_any(&self) -> &dyn Any;

    /// As [`Saved::as_any`].
    fn as_any_mut(&mut self) -> &mut dyn Any;
}

impl<F: Native + Set + 'static> Saved for F {
    fn encode(&self, key_options: &str) -> Result<Vec<u8>, Error> {
        Ok(native::encode(self, key_options))
    }

    fn save(&self, path: &Path, key_options: &str, replace: bool) -> Result<(), Error> {
        if replace {
            mayhap_store::save(path, self, key_options)?;
        } else {
            mayhap_store::save_new(path, self, key_options)?;
        }
        Ok(())
    }

    fn copy(&self) -> Result<Box<dyn Set>, Error> {
        let segments = self.segments().into_iter().map(OwnedBlocks::copy_of);
        let segments = segments.collect::<Result<_, _>>()?;
        Ok(Box::new(F::from_segments(&self.fields(), *self.digest_function(), segments)?))
    }

    fn same(&self, other: &dyn Set) -> Result<bool, Error> {
        let Some(other) = other.as_any().downcast_ref::<F>() else { return Ok(false) };
        let shape = |filter: &F| {
            let mut fields = filter.fields();
            // A key that came first or last may be the one that was swallowed.
            fields.inserted_items = 0;
            fields
        };
        Ok(shape(self) == shape(other)
            && self.digest_function() == other.digest_function()
            && self.segments() == other.segments())
    }

    fn bits(&self) -> Option<&[u8]> {
        match self.segments()[..] {
            [blocks] => Some(bytemuck::cast_slice(blocks)),
            _ => None,
        }
    }

    fn as_any(&self) -> &dyn Any {
        self
    }

    fn as_any_mut(&mut self) -> &mut dyn Any {
        self
    }
}

/// The filter inside `other`, if it is of kind `F`.
fn same_kind<'a, F: Set + 'static>(left: &F, other: &'a dyn Set) -> Result<&'a F, Error> {
    let (left, right) = (left.stats().kind, other.stats().kind);
    other.as_any().downcast_ref().ok_or(Error::UnlikeKinds { left, right })
}

/// Refuses keys of which more would be new than there is room for.
///
/// # Errors
///
/// [`Error::Full`]; those of a copy.
pub(crate) fn check_room<S: Set + ?Sized>(set: &S, digests: &[Digest]) -> Result<(), Error> {
    let full = set.inserted_when_full().unwrap_or(u64::MAX);
    let room = full.saturating_sub(set.inserted_items());
    if digests.len() as u64 <= room {
        return Ok(());
    }
    let mut absent: Vec<_> =
        digests.iter().filter(|&&digest| !set.contains_digest(digest)).map(|it| it.get()).collect();
    absent.sort_unstable();
    absent.dedup();
    if absent.len() as u64 <= room {
        return Ok(());
    }
    // A few of them may be false positives of the others, and not count: only trying shows it.
    let mut tried = set.copy()?;
    tried.insert_digests_into(digests, &mut Bitmap::new())?;
    check_not_over(&*tried)
}

/// [`Error::Full`] if more keys were new than the promise holds for.
///
/// # Errors
///
/// As it says.
pub(crate) fn check_not_over(set: &dyn Set) -> Result<(), Error> {
    match set.inserted_when_full() {
        Some(full) if set.inserted_items() > full => {
            Err(Error::Full { expected_items: set.stats().expected_items })
        }
        _ => Ok(()),
    }
}
