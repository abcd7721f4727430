//! Forks: a child has the memory of its parent, but only the thread that forked.
//!
//! A lock that another thread holds at that moment is held forever in the child, and the data that
//! this thread was changing stays half changed. So a thread that works without the interpreter's
//! lock holds [`Working`] meanwhile, and a fork waits until no thread does. No thread that holds it
//! waits for the interpreter's lock, which the forking thread has.

use crate::{log, state};
use pyo3::prelude::*;
use pyo3::types::{PyCFunction, PyDict, PyTuple};
use std::cell::Cell;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard};
use std::sync::{TryLockError, TryLockResult};

/// Held for reading by threads that work without the interpreter's lock, and for writing by a fork.
static WORK: RwLock<()> = RwLock::new(());

/// Held by the thread that forks.
static FORK: Mutex<()> = Mutex::new(());

/// While it lives, no fork begins. One thread has one of them at most.
pub(crate) type Working = RwLockReadGuard<'static, ()>;

thread_local! {
    /// The locks that a thread holds from before its fork until after it.
    static HELD: Cell<Option<(MutexGuard<'static, ()>, RwLockWriteGuard<'static, ()>)>> =
        const { Cell::new(None) };
}

/// Keeps forks from beginning, for threads that surely do not have the interpreter's lock.
pub(crate) fn work() -> Working {
    WORK.read().unwrap_or_else(PoisonError::into_inner)
}

/// Like [`work`], for threads that may have the interpreter's lock, which a fork in progress needs.
pub(crate) fn work_anywhere() -> Working {
    loop {
        match taken(WORK.try_read()) {
            Some(working) => return working,
            None => Python::attach(|py| py.detach(|| drop(work()))),
        }
    }
}

/// Calls `call` without the interpreter's lock; no fork begins meanwhile. Notices are logged
/// afterwards.
pub(crate) fn detached<R: Send>(py: Python<'_>, call: impl FnOnce() -> R + Send) -> R {
    let result = py.detach(|| {
        let _working = work();
        call()
    });
    log::pass_on_notices(py);
    result
}

/// The lock, also after a panic of another holder: it guards no data.
fn taken<G>(attempt: TryLockResult<G>) -> Option<G> {
    match attempt {
        Ok(held) => Some(held),
        Err(TryLockError::Poisoned(poisoned)) => Some(poisoned.into_inner()),
        Err(TryLockError::WouldBlock) => None,
    }
}

/// Registers callbacks before and after each fork, where processes fork.
///
/// # Errors
///
/// The errors of the interpreter.
pub(crate) fn install(py: Python<'_>) -> PyResult<()> {
    static INSTALLED: AtomicBool = AtomicBool::new(false);
    // ORDERING: Relaxed. It guards nothing but the number of calls: a reimported module is
    // initialised again, and a fork would wait for itself.
    if INSTALLED.swap(true, Ordering::Relaxed) {
        return Ok(());
    }
    let Some(register) = py.import("os")?.getattr_opt("register_at_fork")? else { return Ok(()) };
    let hook = |call: fn(Python<'_>)| {
        PyCFunction::new_closure(py, None, None, move |args: &Bound<'_, PyTuple>, _| {
            call(args.py());
        })
    };
    let hooks = PyDict::new(py);
    hooks.set_item("before", hook(before)?)?;
    hooks.set_item("after_in_parent", hook(after)?)?;
    hooks.set_item("after_in_child", hook(after_in_child)?)?;
    register.call((), Some(&hooks))?;
    Ok(())
}

/// Waits until no thread works.
fn before(py: Python<'_>) {
    let forking = loop {
        match taken(FORK.try_lock()) {
            Some(forking) => break forking,
            // Another thread forks, and needs the interpreter's lock for that.
            None => py.detach(|| drop(FORK.lock())),
        }
    };
    let alone = WORK.write().unwrap_or_else(PoisonError::into_inner);
    HELD.set(Some((forking, alone)));
}

fn after(_py: Python<'_>) {
    HELD.take();
}

fn after_in_child(_py: Python<'_>) {
    HELD.take();
    state::leave_to_parent();
}
