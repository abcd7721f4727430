//! The threads of a log: one that syncs, one that makes checkpoints, one that watches its files.

use super::log::Inner;
use super::trouble::Trouble;
use super::{Error, Filters, Log, Policy};
use crate::sync::Ordering;
use std::io;
use std::sync::{Arc, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

const TICK: Duration = Duration::from_secs(1);
/// Between two looks at the files of the log: what is removed is noticed within a second.
const LOOK: Duration = Duration::from_millis(500);
/// After a checkpoint that failed, another one is tried after this time.
const PAUSE: Duration = Duration::from_secs(10);

/// What the thread that syncs has to do.
#[derive(Debug, Clone, Copy)]
enum Due {
    /// Nothing before that.
    In(Duration),
    /// To sync what was written.
    Sync,
    /// What is done once a second.
    Tick,
}

/// The threads of a log; they end when it is closed, or this is dropped.
#[derive(Debug)]
pub struct Threads {
    log: Arc<Log>,
    handles: Vec<JoinHandle<()>>,
}

impl Threads {
    /// Starts them.
    ///
    /// # Errors
    ///
    /// If the system has no threads left.
    pub fn start(log: &Arc<Log>, filters: Arc<dyn Filters + Send>) -> io::Result<Self> {
        let mut threads = Self { log: log.clone(), handles: Vec::new() };
        let ours = log.clone();
        let sync = thread::Builder::new().name("sync".to_owned());
        threads.handles.push(sync.spawn(move || ours.keep_synced())?);
        let ours = log.clone();
        let save = thread::Builder::new().name("checkpoint".to_owned());
        threads.handles.push(save.spawn(move || ours.keep_saved(&*filters))?);
        let ours = log.clone();
        let watch = thread::Builder::new().name("watch".to_owned());
        threads.handles.push(watch.spawn(move || ours.keep_place())?);
        Ok(threads)
    }

    /// Syncs what was written, closes the log and waits for the threads.
    ///
    /// # Errors
    ///
    /// As [`Log::close`].
    pub fn close(mut self) -> Result<(), super::Refused> {
        self.end()
    }

    fn end(&mut self) -> Result<(), super::Refused> {
        if self.handles.is_empty() {
            return Ok(());
        }
        let closed = self.log.close();
        for handle in self.handles.drain(..) {
            // A thread that panicked has said so itself.
            let _ = handle.join();
        }
        closed
    }
}

impl Drop for Threads {
    fn drop(&mut self) {
        // Nobody is there to hear of errors; `close` returns them.
        let _ = self.end();
    }
}

impl Log {
    /// Makes all that was written survive a power cut, says so in the log, and takes no more.
    ///
    /// # Errors
    ///
    /// [`Refused`](super::Refused), as [`Log::sync`].
    pub fn close(&self) -> Result<(), super::Refused> {
        let synced = self.write_deferred().and_then(|()| self.sync());
        if synced.is_ok() {
            self.vouch();
        }
        let mut inner = self.lock();
        if synced.is_ok() && inner.trouble.is_none() {
            // Only to say that it was a clean end; nothing depends on it.
            let _ = inner.file.sync();
        }
        if inner.trouble.is_none() {
            self.set_trouble(&mut inner, Trouble::Closed);
            inner.last_error = None;
        }
        drop(inner);
        // ORDERING: Release, with the Acquire of `is_closed`.
        self.closed.store(true, Ordering::Release);
        self.work.notify_all();
        self.requested.notify_all();
        self.ended.notify_all();
        self.wake_waiting();
        synced
    }

    /// One turn of the thread that syncs, once a second, or under `always` whenever there is
    /// something.
    pub(crate) fn tick(&self) {
        self.retry();
        if self.policy() != Policy::No {
            // Those who wait are woken; there is nothing else to do about it here.
            let _ = self.sync();
        }
        self.vouch();
    }

    fn keep_synced(&self) {
        let mut ticked = self.options.clock.now();
        self.keep_spare();
        while !self.is_closed() {
            let inner = self.lock();
            // Looked at and slept with the log locked, so that no write comes in between unseen.
            match self.sync_is_due(&inner, ticked) {
                Due::In(left) => {
                    let slept = self.work.wait_timeout(inner, left);
                    drop(slept.unwrap_or_else(PoisonError::into_inner));
                }
                due => {
                    drop(inner);
                    self.sync_if(due, &mut ticked);
                    self.keep_spare();
                }
            }
        }
    }

    /// What the thread that syncs has to do now. `ticked` is when it last did what is due once a
    /// second.
    fn sync_is_due(&self, inner: &Inner, ticked: u64) -> Due {
        // A deletion is written on a full disk, too.
        let is_written = matches!(inner.trouble, None | Some(Trouble::Write { .. }));
        let writes = inner.dirty_since.is_some() && is_written;
        let left = TICK.saturating_sub(self.since(ticked));
        match (self.policy() == Policy::Always && writes, left.is_zero()) {
            (_, true) => Due::Tick,
            (true, false) => Due::Sync,
            (false, false) => Due::In(left),
        }
    }

    fn sync_if(&self, due: Due, ticked: &mut u64) {
        match due {
            Due::In(_) => {}
            // Those who wait are woken; there is nothing else to do about it here.
            Due::Sync => drop(self.sync()),
            Due::Tick => {
                self.tick();
                *ticked = self.options.clock.now();
            }
        }
    }

    /// One turn of that thread without its sleep.
    #[cfg(test)]
    pub(super) fn sync_turn(&self, ticked: &mut u64) {
        let due = self.sync_is_due(&self.lock(), *ticked);
        self.sync_if(due, ticked);
    }

    pub(super) fn is_closed(&self) -> bool {
        // ORDERING: Acquire, with the Release of `close`: the trouble that says so is there.
        self.closed.load(Ordering::Acquire)
    }

    fn since(&self, then: u64) -> Duration {
        Duration::from_millis(self.options.clock.now().saturating_sub(then))
    }

    fn keep_place(&self) {
        while !self.is_closed() {
            self.look();
            let inner = self.lock();
            if !self.is_closed() {
                drop(self.ended.wait_timeout(inner, LOOK).unwrap_or_else(PoisonError::into_inner));
            }
        }
    }

    fn keep_saved(&self, filters: &dyn Filters) {
        let mut last = Instant::now();
        let mut not_before = last;
        let mut failed = String::new();
        while !self.is_closed() {
            let unread = self.has_spoiled().then(|| self.put_back(filters).err()).flatten();
            if let Some(error) = &unread {
                log::error!("filters of a refused write cannot be read again: {error}");
            }
            // ORDERING: AcqRel, with the Release of who asks: what was done before is saved.
            let requested = self.checkpoint_requested.swap(false, Ordering::AcqRel);
            // Each second, since nothing is accepted meanwhile.
            let requested = requested || self.is_displaced();
            let due = self.checkpoint_is_due(last.elapsed()) && Instant::now() >= not_before;
            if requested || due {
                match self.checkpoint(filters) {
                    Ok(saves) => {
                        log::info!("checkpoint: {saves}");
                        failed.clear();
                    }
                    Err(error) => {
                        // Tried again and again, and said once, however much is free by then.
                        let why = match error {
                            Error::NoRoom { .. } => "no room".to_owned(),
                            _ => error.to_string(),
                        };
                        if why != failed {
                            log::error!("no checkpoint: {error}");
                        }
                        failed = why;
                    }
                }
                last = Instant::now();
                not_before = last + PAUSE;
            }
            self.remove_released();
            let inner = self.lock();
            if !self.is_closed() && (inner.spoiled.is_empty() || unread.is_some()) {
                drop(
                    self.requested
                        .wait_timeout(inner, TICK)
                        .unwrap_or_else(PoisonError::into_inner),
                );
            }
        }
    }

    fn checkpoint_is_due(&self, since: Duration) -> bool {
        let stats = self.stats();
        let large = stats.log_bytes > self.options.segment_bytes.max(stats.image_bytes);
        let old = self.options.checkpoint_every.is_some_and(|every| since >= every);
        !stats.poisoned && (large || old && stats.changed_filters > 0)
    }
}
