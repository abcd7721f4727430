//! The class `Filter`: its fields, and single keys.

use super::OnFull;
use super::shared::Shared;
use crate::error::{Error, FilterFullWarning};
use crate::set::{Mapped, Set, now};
use mayhap::{Bitmap, Digest, DigestFunction};
use pyo3::prelude::*;
use std::sync::atomic::{AtomicBool, Ordering};

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
    pub(super) set: Shared,
    /// The most "new" answers with which the promise holds; `u64::MAX` if there is no limit.
    limit: u64,
    warned: AtomicBool,
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
            set: Shared::new(set),
            limit,
            warned: AtomicBool::new(false),
            is_mapped,
        }
    }

    /// Calls `read` with the filter; it must not call the interpreter.
    #[inline(always)]
    pub(crate) fn read<R>(&self, py: Python<'_>, read: impl FnOnce(&dyn Set) -> R) -> R {
        self.set.read(py, read)
    }

    /// Calls `change` with the filter; it must not call the interpreter.
    ///
    /// # Errors
    ///
    /// [`Error::Exported`] while there are views of the bits.
    #[inline(always)]
    pub(crate) fn change<R>(
        &self,
        py: Python<'_>,
        change: impl FnOnce(&mut dyn Set) -> R,
    ) -> Result<R, Error> {
        self.set.change(py, change)
    }

    /// [`Filter::read`] for what takes long: other threads of Python run meanwhile.
    pub(super) fn read_long<R: Send>(
        &self,
        py: Python<'_>,
        read: impl FnOnce(&dyn Set) -> R + Send,
    ) -> R {
        let detached = self.set.announce(py);
        py.detach(|| detached.read(read))
    }

    /// Whether the key may be in it.
    #[inline(always)]
    pub(crate) fn contains(&self, py: Python<'_>, digest: Digest) -> Result<bool, Error> {
        self.read(py, |set| {
            let found = set.contains_digest(digest);
            if self.is_mapped {
                set.check(Some(now()))?;
            }
            Ok(found)
        })
    }

    /// Inserts one key; whether it was new.
    #[inline(always)]
    pub(crate) fn insert(&self, py: Python<'_>, digest: Digest) -> PyResult<bool> {
        let (new, is_over) = self.change(py, |set| {
            if self.on_full == OnFull::Raise {
                self.check_room(set, digest)?;
            }
            let new = set.insert_digest(digest)?;
            Ok::<_, Error>((new, new && set.inserted_items() > self.limit))
        })??;
        if is_over {
            self.warn(py)?;
        }
        Ok(new)
    }

    /// Inserts a chunk of a batch.
    pub(super) fn insert_chunk(
        &self,
        set: &mut dyn Set,
        digests: &[Digest],
        new: &mut Bitmap,
    ) -> Result<(), Error> {
        let may_overfill = set.inserted_items().saturating_add(digests.len() as u64) > self.limit;
        if self.on_full != OnFull::Raise || !may_overfill {
            return set.insert_digests_into(digests, new);
        }
        new.clear_to(digests.len());
        for (i, &digest) in digests.iter().enumerate() {
            self.check_room(set, digest)?;
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
        if self.on_full == OnFull::Warn && self.read(py, |set| set.inserted_items()) > self.limit {
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
        let stats = self.read(py, |set| set.stats());
        let text = format!(
            "the filter has more keys than the {} that it was created for, and its rate is above \
             target_fpp = {}; create a larger one, or use on_full=\"grow\"",
            stats.expected_items, stats.target_fpp
        );
        let text = std::ffi::CString::new(text).unwrap_or_default();
        PyErr::warn(py, &py.get_type::<FilterFullWarning>(), &text, 1)
    }
}
