//! Why nothing is written, and how writing goes on.

use super::disk::{again, write_all_at};
use super::log::Inner;
use super::recorder::Batch;
use super::store::segment_path;
use super::{Displaced, Log, Refused};
use crate::sync::Ordering;

/// Why nothing is written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Trouble {
    /// A write failed. The file ends where it did; it is tried again.
    Write { why: String, bytes: u64, must_cut: bool },
    /// What was written may be lost, and nobody can know what.
    Sync { why: String },
    /// What was written is not where the next start looks for it.
    Displaced { what: Displaced },
    /// The log was closed.
    Closed,
}

impl Log {
    /// Whether anything can be written; to be called before a filter is changed. Takes no lock
    /// while all is well.
    ///
    /// # Errors
    ///
    /// [`Refused`], with what to do.
    pub fn check_writable(&self) -> Result<(), Refused> {
        // ORDERING: Acquire, with the Release of `set_trouble`. Who misses a trouble by a moment
        // finds it in `append`, under the lock.
        if self.in_trouble.load(Ordering::Acquire) {
            return self.refuse(&self.lock());
        }
        Ok(())
    }

    /// [`Log::check_writable`] for what takes filters away, for which a full disk has some room.
    ///
    /// # Errors
    ///
    /// [`Refused`], with what to do.
    pub fn check_deletable(&self) -> Result<(), Refused> {
        if self.check_writable().is_ok() || self.is_full() { Ok(()) } else { self.check_writable() }
    }

    pub(super) fn is_poisoned(&self) -> bool {
        // ORDERING: Acquire, with the Release of `set_trouble`. Who finds trouble here finds what
        // it is under the lock.
        self.poisoned.load(Ordering::Acquire)
    }

    /// After a write that failed: tries whether the disk takes writes again.
    pub(super) fn retry(&self) {
        let mut inner = self.lock();
        if !inner.spoiled.is_empty() {
            // Not before the filters are as the log has them.
            return;
        }
        if let Some(Trouble::Write { must_cut, bytes, .. }) = inner.trouble.clone() {
            if must_cut && again(|| inner.file.set_len(inner.end)).is_err() {
                return;
            }
            // As much as failed, so that "it works again" is not said at the last free byte.
            let mut probe = Batch::default();
            probe.begin();
            let room = (bytes as usize).clamp(frame_bytes(), 1 << 20);
            probe.bytes.resize(room, 0);
            let fits = write_all_at(&*inner.file, &probe.bytes, inner.end).is_ok();
            let cut = again(|| inner.file.set_len(inner.end)).is_ok();
            let trouble = match inner.trouble.take() {
                Some(Trouble::Write { why, bytes, .. }) if !(fits && cut) => {
                    Some(Trouble::Write { why, bytes, must_cut: !cut })
                }
                _ => None,
            };
            // ORDERING: Release, as in `set_trouble`.
            self.in_trouble.store(trouble.is_some(), Ordering::Release);
            inner.trouble = trouble;
        }
        drop(inner);
        self.wake_waiting();
    }

    pub(super) fn set_trouble(&self, inner: &mut Inner, trouble: Trouble) {
        inner.last_error = Some(refusal(&trouble).0);
        // ORDERING: Release, with the Acquire of those who look without the lock.
        self.poisoned.store(matches!(trouble, Trouble::Sync { .. }), Ordering::Release);
        self.displaced.store(matches!(trouble, Trouble::Displaced { .. }), Ordering::Release);
        inner.trouble = Some(trouble);
        self.in_trouble.store(true, Ordering::Release);
    }

    /// The log is where it has to be again.
    pub(super) fn end_displaced(&self, inner: &mut Inner) {
        if matches!(inner.trouble, Some(Trouble::Displaced { .. })) {
            inner.trouble = None;
            // ORDERING: Release, as in `set_trouble`.
            self.displaced.store(false, Ordering::Release);
            self.in_trouble.store(false, Ordering::Release);
        }
    }

    /// # Errors
    ///
    /// [`Refused`] if the log is in trouble.
    pub(super) fn refuse(&self, inner: &Inner) -> Result<(), Refused> {
        inner.trouble.as_ref().map_or(Ok(()), |trouble| {
            let Refused(why) = refusal(trouble);
            let path = self.store.path(&segment_path(inner.segment));
            Err(Refused(format!("{}: {why}", path.display())))
        })
    }
}

const fn frame_bytes() -> usize {
    super::frame::HEADER_BYTES
}

pub(super) fn refusal(trouble: &Trouble) -> Refused {
    Refused(match trouble {
        Trouble::Write { why, bytes, .. } => format!(
            "nothing can be written ({why}): free at least {bytes} bytes there, and writing \
             resumes by itself; queries continue"
        ),
        Trouble::Sync { why } => format!(
            "the disk failed to store what was written ({why}): nothing is accepted until the disk \
             is checked and the server is restarted; queries continue"
        ),
        Trouble::Displaced { what } => format!(
            "{what} while the server was writing: nothing is accepted until all filters are saved \
             again, which it tries by itself; queries continue"
        ),
        Trouble::Closed => "the server is shutting down".to_owned(),
    })
}
