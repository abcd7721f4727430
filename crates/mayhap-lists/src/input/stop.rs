//! Signals that end a run: a flag between batches that also wakes a waiting read.

use super::Error;
use signal_hook::consts::{SIGINT, SIGTERM};
use signal_hook::{flag, low_level::pipe};
use std::io;
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::net::UnixStream;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

/// The request of a signal to end.
///
/// The first signal makes the program finish the current batch, write it out and save; a second one
/// ends it at once.
#[derive(Debug)]
pub struct Stop {
    signal: Arc<AtomicUsize>,
    /// Becomes readable with the first signal, so that a `poll` on it and the input cannot miss one
    /// that arrives just before.
    wake: UnixStream,
}

impl Stop {
    /// Takes over SIGINT and SIGTERM.
    ///
    /// # Errors
    ///
    /// [`Error::Io`] if the system refuses a handler or a pair of sockets.
    pub fn on_signals() -> Result<Arc<Self>, Error> {
        Self::register().map(Arc::new).map_err(Error::io("set up", "signal handlers"))
    }

    /// Makes SIGINT and SIGTERM end the program at once, as is the default except for the first
    /// process of a container, for which the system ignores both.
    ///
    /// # Errors
    ///
    /// [`Error::Io`] if the system refuses a handler.
    pub fn at_once() -> Result<(), Error> {
        let always = Arc::new(AtomicBool::new(true));
        for number in [SIGINT, SIGTERM] {
            flag::register_conditional_shutdown(number, 128 + number, Arc::clone(&always))
                .map_err(Error::io("set up", "signal handlers"))?;
        }
        Ok(())
    }

    fn register() -> io::Result<Self> {
        let signal = Arc::new(AtomicUsize::new(0));
        let is_requested = Arc::new(AtomicBool::new(false));
        let (wake, waker) = UnixStream::pair()?;
        for number in [SIGINT, SIGTERM] {
            // In this order: the shutdown sees the flag as it was before this signal.
            flag::register_conditional_shutdown(number, 128 + number, Arc::clone(&is_requested))?;
            flag::register(number, Arc::clone(&is_requested))?;
            flag::register_usize(number, Arc::clone(&signal), number as usize)?;
            pipe::register(number, waker.try_clone()?)?;
        }
        Ok(Self { signal, wake })
    }

    /// The signal that arrived, if any.
    pub fn signal(&self) -> Option<i32> {
        // ORDERING: Relaxed. The number is all that is handed over.
        match self.signal.load(Ordering::Relaxed) {
            0 => None,
            number => i32::try_from(number).ok(),
        }
    }

    /// Ends an operation that has nothing to save.
    ///
    /// # Errors
    ///
    /// [`Error::Stopped`] if a signal arrived.
    pub fn check(&self) -> Result<(), Error> {
        match self.signal() {
            Some(signal) => Err(Error::Stopped { signal }),
            None => Ok(()),
        }
    }

    /// A socket that becomes readable with the first signal.
    pub fn wake(&self) -> BorrowedFd<'_> {
        self.wake.as_fd()
    }
}
