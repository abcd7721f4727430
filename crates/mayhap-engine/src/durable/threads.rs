//! The threads of a log: one that syncs, one that makes checkpoints, one that watches its files.

use super::{Filters, Log, Refused};
use crate::periodic::Periodic;
use std::io;
use std::sync::Arc;
use std::thread::{self, JoinHandle};
use std::time::Duration;

/// Interval of the checks of the log's files: a removal is noticed within a second.
const LOOK: Duration = Duration::from_millis(500);

/// The threads of a log; they end when it is closed, or this is dropped.
#[derive(Debug)]
pub struct Threads {
    log: Arc<Log>,
    handles: Vec<JoinHandle<()>>,
    _watch: Periodic,
}

impl Threads {
    /// Starts the threads.
    ///
    /// # Errors
    ///
    /// If the system has no threads left.
    pub fn start(log: &Arc<Log>, filters: Arc<dyn Filters + Send>) -> io::Result<Self> {
        let [watched, synced, saved] = [log, log, log].map(Arc::clone);
        let watch = Periodic::start("watch", LOOK, move || watched.watcher.look())?;
        let mut threads = Self { log: log.clone(), handles: Vec::new(), _watch: watch };
        let named = |name: &str| thread::Builder::new().name(name.to_owned());
        threads.handles.push(named("sync").spawn(move || synced.journal.keep_synced())?);
        threads
            .handles
            .push(named("checkpoint").spawn(move || saved.checkpointer.keep_saved(&*filters))?);
        Ok(threads)
    }

    /// Syncs all changes, closes the log and waits for the threads.
    ///
    /// # Errors
    ///
    /// As [`Log::close`].
    pub fn close(mut self) -> Result<(), Refused> {
        self.end()
    }

    fn end(&mut self) -> Result<(), Refused> {
        if self.handles.is_empty() {
            return Ok(());
        }
        let closed = self.log.close();
        for handle in self.handles.drain(..) {
            // A thread has reported its own panic.
            let _ = handle.join();
        }
        closed
    }
}

impl Drop for Threads {
    fn drop(&mut self) {
        // Errors cannot be reported here; `close` returns them.
        let _ = self.end();
    }
}
