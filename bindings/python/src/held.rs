//! The contents of an object of the class `Filter`: a filter of any kind in memory, one in a mapped
//! file, or one that is kept in a file while it changes.

use crate::error::Error;
use crate::full::{check_room, limit_of};
use crate::state::StateSet;
use mayhap::native::{self, Fields, Kind};
use mayhap::set::{ByBits, Numbers, Repeats, Set};
use mayhap::{AnyFilter, Bitmap, Digest, DigestFunction, OwnedBlocks, Window, WindowBloomFilter};
use mayhap_store::MappedFilter;
use std::path::Path;
use std::time::{SystemTime, UNIX_EPOCH};

/// The filter of an object.
pub(crate) enum Held {
    /// In memory.
    Memory(Box<dyn Set>),
    /// Queried in place, in a mapped file. Pages are checked before they are first read.
    Mapped(Box<MappedFilter>),
    /// Kept in a file, in turns with other processes.
    State(StateSet),
}

fn read_only() -> Error {
    Error::ReadOnly { reason: "a mapped filter cannot be changed; open it without mmap=True" }
}

/// The time of a window: milliseconds since 1970, as the command's, and 0 before.
pub(crate) fn now() -> u64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    u64::try_from(since.as_millis()).unwrap_or(u64::MAX)
}

/// Whether a filter is a time window.
pub(crate) fn is_of_time(set: &dyn Set) -> bool {
    let window = set.as_any().downcast_ref::<WindowBloomFilter>();
    window.is_some_and(|window| matches!(window.window(), Window::Time { .. }))
}

impl Held {
    /// Calls `of_set`, or `of_mapped` for a mapped filter.
    #[inline(always)]
    pub(crate) fn read<R>(
        &self,
        of_set: impl FnOnce(&dyn Set) -> R,
        of_mapped: impl FnOnce(&MappedFilter) -> R,
    ) -> R {
        match self {
            Self::Memory(set) => of_set(&**set),
            Self::Mapped(mapped) => of_mapped(mapped),
            Self::State(state) => state.read(of_set),
        }
    }

    /// Calls `read` with the filter, in memory if it is mapped.
    pub(crate) fn whole<R>(&self, read: impl FnOnce(&dyn Set) -> R) -> Result<R, Error> {
        match self {
            Self::Memory(set) => Ok(read(&**set)),
            Self::Mapped(mapped) => Ok(read(&in_memory(mapped)?)),
            Self::State(state) => Ok(state.read(read)),
        }
    }

    /// Makes a change that is not an insertion; a state is saved with it.
    pub(crate) fn change<R>(
        &mut self,
        change: impl FnOnce(&mut dyn Set) -> Result<R, Error>,
    ) -> Result<R, Error> {
        match self {
            Self::Memory(set) => change(&mut **set),
            Self::Mapped(_) => Err(read_only()),
            Self::State(state) => state.change(|turn| turn.replace(change)),
        }
    }

    /// The most insertions with which the promise holds.
    pub(crate) fn limit(&self) -> u64 {
        self.read(limit_of, |mapped| mapped.params().inserted_when_full())
    }

    pub(crate) fn kind(&self) -> Kind {
        self.read(|set| set.kind(), |_| Kind::Bloom)
    }

    pub(crate) fn digest_function(&self) -> DigestFunction {
        self.read(|set| *set.digest_function(), |mapped| *mapped.digest_function())
    }

    /// The fields of its header, at the cost of reading them: [`Held::numbers`] also solves for
    /// rates and sizes, which can take milliseconds.
    pub(crate) fn fields(&self) -> Fields {
        self.read(|set| set.fields(), |mapped| mapped.header().fields().clone())
    }

    pub(crate) fn numbers(&self) -> Numbers {
        let of_mapped = |it: &MappedFilter| Numbers::of_params(it.params(), it.inserted_items());
        self.read(|set| set.numbers(), of_mapped)
    }

    pub(crate) fn by_bits(&self) -> ByBits {
        self.read(|set| set.by_bits(), |mapped| ByBits::of_filter(mapped.whole()))
    }

    #[inline(always)]
    pub(crate) fn inserted_items(&self) -> u64 {
        self.read(|set| set.inserted_items(), MappedFilter::inserted_items)
    }

    /// Whether the key may be in it, at this time of a time window.
    #[inline(always)]
    pub(crate) fn contains(&self, digest: Digest, now: u64) -> bool {
        let of_mapped = |mapped: &MappedFilter| mapped.contains_digest(digest);
        self.read(|set| set.contains_digest(digest, now), of_mapped)
    }

    /// Like [`Held::contains`], for many: bit `i` of `found` answers for `digests[i]`.
    pub(crate) fn contains_into(&self, digests: &[Digest], now: u64, found: &mut Bitmap) {
        match self {
            Self::Memory(set) => set.contains_into(digests, now, found),
            Self::Mapped(mapped) => mapped.contains_digests_into(digests, found),
            Self::State(state) => state.read(|set| set.contains_into(digests, now, found)),
        }
    }

    /// Inserts a key, at this time of a time window; whether it was new.
    #[inline(always)]
    pub(crate) fn insert(&mut self, digest: Digest, now: u64) -> Result<bool, Box<Error>> {
        if let Self::Memory(set) = self {
            if now > 0 {
                set.advance(now);
            }
            return Ok(set.insert_digest(digest, Repeats::Renew).map_err(Error::from)?);
        }
        let mut new = Bitmap::new();
        self.insert_into(&[digest], now, &mut new)?;
        Ok(new.get(0))
    }

