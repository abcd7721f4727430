//! The write-ahead log, in front of its parts.

use super::checkpoint::{Checkpointer, Saves};
use super::contents::Contents;
use super::journal::{Journal, OnProgress};
use super::ticket::{Logged, State, Ticket};
use super::watch::Watcher;
use super::{
    DataFolder, Error, Filters, Lease, LeaseError, Operation, Options, Progress, Recorder, Refused,
    Replay, Report, Stats, Tally, recover,
};
use std::sync::Arc;

/// The log of a data folder, owned by this process alone.
#[derive(Debug)]
pub struct Log {
    pub(super) journal: Arc<Journal>,
    pub(super) watcher: Arc<Watcher>,
    pub(super) checkpointer: Arc<Checkpointer>,
}

impl Log {
    /// Opens a data folder, creating it if needed, and fills `replay` with its contents.
    ///
    /// Every change that was recorded before a crash is restored; a write that the crash cut short
    /// is removed and reported. `progress` is called from several threads, some hundred times a
    /// second.
    ///
    /// # Errors
    ///
    /// [`Error`], with file and offset of damage. Then nothing was changed.
    pub fn open(
        folder: DataFolder,
        options: Options,
        replay: &dyn Replay,
        progress: &(dyn Fn(Progress) + Sync),
    ) -> Result<(Arc<Self>, Report), Error> {
        let needed = folder.needed();
        let store = folder.store;
        let (found, report) = recover::recover(&store, &options, replay, progress)?;
        let journal = Journal::new(&store, &options, found.tail, found.changes, report.next_id);
        let journal = Arc::new(journal);
        let watcher = Arc::new(Watcher::new(&store, &journal, needed));
        let checkpointer = Checkpointer::new(store, options, &journal, &watcher, found.checkpoints);
        let log = Self { journal, watcher, checkpointer: Arc::new(checkpointer) };
        Ok((Arc::new(log), report))
    }

    /// A recorder for a thread.
    pub fn recorder(self: &Arc<Self>) -> Recorder {
        Recorder::new(self.clone())
    }

    /// Registers a callback for each time when [`Log::state`] may have changed; wakes waiting
    /// threads.
    pub fn on_progress(&self, wake: OnProgress) {
        self.journal.on_progress(wake);
    }

    /// Writes an operation to the log, before it is applied.
    ///
    /// The kernel has it when this returns. The returned value has to be kept until the effect is
    /// visible. One at a time: a thread that keeps one and requests another can wait for ever.
    ///
    /// # Errors
    ///
    /// [`Refused`]: it is not in the log and must not be applied.
    pub fn now(&self, operation: &Operation<'_>) -> Result<Logged<'_>, Refused> {
        self.journal.now(operation, None)
    }

    /// [`Log::now`] for an operation after which a filter counts more keys: they are counted as
    /// those of this record, whose tally this is.
    ///
    /// # Errors
    ///
    /// As [`Log::now`].
    pub fn now_counting(
        &self,
        operation: &Operation<'_>,
        tally: &Arc<Tally>,
        items: u64,
    ) -> Result<Logged<'_>, Refused> {
        self.journal.now(operation, Some((tally, items)))
    }

    /// As [`Log::now`] for an operation of a turn that commits before it answers: the record gets
    /// its place in the log at once, and is written with the next one of any thread, or by
    /// [`Recorder::commit`]. A turn that creates a thousand filters writes once.
    ///
    /// If that fails the operation is undone, and every turn in progress is refused: the turn that
    /// defers it must have begun ([`Recorder::begin`]), or it would be acknowledged.
    ///
    /// # Errors
    ///
    /// As [`Log::now`].
    pub(crate) fn defer(&self, operation: &Operation<'_>) -> Result<Logged<'_>, Refused> {
        self.journal.defer(operation)
    }

    /// Begins to write the contents of a filter that will be created with this id, which no filter
    /// had before. Waits until other contents are written, and until a checkpoint has begun.
    pub fn begin_contents(&self, id: u64) -> Contents<'_> {
        Contents::begin(&self.journal, id)
    }

    /// Checks that records can be written; to be called before a filter is changed. Takes no lock
    /// in the normal case.
    ///
    /// # Errors
    ///
    /// [`Refused`], with the next step.
    pub fn check_writable(&self) -> Result<(), Refused> {
        self.journal.check_writable()
    }

