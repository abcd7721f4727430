//! The class `Filter`: its fields, and single keys.

use super::OnFull;
use super::shared::{Detached, Shared};
use crate::error::{Error, FilterFullWarning};
use crate::set::{Mapped, Set, now};
use crate::state::StateSet;
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
    /// Whether changes wait for other processes and for the disk.
    is_state: bool,
}

/// Inserts a key of a batch after `before` others. Those are not inserted again, as they are when a
/// call ends with [`Error::Waiting`]: they would no longer be new.
fn insert_after(before: usize, set: &mut dyn Set, digest: Digest) -> Result<bool, Error> {
    loop {
        match set.insert_digest(digest) {
            Err(error) if before > 0 && matches!(*error, Error::Waiting) => {}
            inserted => return Ok(inserted?),
        }
    }
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
        let is_state = set.as_any().is::<StateSet>();
        Self {
            function,
            on_full,
            key_options,
            set: Shared::new(set),
            limit,
            warned: AtomicBool::new(false),
            is_mapped,
            is_state,
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
    ) -> Result<R, Box<Error>> {
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

    /// [`Filter::change`] that may take long: other threads of Python run meanwhile. It is called
    /// again, and signals are handled, while it returns [`Error::Waiting`].
    pub(crate) fn change_patiently<R: Send>(
        &self,
        py: Python<'_>,
        mut change: impl FnMut(&mut dyn Set) -> Result<R, Error> + Send,
    ) -> PyResult<R> {
        let detached = self.set.announce(py);
        loop {
            match py.detach(|| detached.change(&mut change))? {
                Err(Error::Waiting) => py.check_signals()?,
                changed => return Ok(changed?),
            }
        }
    }

    /// [`Filter::change_patiently`] for a part of a batch, with or without the interpreter's lock;
    /// at once where a change waits for nobody.
    pub(super) fn change_in_batch(
        &self,
        detached: &Detached<'_>,
        mut change: impl FnMut(&mut dyn Set) -> Result<(), Error> + Send,
    ) -> Result<(), Error> {
        if self.is_state {
            return Ok(Python::attach(|py| self.change_patiently(py, change))?);
        }
        detached.change(&mut change)?
    }

    /// Whether the key may be in it.
    #[inline(always)]
    pub(crate) fn contains(&self, py: Python<'_>, digest: Digest) -> Result<bool, Box<Error>> {
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
        if self.is_state {
            return self.insert_patiently(py, digest);
        }
        let (new, is_over) = self.change(py, |set| {
            if self.on_full == OnFull::Raise {
                self.check_room(set, digest)?;
            }
            let new = set.insert_digest(digest)?;
            Ok::<_, Box<Error>>((new, new && set.inserted_items() > self.limit))
        })??;
        if is_over {
            self.warn(py)?;
        }
        Ok(new)
    }

    /// [`Filter::insert`] into a state.
    #[cold]
    fn insert_patiently(&self, py: Python<'_>, digest: Digest) -> PyResult<bool> {
        let (new, is_over) = self.change_patiently(py, |set| {
            set.ready()?;
            if self.on_full == OnFull::Raise {
                self.check_room(set, digest)?;
            }
            let new = set.insert_digest(digest)?;
            Ok((new, new && set.inserted_items() > self.limit_of(set)))
        })?;
        if is_over {
            self.warn(py)?;
        }
        Ok(new)
    }

    /// The most "new" answers with which the promise holds. Another process may have put a larger
    /// filter in the place of a state.
    fn limit_of(&self, set: &dyn Set) -> u64 {
        if self.is_state { set.inserted_when_full().unwrap_or(u64::MAX) } else { self.limit }
    }

    /// Inserts a chunk of a batch.
    pub(super) fn insert_chunk(
        &self,
        set: &mut dyn Set,
        digests: &[Digest],
        new: &mut Bitmap,
    ) -> Result<(), Error> {
        set.ready()?;
        let limit = self.limit_of(set);
        let may_overfill = set.inserted_items().saturating_add(digests.len() as u64) > limit;
        if self.on_full != OnFull::Raise || !may_overfill {
            return set.insert_digests_into(digests, new);
        }
        new.clear_to(digests.len());
        for (i, &digest) in digests.iter().enumerate() {
            self.check_room(set, digest)?;
            if insert_after(i, set, digest)? {
                new.set(i);
            }
        }
        Ok(())
    }

    /// Refuses a new key for a filter that is full.
    fn check_room(&self, set: &dyn Set, digest: Digest) -> Result<(), Error> {
        if set.inserted_items() >= self.limit_of(set) && !set.contains_digest(digest) {
            return Err(Error::Full { expected_items: set.stats().expected_items });
        }
        Ok(())
    }

    /// Warns once if more came than there is room for.
    pub(super) fn warn_if_full(&self, py: Python<'_>) -> PyResult<()> {
        let is_over = |set: &dyn Set| set.inserted_items() > self.limit_of(set);
        if self.on_full == OnFull::Warn && self.read(py, is_over) {
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
