//! A thread that repeats a task.

use crate::sync::unpoisoned;
use std::io;
use std::sync::{Arc, Condvar, Mutex};
use std::thread::{self, JoinHandle};
use std::time::Duration;

/// A thread that repeats a task, with a pause after each time.
///
/// Dropping it ends the thread, and waits for the current run.
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
            while !*unpoisoned(ending.lock()) {
                work();
                drop(changed.wait_timeout_while(unpoisoned(ending.lock()), pause, |ends| !*ends));
            }
        })?;
        Ok(Self { ending, thread: Some(thread) })
    }
}

impl Drop for Periodic {
    fn drop(&mut self) {
        *unpoisoned(self.ending.0.lock()) = true;
        self.ending.1.notify_all();
        // The thread has reported a panic in the work itself.
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
        // The sender went with the thread: the iteration over the rest ends.
        while count.recv().is_ok() {}
    }
}
