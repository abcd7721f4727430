//! The class `Filter`: its fields, and single keys.

use super::OnFull;
use super::shared::{Detached, Shared};
use crate::cut::Form;
use crate::error::{Error, FilterFullWarning};
use crate::held::{Held, is_of_time, now};
use crate::key;
use crate::log::pass_on_notices;
use mayhap::native::Kind;
use mayhap::{Bitmap, Digest, DigestFunction};
use pyo3::prelude::*;
use std::sync::atomic::{AtomicBool, Ordering};

/// A filter of any kind of the native format.
///
/// The base class of `Bloom`, `Scalable`, `Compact`, `Counting`, `Window` and `Fuse`; it has no
/// constructor of its own.
#[pyclass(frozen, subclass, weakref, module = "mayhap_bloom")]
pub(crate) struct Filter {
    /// How keys become digests, read without the lock.
    pub function: DigestFunction,
    /// The treatment of keys beyond capacity.
    pub on_full: OnFull,
    /// How keys were cut out of lines, as the command keeps it in files.
    pub key_options: String,
    /// Their form of texts, if they have one.
    pub(super) form: Option<Box<Form>>,
    pub(super) set: Shared,
    /// The most "new" answers with which the promise holds; `u64::MAX` if there is no limit.
    limit: u64,
    warned: AtomicBool,
    /// Whether its answers depend on the time.
    is_of_time: bool,
    /// Whether changes wait for other processes and for the disk.
    is_state: bool,
}

impl Filter {
    /// A filter around `held`.
    pub(crate) fn new(held: Held, on_full: OnFull, key_options: String) -> Self {
        let limit = held.limit();
        Self::with_limit(held, on_full, key_options, limit)
    }

    /// [`Filter::new`], where the [`Held::limit`] is known.
    pub(crate) fn with_limit(held: Held, on_full: OnFull, key_options: String, limit: u64) -> Self {
        // Another process may replace a window of keys by one of time.
        let is_of_time = match &held {
            Held::Memory(set) => is_of_time(&**set),
            held => held.kind() == Kind::Window,
        };
        Self {
            function: held.digest_function(),
            on_full,
            form: Form::of(&key_options),
            key_options,
            is_of_time,
            is_state: matches!(held, Held::State(_)),
            set: Shared::new(held),
            limit,
            warned: AtomicBool::new(false),
        }
    }

    /// The time, for answers that depend on it; 0 for all others.
    #[inline(always)]
    pub(super) fn now(&self) -> u64 {
        if self.is_of_time { now() } else { 0 }
    }

    /// Whether keys are hashed as they are, and changes wait for no other process.
    #[inline(always)]
    pub(super) const fn is_plain(&self) -> bool {
        !self.is_state && self.form.is_none()
    }

    /// The digest of a key.
    ///
    /// # Errors
    ///
    /// Same as [`key::digest`]; `ValueError` for texts that have no key in this filter.
    #[inline(always)]
    pub(crate) fn digest_of(&self, key: &Bound<'_, PyAny>) -> PyResult<Digest> {
        match &self.form {
            None => key::digest(&self.function, key),
            Some(form) => form.digest(&self.function, key),
        }
    }

    /// Calls `read` with the filter; it must not call the interpreter.
    #[inline(always)]
    pub(crate) fn read<R>(&self, py: Python<'_>, read: impl FnOnce(&Held) -> R) -> R {
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
        change: impl FnOnce(&mut Held) -> R,
    ) -> Result<R, Box<Error>> {
        self.set.change(py, change)
    }

    /// Like [`Filter::read`], for long operations: other threads of Python run meanwhile.
    ///
    /// # Errors
    ///
    /// If the file of a mapped filter has changed, so that the bytes read were not the filter's.
    pub(super) fn read_long<R: Send>(
        &self,
        py: Python<'_>,
        read: impl FnOnce(&Held) -> R + Send,
    ) -> PyResult<R> {
        let detached = self.set.announce(py);
        let read_soundly = |held: &Held| {
            let found = read(held);
            held.check(None).map(|()| found)
        };
        let found = py.detach(|| detached.read(read_soundly));
        pass_on_notices(py);
        Ok(found?)
    }