    /// Like [`Held::insert`], for many: bit `i` of `new` answers for `digests[i]`.
    pub(crate) fn insert_into(
        &mut self,
        digests: &[Digest],
        now: u64,
        new: &mut Bitmap,
    ) -> Result<(), Error> {
        match self {
            Self::Memory(set) => {
                set.advance(now);
                Ok(set.insert_into(digests, Repeats::Renew, new)?)
            }
            Self::Mapped(_) => Err(read_only()),
            Self::State(state) => state.change(|turn| turn.insert(digests, new)),
        }
    }

    /// [`Held::insert_into`], or [`Error::Full`] without any change if more would be new than
    /// there is room for: `limit` in all, but for a state its own limit.
    pub(crate) fn insert_all_or_none(
        &mut self,
        digests: &[Digest],
        now: u64,
        limit: u64,
        new: &mut Bitmap,
    ) -> Result<(), Error> {
        match self {
            Self::Memory(set) => check_room(&**set, limit, digests)?,
            Self::Mapped(_) => {}
            Self::State(state) => {
                // In one turn: another process may insert between two.
                return state.change(|turn| {
                    check_room(&*turn.kept.set, turn.kept.limit, digests)?;
                    turn.insert(digests, new)
                });
            }
        }
        self.insert_into(digests, now, new)
    }

    /// Takes the lock of a state and loads the changes of other processes; does nothing for other
    /// filters.
    pub(crate) fn ready(&self) -> Result<(), Error> {
        let Self::State(state) = self else { return Ok(()) };
        state.change(|_| Ok(()))
    }

    /// Checks that all answers until now were read from an intact file; `tick` is any number that
    /// changes with time. Only mapped filters can fail this check.
    pub(crate) fn check(&self, tick: Option<u64>) -> Result<(), Box<Error>> {
        match (self, tick) {
            (Self::Mapped(mapped), Some(tick)) if mapped.changed_at(tick).is_none() => Ok(()),
            (Self::Mapped(mapped), _) => Ok(mapped.check().map_err(Error::from)?),
            _ => Ok(()),
        }
    }

    /// The filter as a file of the native format.
    pub(crate) fn encode(&self, key_options: &str) -> Result<Vec<u8>, Error> {
        self.whole(|set| mayhap::set::encode(set, key_options))
    }

    /// The filter in as few bytes as there are forms for: a short file, or the packed form.
    pub(crate) fn pack(&self, key_options: &str) -> Result<Vec<u8>, Error> {
        self.whole(|set| {
            let file = mayhap::set::encode(set, key_options);
            let packed = native::pack(&file).unwrap_or(file);
            match set.header(key_options).encode_short(&set.segments()) {
                Ok(short) if short.len() <= packed.len() => short,
                _ => packed,
            }
        })
    }

    /// Saves it at `path`, at once and as a whole.
    pub(crate) fn save(&self, path: &Path, options: &str, replace: bool) -> Result<(), Error> {
        Ok(self.whole(|set| mayhap_store::save_set(path, set, options, replace))??)
    }

    /// Like [`Held::save`], as a short file.
    pub(crate) fn save_short(&self, path: &Path, options: &str, rep: bool) -> Result<(), Error> {
        Ok(self.whole(|set| {
            // A filter that does not fit is no defect of a file.
            set.header(options).encode_short(&set.segments())?;
            Ok::<_, Error>(mayhap_store::save_short(path, set, options, rep)?)
        })??)
    }

    /// A copy in memory.
    pub(crate) fn copy(&self) -> Result<Box<dyn Set>, Error> {
        match self {
            Self::Mapped(mapped) => Ok(Box::new(in_memory(mapped)?)),
            held => Ok(held.whole(|set| set.copy())??),
        }
    }

    /// The bits, if they are one piece of memory that nobody else changes: a view of a file could
    /// not be checked after each use.
    pub(crate) fn bits(&self) -> Option<&[u8]> {
        let Self::Memory(set) = self else { return None };
        let [blocks] = set.segments()[..] else { return None };
        Some(bytemuck::cast_slice(blocks))
    }
}

/// A copy of a mapped filter.
fn in_memory(mapped: &MappedFilter) -> Result<AnyFilter, Error> {
    let filter = mapped.whole();
    // Before it is copied: a damaged page needs no copy.
    mapped.check()?;
    let blocks = OwnedBlocks::copy_of(filter.blocks())?;
    let (params, function) = (*filter.params(), *filter.digest_function());
    let copy = AnyFilter::from_parts(params, function, blocks, filter.inserted_items())?;
    mapped.check()?;
    Ok(copy)
}

/// Adds the keys of `other`, a filter of the same kind and shape.
///
/// # Errors
///
/// The errors of [`Set::union_with`].
pub(crate) fn unite(set: &mut dyn Set, other: &dyn Set) -> Result<(), Error> {
    let (left, right) = (set.kind(), other.kind());
    if left != right && set.capabilities().unites {
        return Err(Error::UnlikeKinds { left: left.name(), right: right.name() });
    }
    Ok(set.union_with(other)?)
}
