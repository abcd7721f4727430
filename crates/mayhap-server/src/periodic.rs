//! A thread that does something again and again.

use std::io;
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::Duration;

/// A thread that does something again and again, with a pause after each time.
///
/// Dropping it ends the thread, and waits for as long as the work at hand takes.
#[derive(Debug)]
pub(crate) struct Periodic {
    ending: Arc<(Mutex<bool>, Condvar)>,
    thread: Option<JoinHandle<()>>,
}

impl Periodic {
    /// Starts the thread, which begins with `work`.
    ///
    /// # Errors
    ///
    /// If the system has no threads left.
    pub(crate) fn start(
        name: &str,
        pause: Duration,
        mut work: impl FnMut() + Send + 'static,
    ) -> io::Result<Self> {
        let ending = Arc::new((Mutex::new(false), Condvar::new()));
        let ours = ending.clone();
        let thread = thread::Builder::new().name(name.to_owned()).spawn(move || {
            let (ending, changed) = &*ours;
            let mut ends = ending.lock().unwrap_or_else(PoisonError::into_inner);
            while !*ends {
                drop(ends);
                work();
                ends = ending.lock().unwrap_or_else(PoisonError::into_inner);
                if !*ends {
                    let slept = changed.wait_timeout(ends, pause);
                    ends = slept.unwrap_or_else(PoisonError::into_inner).0;
                }
            }
        })?;
        Ok(Self { ending, thread: Some(thread) })
    }
}

impl Drop for Periodic {
    fn drop(&mut self) {
        *self.ending.0.lock().unwrap_or_else(PoisonError::into_inner) = true;
        self.ending.1.notify_all();
        // A panic in the work was reported by the thread itself.
        let _ = self.thread.take().map(JoinHandle::join);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::mpsc::channel;

    #[test]
    fn work_is_repeated_until_the_thread_is_dropped_and_not_after() {
        let (done, count) = channel();
        let periodic =
            Periodic::start("test", Duration::from_millis(1), move || done.send(()).unwrap());
        let periodic = periodic.unwrap();
        for _ in 0..3 {
            count.recv().unwrap();
        }
        drop(periodic);
        // The sender went with the thread: what is left ends.
        while count.recv().is_ok() {}
    }
}
