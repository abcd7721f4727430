//! The class `Filter`: its fields, and single keys.

use super::OnFull;
use super::shared::{Detached, Shared};
use crate::cut::Form;
use crate::error::{Error, FilterFullWarning};
use crate::key;
use crate::log::pass_on_notices;
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
    /// Their form of texts, if they have one.
    pub(super) form: Option<Box<Form>>,
    pub(super) set: Shared,
    /// The most "new" answers with which the promise holds; `u64::MAX` if there is no limit.
    limit: u64,
    warned: AtomicBool,
    /// Whether answers have to be checked after they were read.
    is_mapped: bool,
    /// Whether changes wait for other processes and for the disk.
    is_state: bool,
}

impl Filter {
    /// A filter around `set`.
    pub(crate) fn new(
        set: Box<dyn Set>,
        function: DigestFunction,
        on_full: OnFull,
        key_options: String,
    ) -> Self {
        let limit = set.inserted_when_full();
        Self::with_limit(set, function, on_full, key_options, limit)
    }

    /// [`Filter::new`], where the set's `inserted_when_full` is known.
    pub(crate) fn with_limit(
        set: Box<dyn Set>,
        function: DigestFunction,
        on_full: OnFull,
        key_options: String,
        limit: Option<u64>,
    ) -> Self {
        let limit = limit.unwrap_or(u64::MAX);
        let is_mapped = set.as_any().is::<Mapped>();
        let is_state = set.as_any().is::<StateSet>();
        Self {
            function,
            on_full,
            form: Form::of(&key_options),
            key_options,
            set: Shared::new(set),
            limit,
            warned: AtomicBool::new(false),
            is_mapped,
            is_state,
        }
    }

    /// Whether keys are what they look like, and changes wait for nobody.
    #[inline(always)]
    pub(super) const fn is_plain(&self) -> bool {
        !self.is_state && self.form.is_none()
    }

    /// The digest of a key.
    ///
    /// # Errors
    ///
    /// As [`key::digest`]; `ValueError` for texts that have no key in this filter.
    #[inline(always)]
    pub(crate) fn digest_of(&self, key: &Bound<'_, PyAny>) -> PyResult<Digest> {
        match &self.form {
            None => key::digest(&self.function, key),
            Some(form) => form.digest(&self.function, key),
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
    ///
    /// # Errors
    ///
    /// That the file of a mapped filter has changed, and what was read is not of the filter.
    pub(super) fn read_long<R: Send>(
        &self,
        py: Python<'_>,
        read: impl FnOnce(&dyn Set) -> R + Send,
    ) -> PyResult<R> {
        let detached = self.set.announce(py);
        let read_soundly = |set: &dyn Set| {
            let found = read(set);
            set.check(None).map(|()| found)
        };
        let found = py.detach(|| detached.read(read_soundly));
        pass_on_notices(py);
        Ok(found?)
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
            let changed = py.detach(|| detached.change(&mut change));
            pass_on_notices(py);
            match changed? {
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
            let new = if self.on_full == OnFull::Raise {
                let mut new = Bitmap::new();
                set.insert_all_or_none(&[digest], &mut new)?;
                new.get(0)
            } else {
                set.insert_digest(digest)?
            };
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
        set.insert_digests_into(digests, new)
    }

    /// Refuses a new key for a filter that is full.
    #[inline(always)]
    fn check_room(&self, set: &dyn Set, digest: Digest) -> Result<(), Error> {
        if set.inserted_items() >= self.limit && !set.contains_digest(digest) {
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
