//! Who reads and who changes the filter inside.
//!
//! A lock of readers and writers, and not the interpreter's alone, stands before the filter:
//! batches run without the interpreter's lock. Whoever holds this lock never waits for the
//! interpreter's, so neither order of the two can block for ever.

use super::OnFull;
use crate::error::{Error, FilterFullWarning};
use crate::set::{Mapped, Set, now};
use mayhap::{Bitmap, Digest, DigestFunction};
use pyo3::prelude::*;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard, TryLockError};

/// A filter of any kind of the native format.
///
/// The base class of `Bloom`, `Scalable`, `Counting`, `Window` and `Fuse`; it has no constructor of
/// its own.
#[pyclass(frozen, subclass, weakref, module = "mayhap_bloom")]
pub(crate) struct Filter {
    /// How keys become digests, read without the lock.
    pub function: DigestFunction,
    /// What becomes of keys beyond capacity.
    pub on_full: OnFull,
    /// How keys were cut out of lines, as the command keeps it in files.
    pub key_options: String,
    set: RwLock<Box<dyn Set>>,
    /// The most "new" answers with which the promise holds; `u64::MAX` if there is no limit.
    limit: u64,
    warned: AtomicBool,
    /// Views of the bits, which nobody changes while there are any.
    views: AtomicUsize,
    /// Whether answers have to be checked after they were read.
    is_mapped: bool,
}

impl Filter {
    /// A filter around `set`.
    pub(crate) fn new(
        set: Box<dyn Set>,
        function: DigestFunction,
        on_full: OnFull,
        key_options: String,
    ) -> Self {
        let limit = set.inserted_when_full().unwrap_or(u64::MAX);
        let is_mapped = set.as_any().is::<Mapped>();
        Self {
            function,
            on_full,
            key_options,
            set: RwLock::new(set),
            limit,
            warned: AtomicBool::new(false),
            views: AtomicUsize::new(0),
            is_mapped,
        }
    }

    /// The filter, to be read.
    #[inline]
    pub(crate) fn read(&self, py: Python<'_>) -> RwLockReadGuard<'_, Box<dyn Set>> {
        loop {
            match self.set.try_read() {
                Ok(guard) => return guard,
                Err(TryLockError::Poisoned(poisoned)) => return poisoned.into_inner(),
                Err(TryLockError::WouldBlock) => py.detach(|| drop(self.read_detached())),
            }
        }
    }

    /// The filter, to be read by a thread without the interpreter's lock.
    pub(crate) fn read_detached(&self) -> RwLockReadGuard<'_, Box<dyn Set>> {
        // A panic of another thread left whole blocks: bits are only set.
        self.set.read().unwrap_or_else(PoisonError::into_inner)
    }

    /// The filter, to be changed.
    #[inline]
    pub(crate) fn write(
        &self,
        py: Python<'_>,
    ) -> Result<RwLockWriteGuard<'_, Box<dyn Set>>, Error> {
        loop {
            match self.set.try_write() {
                Ok(guard) => return self.unless_viewed(guard),
                Err(TryLockError::Poisoned(poisoned)) => {
                    return self.unless_viewed(poisoned.into_inner());
                }
                Err(TryLockError::WouldBlock) => py.detach(|| drop(self.read_detached())),
            }
        }
    }

    /// The filter, to be changed by a thread without the interpreter's lock.
    pub(crate) fn write_detached(&self) -> Result<RwLockWriteGuard<'_, Box<dyn Set>>, Error> {
        self.unless_viewed(self.set.write().unwrap_or_else(PoisonError::into_inner))
    }

    #[inline]
    fn unless_viewed<T>(&self, guard: T) -> Result<T, Error> {
        // ORDERING: Relaxed. The number goes up under the lock for reading only, so whoever holds
        // the lock for writing sees every view there is.
        match self.views.load(Ordering::Relaxed) {
            0 => Ok(guard),
            views => Err(Error::Exported { views }),
        }
    }

    /// Notes a view of the bits; the lock is held for reading.
    pub(super) fn begin_view(&self, _held: &RwLockReadGuard<'_, Box<dyn Set>>) {
        // ORDERING: Relaxed; see `unless_viewed`.
        self.views.fetch_add(1, Ordering::Relaxed);
    }

    /// Notes that a view is gone.
    pub(super) fn end_view(&self) {
        // ORDERING: Release. Reads of the view are over before a writer sees that it is gone: a
        // writer that loads the lower number takes the lock, whose Acquire orders what follows.
        self.views.fetch_sub(1, Ordering::Release);
    }

    /// Whether the key may be in it.
    #[inline(always)]
    pub(crate) fn contains(&self, py: Python<'_>, digest: Digest) -> Result<bool, Error> {
        let set = self.read(py);
        let found = set.contains_digest(digest);
        if self.is_mapped {
            set.check(Some(now()))?;
        }
        Ok(found)
    }

    /// Inserts one key; whether it was new.
    #[inline(always)]
    pub(crate) fn insert(&self, py: Python<'_>, digest: Digest) -> PyResult<bool> {
        let mut set = self.write(py)?;
        if self.on_full == OnFull::Raise {
            self.check_room(&**set, digest)?;
        }
        let new = set.insert_digest(digest)?;
        if new && set.inserted_items() > self.limit {
            drop(set);
            self.warn(py)?;
        }
        Ok(new)
    }

    /// Inserts a chunk of a batch, by a thread that may hold the interpreter's lock or not.
    pub(super) fn insert_chunk(&self, digests: &[Digest], new: &mut Bitmap) -> Result<(), Error> {
        let mut set = self.write_detached()?;
        let may_overfill = set.inserted_items().saturating_add(digests.len() as u64) > self.limit;
        if self.on_full != OnFull::Raise || !may_overfill {
            return set.insert_digests_into(digests, new);
        }
        new.clear_to(digests.len());
        for (i, &digest) in digests.iter().enumerate() {
            self.check_room(&**set, digest)?;
            if set.insert_digest(digest)? {
                new.set(i);
            }
        }
        Ok(())
    }

    /// Refuses a new key for a filter that is full.
    fn check_room(&self, set: &dyn Set, digest: Digest) -> Result<(), Error> {
        if set.inserted_items() >= self.limit && !set.contains_digest(digest) {
            return Err(Error::Full { expected_items: set.stats().expected_items });
        }
        Ok(())
    }

    /// Warns once if more came than there is room for.
    pub(super) fn warn_if_full(&self, py: Python<'_>) -> PyResult<()> {
        if self.on_full == OnFull::Warn && self.read(py).inserted_items() > self.limit {
            self.warn(py)?;
        }
        Ok(())
    }

    #[cold]
    fn warn(&self, py: Python<'_>) -> PyResult<()> {
        // ORDERING: Relaxed. It guards nothing but the number of warnings.
        if self.on_full != OnFull::Warn || self.warned.swap(true, Ordering::Relaxed) {
            return Ok(());
        }
        let stats = self.read(py).stats();
        let text = format!(
            "the filter has more keys than the {} that it was created for, and its rate is above \
             target_fpp = {}; create a larger one, or use on_full=\"grow\"",
            stats.expected_items, stats.target_fpp
        );
        let text = std::ffi::CString::new(text).unwrap_or_default();
        PyErr::warn(py, &py.get_type::<FilterFullWarning>(), &text, 1)
    }
}
