//! The primitives by which threads share data: atomics, a slot that is filled once, a lock. They
//! are from `core` and `std`, or from the model checkers loom and shuttle under `--cfg loom` and
//! `--cfg shuttle`.

#[cfg(not(any(loom, shuttle)))]
pub(crate) use core::sync::atomic::{AtomicBool, AtomicU64, Ordering};
#[cfg(loom)]
pub(crate) use loom::sync::atomic::{AtomicBool, AtomicU64, Ordering};
#[cfg(shuttle)]
pub(crate) use shuttle::sync::atomic::{AtomicBool, AtomicU64, Ordering};

/// A slot that is filled once: its contents are complete before they can be seen.
#[cfg(not(any(loom, shuttle)))]
pub(crate) type Slot<T> = once_cell::race::OnceBox<T>;

/// The same for the model checkers, which see only the flag.
#[cfg(any(loom, shuttle))]
#[derive(Debug)]
pub(crate) struct Slot<T> {
    value: std::sync::OnceLock<alloc::boxed::Box<T>>,
    filled: AtomicBool,
}

#[cfg(any(loom, shuttle))]
impl<T> Slot<T> {
    pub(crate) fn new() -> Self {
        Self { value: std::sync::OnceLock::new(), filled: AtomicBool::new(false) }
    }

    pub(crate) fn with_value(value: alloc::boxed::Box<T>) -> Self {
        Self { value: value.into(), filled: AtomicBool::new(true) }
    }

    pub(crate) fn get(&self) -> Option<&T> {
        // ORDERING: Acquire, with the Release of `set`: a thread that sees the flag sees the value.
        let filled = self.filled.load(Ordering::Acquire);
        filled.then(|| self.value.get().map(|value| &**value)).flatten()
    }

    pub(crate) fn set(&self, value: alloc::boxed::Box<T>) -> Result<(), alloc::boxed::Box<T>> {
        // No other thread runs between the two: the checker switches threads only at operations
        // that it sees.
        self.value.set(value)?;
        // ORDERING: Release, with the Acquire of `get`.
        self.filled.store(true, Ordering::Release);
        Ok(())
    }
}

#[cfg(all(feature = "std", not(any(loom, shuttle))))]
type Inner = std::sync::Mutex<()>;
#[cfg(loom)]
type Inner = loom::sync::Mutex<()>;
#[cfg(shuttle)]
type Inner = shuttle::sync::Mutex<()>;
/// Without `std` a thread cannot sleep, so it spins.
#[cfg(not(any(feature = "std", loom, shuttle)))]
type Inner = AtomicBool;

/// A lock for work that one thread does at a time.
#[derive(Debug)]
pub(crate) struct Lock(Inner);

impl Lock {
    pub(crate) fn new() -> Self {
        Self(Inner::default())
    }

    pub(crate) fn with<R>(&self, f: impl FnOnce() -> R) -> R {
        #[cfg(any(feature = "std", loom, shuttle))]
        {
            // It guards no data, so a panic elsewhere leaves nothing in an inconsistent state.
            let _held = self.0.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
            f()
        }
        #[cfg(not(any(feature = "std", loom, shuttle)))]
        {
            struct Held<'a>(&'a AtomicBool);
            impl Drop for Held<'_> {
                fn drop(&mut self) {
                    // ORDERING: Release, with the Acquire of the next holder, which sees the work
                    // done.
                    self.0.store(false, Ordering::Release);
                }
            }
            // ORDERING: Acquire, with the Release of the previous holder.
            while self.0.swap(true, Ordering::Acquire) {
                core::hint::spin_loop();
            }
            let _held = Held(&self.0);
            f()
        }
    }
}

#[cfg(all(feature = "std", not(any(loom, shuttle))))]
type Mutex<T> = std::sync::Mutex<T>;
#[cfg(loom)]
type Mutex<T> = loom::sync::Mutex<T>;
#[cfg(shuttle)]
type Mutex<T> = shuttle::sync::Mutex<T>;

/// A value that one thread uses at a time.
#[cfg(any(feature = "std", loom, shuttle))]
#[derive(Debug)]
pub(crate) struct Guarded<T>(Mutex<T>);

#[cfg(any(feature = "std", loom, shuttle))]
impl<T> Guarded<T> {
    pub(crate) fn new(value: T) -> Self {
        Self(Mutex::new(value))
    }

    /// Also after a panic of another thread: what it guards is sound between any two writes.
    pub(crate) fn with<R>(&self, f: impl FnOnce(&mut T) -> R) -> R {
        f(&mut self.0.lock().unwrap_or_else(std::sync::PoisonError::into_inner))
    }
}
