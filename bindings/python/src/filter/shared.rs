//! Shared access to the inner filter: the locks of its readers and writers.
//!
//! A single `add` or `in` costs as little as a cache miss, and an atomic instruction that locks the
//! bus would keep the misses of successive keys from overlapping: it doubled their time. So calls
//! that keep the interpreter's lock throughout rely on it alone, and calls that release it announce
//! this first, while still holding it:
//!
//! | caller | holds | excluded by |
//! |---|---|---|
//! | a short call, undisturbed | the interpreter's lock | `detached` is 0, and stays it |
//! | a short call beside batches | that lock, and `lock` | `lock` |
//! | a batch, a copy, a save | `lock`, after `detached` was raised | `lock` |
//!
//! A holder of `lock` never waits for the interpreter's lock, so neither order of the two can
//! deadlock. In builds without the interpreter's lock all calls take `lock`. A thread that holds
//! `lock` while others may have the interpreter's lock has taken `fork::Working` before, so that no
//! child inherits it.
#![expect(unsafe_code, reason = "the interpreter's lock excludes what Rust's types cannot see")]

use crate::error::Error;
use crate::fork;
use crate::held::Held;
use pyo3::prelude::*;
use std::cell::UnsafeCell;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{PoisonError, RwLock, TryLockError};

/// A filter that many threads read and change.
pub(super) struct Shared {
    held: UnsafeCell<Held>,
    /// The number of calls that may use the filter without the interpreter's lock.
    detached: AtomicUsize,
    lock: RwLock<()>,
    /// The number of views of the bits, which are not changed while there are any.
    views: AtomicUsize,
}

// SAFETY: `Held` is `Send` and `Sync`, and every use of it is excluded as in the table above.
unsafe impl Sync for Shared {}

/// While it lives, the filter may be used without the interpreter's lock.
pub(super) struct Detached<'a>(&'a Shared);

impl Drop for Detached<'_> {
    fn drop(&mut self) {
        // ORDERING: Release, with the Acquire in `is_undisturbed`: changes to the filter are
        // complete before any thread uses it without `lock`.
        self.0.detached.fetch_sub(1, Ordering::Release);
    }
}

impl Shared {
    pub(super) fn new(held: Held) -> Self {
        Self {
            held: UnsafeCell::new(held),
            detached: AtomicUsize::new(0),
            lock: RwLock::new(()),
            views: AtomicUsize::new(0),
        }
    }

    /// Announces that the filter will be used without the interpreter's lock, which `_py` proves to
    /// be held now: no short call is using it.
    pub(super) fn announce(&self, _py: Python<'_>) -> Detached<'_> {
        // ORDERING: Relaxed. A thread that loads the number takes the interpreter's lock after us.
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
    pub(super) fn read<R>(&self, py: Python<'_>, read: impl FnOnce(&Held) -> R) -> R {
        if self.is_undisturbed() {
            // SAFETY: the interpreter's lock is held (`py`), and until it is released no other
            // thread has the filter: neither another short call nor a detached one, which would
            // have to be announced under that lock first. `read` does not release it.
            return read(unsafe { &*self.held.get() });
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
        change: impl FnOnce(&mut Held) -> R,
    ) -> Result<R, Box<Error>> {
        if self.is_undisturbed() {
            self.check_views()?;
            // SAFETY: as in `read`; short calls of this thread do not nest.
            return Ok(change(unsafe { &mut *self.held.get() }));
        }
        self.change_beside(py, change)
    }

    #[cold]
    fn read_beside<R>(&self, py: Python<'_>, read: impl FnOnce(&Held) -> R) -> R {
        loop {
            match self.lock.try_read() {
                Err(TryLockError::WouldBlock) => py.detach(|| self.wait()),
                // SAFETY: `lock` is held for reading, so no writer holds it.
                Ok(_held) => return read(unsafe { &*self.held.get() }),
                // A panic of another thread left whole words: bits are only set.
                Err(TryLockError::Poisoned(_)) => self.lock.clear_poison(),
            }
        }
    }

    #[cold]
    fn change_beside<R>(
        &self,
        py: Python<'_>,
        change: impl FnOnce(&mut Held) -> R,
    ) -> Result<R, Box<Error>> {
        loop {
            match self.lock.try_write() {
                Err(TryLockError::WouldBlock) => py.detach(|| self.wait()),
                Ok(_held) => {
                    self.check_views()?;
                    // SAFETY: `lock` is held to write.
                    return Ok(change(unsafe { &mut *self.held.get() }));
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
        // ORDERING: Relaxed. A thread that changes the filter takes its lock after this one is
        // released.
        self.views.fetch_add(1, Ordering::Relaxed);
    }

    /// Notes that a view was released.
    pub(super) fn end_view(&self) {
        // ORDERING: Release: reads through the view happen before later changes.
        self.views.fetch_sub(1, Ordering::Release);
    }
}

impl Detached<'_> {
    /// Calls `read` with the filter, from any thread.
    pub(super) fn read<R>(&self, read: impl FnOnce(&Held) -> R) -> R {
        let _working = fork::work_anywhere();
        let _held = self.0.lock.read().unwrap_or_else(PoisonError::into_inner);
        // SAFETY: `lock` is held, and short calls heed `detached`, which is not 0.
        read(unsafe { &*self.0.held.get() })
    }

    /// Calls `change` with the filter, from any thread.
    ///
    /// # Errors
    ///
    /// [`Error::Exported`] while there are views.
    pub(super) fn change<R>(&self, change: impl FnOnce(&mut Held) -> R) -> Result<R, Error> {
        let _working = fork::work_anywhere();
        let _held = self.0.lock.write().unwrap_or_else(PoisonError::into_inner);
        self.0.check_views()?;
        // SAFETY: `lock` is held to write, and short calls heed `detached`, which is not 0.
        Ok(change(unsafe { &mut *self.0.held.get() }))
    }
}