    /// Like [`Filter::change`], but may take long: other threads of Python run meanwhile. It is
    /// called again, and signals are handled, while it returns [`Error::Waiting`].
    pub(crate) fn change_patiently<R: Send>(
        &self,
        py: Python<'_>,
        mut change: impl FnMut(&mut Held) -> Result<R, Error> + Send,
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

    /// Like [`Filter::change_patiently`], for a part of a batch, with or without the interpreter's
    /// lock; at once where a change does not wait.
    pub(super) fn change_in_batch(
        &self,
        detached: &Detached<'_>,
        mut change: impl FnMut(&mut Held) -> Result<(), Error> + Send,
    ) -> Result<(), Error> {
        if self.is_state {
            return Ok(Python::attach(|py| self.change_patiently(py, change))?);
        }
        detached.change(&mut change)?
    }

    /// Whether the key may be in it.
    #[inline(always)]
    pub(crate) fn contains(&self, py: Python<'_>, digest: Digest) -> Result<bool, Box<Error>> {
        self.read(py, |held| {
            let found = held.contains(digest, self.now());
            if let Held::Mapped(_) = held {
                held.check(Some(now()))?;
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
        let (new, is_over) = self.change(py, |held| {
            if self.on_full == OnFull::Raise {
                self.check_room(held, digest)?;
            }
            let new = held.insert(digest, self.now())?;
            Ok::<_, Box<Error>>((new, new && held.inserted_items() > self.limit))
        })??;
        if is_over {
            self.warn(py)?;
        }
        Ok(new)
    }

    /// Like [`Filter::insert`], but into a state.
    #[cold]
    fn insert_patiently(&self, py: Python<'_>, digest: Digest) -> PyResult<bool> {
        let (new, is_over) = self.change_patiently(py, |held| {
            let new = if self.on_full == OnFull::Raise {
                let mut new = Bitmap::new();
                self.insert_all_or_none(held, &[digest], &mut new)?;
                new.get(0)
            } else {
                held.insert(digest, self.now())?
            };
            Ok((new, new && held.inserted_items() > self.limit_of(held)))
        })?;
        if is_over {
            self.warn(py)?;
        }
        Ok(new)
    }

    /// The most "new" answers with which the promise holds. Another process may have replaced the
    /// filter of a state by a larger one.
    pub(super) fn limit_of(&self, held: &Held) -> u64 {
        match held {
            Held::State(state) => state.limit(),
            _ => self.limit,
        }
    }

    /// Inserts a chunk of a batch.
    pub(super) fn insert_chunk(
        &self,
        held: &mut Held,
        digests: &[Digest],
        new: &mut Bitmap,
    ) -> Result<(), Error> {
        held.ready()?;
        held.insert_into(digests, self.now(), new)
    }

    /// Inserts keys, or none if more of them would be new than there is room for.
    pub(super) fn insert_all_or_none(
        &self,
        held: &mut Held,
        digests: &[Digest],
        new: &mut Bitmap,
    ) -> Result<(), Error> {
        held.insert_all_or_none(digests, self.now(), self.limit, new)
    }

    /// Refuses a new key for a filter that is full.
    #[inline(always)]
    fn check_room(&self, held: &Held, digest: Digest) -> Result<(), Error> {
        if held.inserted_items() >= self.limit && !held.contains(digest, self.now()) {
            return Err(Error::Full { expected_items: held.fields().expected_items });
        }
        Ok(())
    }

    /// Warns once if more keys were added than there is room for.
    pub(super) fn warn_if_full(&self, py: Python<'_>) -> PyResult<()> {
        let is_over = |held: &Held| held.inserted_items() > self.limit_of(held);
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
        let fields = self.read(py, Held::fields);
        let text = format!(
            "the filter has more keys than the {} that it was created for, and its rate is above \
             target_fpp = {}; create a larger one, or use on_full=\"grow\"",
            fields.expected_items, fields.target_fpp
        );
        let text = std::ffi::CString::new(text).unwrap_or_default();
        PyErr::warn(py, &py.get_type::<FilterFullWarning>(), &text, 1)
    }
}