    /// [`Log::check_writable`] for a removal, for which a full disk has reserved space.
    ///
    /// # Errors
    ///
    /// [`Refused`], with the next step.
    pub fn check_deletable(&self) -> Result<(), Refused> {
        self.journal.check_deletable()
    }

    /// The position that answers about an operation have to wait for: that of the last operation,
    /// of any thread, if it is not yet as safe as the policy promises.
    /// [`Recorder::commit`] includes it.
    pub fn last_operation(&self) -> Option<Ticket> {
        self.journal.last_operation()
    }

    /// Whether records up to this position may be acknowledged.
    pub fn state(&self, ticket: Ticket) -> State {
        self.journal.safety().state(ticket)
    }

    /// Waits until records up to this position may be acknowledged.
    ///
    /// # Errors
    ///
    /// [`Refused`] if it never will be.
    pub fn wait(&self, ticket: Ticket) -> Result<(), Refused> {
        self.journal.wait(ticket)
    }

    /// Whether all changes of the turn refused with this number are undone.
    pub fn is_undone(&self, number: u64) -> bool {
        self.journal.is_undone(number)
    }

    /// Waits for [`Log::is_undone`].
    pub fn wait_undone(&self, number: u64) {
        self.journal.wait_undone(number);
    }

    /// Puts back the filters changed by refused turns, if there are any. The checkpoint thread
    /// does so as soon as there are.
    ///
    /// # Errors
    ///
    /// If the folder cannot be read: nothing is written, and queries of these filters are errors,
    /// until it can be. If it was moved, queries continue, and the filters are put back once it is
    /// back. The refused answers are sent nevertheless.
    pub fn put_back(&self, filters: &dyn Filters) -> Result<(), Error> {
        self.checkpointer.put_back(filters)
    }

    /// Makes everything written so far survive a power cut.
    ///
    /// # Errors
    ///
    /// [`Refused`] from then on, until the folder is opened again: the kernel may have dropped the
    /// data that it could not write.
    pub fn sync(&self) -> Result<(), Refused> {
        self.journal.sync()
    }

    /// Saves all filters that changed since they were last saved, and lets go of the log before
    /// that. Insertions continue meanwhile; operations wait for as long as it takes to list the
    /// filters whose names or expiries changed, or once in a while all filters.
    ///
    /// The old images and the old log are removed last, so after a failure at any point the folder
    /// still has everything that is in the log. One at a time; a second one waits.
    ///
    /// # Errors
    ///
    /// [`Error::NoRoom`] if the images cannot fit onto the disk: then nothing was begun;
    /// [`Error::Io`]; [`Error::Refused`] if the log may have lost something.
    pub fn checkpoint(&self, filters: &dyn Filters) -> Result<Saves, Error> {
        self.checkpointer.checkpoint(filters)
    }

    /// Requests a checkpoint from the thread that makes them.
    pub fn request_checkpoint(&self) {
        self.journal.request_checkpoint();
    }

    /// Keeps the files that a backup needs, for a client that copies them one after the other.
    /// Waits for a running checkpoint.
    ///
    /// # Errors
    ///
    /// [`LeaseError::TooMany`]; [`LeaseError::Folder`] if the folder was removed or moved, or
    /// cannot be read.
    pub fn lease(&self) -> Result<Lease, LeaseError> {
        self.checkpointer.lease()
    }

    /// Statistics of the log; waits for nothing but a write in progress.
    pub fn stats(&self) -> Stats {
        self.checkpointer.stats()
    }

    /// Makes everything written so far survive a power cut, declares it in the log, and closes the
    /// log.
    ///
    /// # Errors
    ///
    /// [`Refused`], as [`Log::sync`].
    pub fn close(&self) -> Result<(), Refused> {
        self.journal.close()
    }
}

/// Parts of what the threads do, for tests.
#[cfg(test)]
impl Log {
    #[cfg(any(loom, shuttle))]
    pub(super) fn policy(&self) -> super::Policy {
        self.journal.safety().policy
    }

    pub(crate) fn tick(&self) {
        self.journal.tick();
    }

    pub(super) fn sync_turn(&self, ticked: &mut u64) {
        self.journal.sync_turn(ticked);
    }

    pub(super) fn retry(&self) {
        self.journal.retry();
    }

    pub(super) fn keep_spare(&self) {
        self.journal.keep_spare();
    }

    pub(super) fn remove_released(&self) {
        self.checkpointer.remove_released();
    }

    pub(super) fn has_changed(&self, id: u64) -> bool {
        self.journal.has_changed(id)
    }
}
