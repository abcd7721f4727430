//! Who reads and who changes the filter inside.
//!
//! A single `add` or `in` costs as little as a cache miss, and an atomic instruction that locks the
//! bus would keep the misses of successive keys from overlapping: it doubled their time. So calls
//! that keep the interpreter's lock all the while rely on that one alone, and whoever gives it up
//! says so before, while still holding it:
//!
//! | who | holds | excluded by |
//! |---|---|---|
//! | a short call, undisturbed | the interpreter's lock | `detached` is 0, and stays it |
//! | a short call beside batches | that lock, and `lock` | `lock` |
//! | a batch, a copy, a save | `lock`, after `detached` was raised | `lock` |
//!
//! Whoever holds `lock` never waits for the interpreter's, so neither order of the two can block
//! for ever. In builds without the interpreter's lock all calls take `lock`. Who holds `lock` while
//! others may have the interpreter's holds `fork::Working` before, so that no child inherits it.
#![expect(unsafe_code, reason = "the interpreter's lock excludes what Rust's types cannot see")]

use crate::error::Error;
use crate::fork;
use crate::set::Set;
use pyo3::prelude::*;
use std::cell::UnsafeCell;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{PoisonError, RwLock, TryLockError};

/// A filter that many threads read and change.
pub(super) struct Shared {
    set: UnsafeCell<Box<dyn Set>>,
    /// Who may use the filter without the interpreter's lock.
    detached: AtomicUsize,
    lock: RwLock<()>,
    /// Views of the bits, which nobody changes while there are any.
    views: AtomicUsize,
}

// SAFETY: `Set` is `Send` and `Sync`, and every use of it is excluded as the table above says.
unsafe impl Sync for Shared {}

/// While it lives, the filter may be used without the interpreter's lock.
pub(super) struct Detached<'a>(&'a Shared);

impl Drop for Detached<'_> {
    fn drop(&mut self) {
        // ORDERING: Release, with the Acquire in `is_undisturbed`: what was done to the filter is
        // done before anyone uses it without `lock`.
        self.0.detached.fetch_sub(1, Ordering::Release);
    }
}

impl Shared {
    pub(super) fn new(set: Box<dyn Set>) -> Self {
        Self {
            set: UnsafeCell::new(set),
            detached: AtomicUsize::new(0),
            lock: RwLock::new(()),
            views: AtomicUsize::new(0),
        }
    }

    /// Says that the filter will be used without the interpreter's lock, which `_py` shows to be
    /// held now: no short call is at it.
    pub(super) fn announce(&self, _py: Python<'_>) -> Detached<'_> {
        // ORDERING: Relaxed. Who loads the number holds the interpreter's lock after us.
        self.detached.fetch_add(1, Ordering::Relaxed);
        Detached(self)
    }

    #[inline(always)]
    fn is_undisturbed(&self) -> bool {
        // ORDERING: Acquire, with the Release in `Detached::drop`.
        cfg!(not(Py_GIL_DISABLED)) && self.detached.load(Ordering::Acquire) == 0
    }

    /// Calls `read` with the filter; it must not call the interpreter.
    #[inline(always)]
    pub(super) fn read<R>(&self, py: Python<'_>, read: impl FnOnce(&dyn Set) -> R) -> R {
        if self.is_undisturbed() {
            // SAFETY: the interpreter's lock is held (`py`), and until it is given up nobody else
            // has the filter: not another short call, nor anybody detached, who would have to be
            // announced under that lock first. `read` does not give it up.
            return read(unsafe { &**self.set.get() });
        }
        self.read_beside(py, read)
    }

    /// Calls `change` with the filter; it must not call the interpreter.
    ///
    /// # Errors
    ///
    /// [`Error::Exported`] while there are views.
    #[inline(always)]
    pub(super) fn change<R>(
        &self,
        py: Python<'_>,
        change: impl FnOnce(&mut dyn Set) -> R,
    ) -> Result<R, Box<Error>> {
        if self.is_undisturbed() {
            self.check_views()?;
            // SAFETY: as in `read`; short calls of this thread do not nest.
            return Ok(change(unsafe { &mut **self.set.get() }));
        }
        self.change_beside(py, change)
    }

    #[cold]
    fn read_beside<R>(&self, py: Python<'_>, read: impl FnOnce(&dyn Set) -> R) -> R {
        loop {
            match self.lock.try_read() {
                Err(TryLockError::WouldBlock) => py.detach(|| self.wait()),
                // SAFETY: `lock` is held, and who holds it to write does not.
                Ok(_held) => return read(unsafe { &**self.set.get() }),
                // A panic of another thread left whole words: bits are only set.
                Err(TryLockError::Poisoned(_)) => self.lock.clear_poison(),
            }
        }
    }

    #[cold]
    fn change_beside<R>(
        &self,
        py: Python<'_>,
        change: impl FnOnce(&mut dyn Set) -> R,
    ) -> Result<R, Box<Error>> {
        loop {
            match self.lock.try_write() {
                Err(TryLockError::WouldBlock) => py.detach(|| self.wait()),
                Ok(_held) => {
                    self.check_views()?;
                    // SAFETY: `lock` is held to write.
                    return Ok(change(unsafe { &mut **self.set.get() }));
                }
                Err(TryLockError::Poisoned(_)) => self.lock.clear_poison(),
            }
        }
    }

    /// Waits, without the interpreter's lock, until `lock` is free for a moment.
    fn wait(&self) {
        let _working = fork::work();
        drop(self.lock.write());
    }

    fn check_views(&self) -> Result<(), Box<Error>> {
        // ORDERING: Acquire, with the Release in `end_view`. A new view is noted under `lock` or
        // the interpreter's.
        match self.views.load(Ordering::Acquire) {
            0 => Ok(()),
            views => Err(Error::Exported { views }.into()),
        }
    }

    /// Notes a view of the bits, from within `read`.
    pub(super) fn begin_view(&self) {
        // ORDERING: Relaxed. Who changes the filter takes its lock after this one was given up.
        self.views.fetch_add(1, Ordering::Relaxed);
    }

    /// Notes that a view is gone.
    pub(super) fn end_view(&self) {
        // ORDERING: Release: reads through the view come before what is changed after it.
        self.views.fetch_sub(1, Ordering::Release);
    }
}

impl Detached<'_> {
    /// Calls `read` with the filter, from any thread.
    pub(super) fn read<R>(&self, read: impl FnOnce(&dyn Set) -> R) -> R {
        let _working = fork::work_anywhere();
        let _held = self.0.lock.read().unwrap_or_else(PoisonError::into_inner);
        // SAFETY: `lock` is held, and short calls heed `detached`, which is not 0.
        read(unsafe { &**self.0.set.get() })
    }

    /// Calls `change` with the filter, from any thread.
    ///
    /// # Errors
    ///
    /// [`Error::Exported`] while there are views.
    pub(super) fn change<R>(&self, change: impl FnOnce(&mut dyn Set) -> R) -> Result<R, Error> {
        let _working = fork::work_anywhere();
        let _held = self.0.lock.write().unwrap_or_else(PoisonError::into_inner);
        self.0.check_views()?;
        // SAFETY: `lock` is held to write, and short calls heed `detached`, which is not 0.
        Ok(change(unsafe { &mut **self.0.set.get() }))
    }
}
