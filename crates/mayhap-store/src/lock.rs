//! The lock that the writers of a filter take in turns.
//!
//! It is an exclusive `flock` on the file `.NAME.mayhap-lck` beside the filter, not on the filter
//! itself, which is replaced again and again: a lock on a replaced file protects nothing. The
//! holder removes the lock file, so after locking it a process checks that the name still refers to
//! it.
//!
//! ```text
//! mayhap-lock              so that no other file is taken for one
//! 4711 mayhap add          process and verb of the holder
//! …                        a byte at offset 4096: somebody waits
//! ```

use crate::disk::{
    self, Disk, DiskFile, Entry, How, Lock, is_at, look_for, read_up_to, write_all_at,
};
use crate::file::{rename_with, resolve_links};
use crate::{Error, Holder};
use std::fmt;
use std::io::{self, ErrorKind};
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

const MAGIC: &[u8] = b"mayhap-lock\n";
/// The offset at which waiters write a byte: far behind what a holder writes about itself.
const MARK: u64 = 4096;
/// The longest line about the holder that is read.
const MAX_HOLDER_BYTES: usize = 200;

/// The time between two attempts on a taken lock: at first, and at most.
const FIRST_PAUSE: Duration = Duration::from_millis(1);
const LONGEST_PAUSE: Duration = Duration::from_millis(50);
/// How long a holder that gave way leaves the lock to others before it competes again: two attempts
/// of a waiter.
const GIVES_WAY: Duration = Duration::from_millis(100);

/// The information available while waiting for a lock.
#[derive(Debug, Clone, Copy)]
pub struct Wait<'a> {
    /// The filter.
    pub path: &'a Path,
    /// The holder of its lock, if it could be read.
    pub holder: Option<&'a Holder>,
    /// The time since the wait began.
    pub waited: Duration,
}

type OnWait = Box<dyn FnMut(&Wait<'_>) -> ControlFlow<()> + Send>;

/// How a lock is taken: the purpose, how long to wait for it, and what to do meanwhile.
///
/// # Examples
///
/// ```
/// use mayhap_store::{Error, FilterLock, LockOptions};
/// use std::time::Duration;
///
/// # let folder = tempfile::tempdir()?;
/// # let path = &folder.path().join("seen.mayhap");
/// let first = FilterLock::take(path, &mut LockOptions::new("import"))?;
/// // Does not wait: the lock is held.
/// let refused = FilterLock::take(path, &mut LockOptions::new("clean up")).unwrap_err();
/// let Error::Locked { holder: Some(holder), .. } = refused else { panic!("{refused}") };
/// assert_eq!((holder.process, holder.verb.as_str()), (std::process::id(), "import"));
/// drop(first);
/// FilterLock::take(path, &mut LockOptions::new("clean up").timeout(Duration::from_secs(9)))?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct LockOptions {
    verb: String,
    timeout: Duration,
    on_wait: Option<OnWait>,
}

impl LockOptions {
    /// Sets the purpose, which is shown to others while they wait; control characters are left out.
    /// By default it does not wait.
    pub fn new(verb: &str) -> Self {
        let verb = verb.chars().filter(|char| !char.is_control()).take(80).collect();
        Self { verb, timeout: Duration::ZERO, on_wait: None }
    }

    /// Waits for the lock for this long.
    #[must_use]
    pub fn timeout(self, timeout: Duration) -> Self {
        Self { timeout, ..self }
    }

    /// Calls this about twenty times a second while waiting, and stops waiting if it returns
    /// `Break`.
    #[must_use]
    pub fn on_wait(
        self,
        on_wait: impl FnMut(&Wait<'_>) -> ControlFlow<()> + Send + 'static,
    ) -> Self {
        Self { on_wait: Some(Box::new(on_wait)), ..self }
    }
}

impl fmt::Debug for LockOptions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { verb, timeout, .. } = self;
        f.debug_struct("LockOptions").field("verb", verb).field("timeout", timeout).finish()
    }
}

/// The right to change, create or replace the filter at a path, until this is dropped.
///
/// Readers do not need it. Every writer in this crate takes it; it does not keep other programs
/// away. Two symbolic links to the same file share a lock, two hard links do not. On file systems
/// without locks it is always free.
#[derive(Debug)]
pub struct FilterLock {
    disk: Arc<dyn Disk>,
    file: Box<dyn DiskFile>,
    lock_path: PathBuf,
    path: PathBuf,
    since: Duration,
    is_released: bool,
    /// The process that took it: a child has the file, but the lock is not its own.
    process: u32,
}

impl FilterLock {
    /// Takes the lock of the filter at `path`, which need not exist. Symbolic links are followed.
    ///
    /// # Errors
    ///
    /// [`Error::Locked`] if another process holds it for longer than the options say;
    /// [`Error::WaitStopped`] if the options' callback breaks; [`Error::NotALock`] if a file of
    /// another kind has the lock's name; [`Error::Io`].
    pub fn take(path: &Path, options: &mut LockOptions) -> Result<Self, Error> {
        Self::take_on(disk::real(), path, options)
    }

    /// [`FilterLock::take`] on a disk.
    pub(crate) fn take_on(
        disk: Arc<dyn Disk>,
        path: &Path,
        options: &mut LockOptions,
    ) -> Result<Self, Error> {
        let path = resolve_links(&*disk, path)?;
        let lock_path = rename_with(&path, ".", ".mayhap-lck")?;
        let started = disk.now();
        let mut pause = FIRST_PAUSE;
        loop {
            let file = open(&*disk, &lock_path)?;
            if try_lock(&*file, &lock_path)? {
                if !is_at(&*disk, &*file, &lock_path)? {
                    continue; // Its holder has removed it, or it is a link.
                }
                check_ours(&*file, &lock_path)?;
                let (since, process) = (disk.now(), std::process::id());
                let is_released = false;
                let lock = Self { disk, file, lock_path, path, since, is_released, process };
                lock.write_holder(&options.verb);
                return Ok(lock);
            }
            let (holder, waited) = (read_holder(&*file), disk.now().saturating_sub(started));
            if holder.is_some() {
                // Best effort: without it, the holder may keep the lock as long as it wants.
                let _ = file.write_at(b"w", MARK);
            }
            if waited >= options.timeout {
                return Err(Error::Locked { path, lock_path, holder, waited });
            }
            let wait = Wait { path: &path, holder: holder.as_ref(), waited };
            if options.on_wait.as_mut().is_some_and(|on_wait| on_wait(&wait).is_break()) {
                return Err(Error::WaitStopped { path });
            }
            disk.pause(pause.min(options.timeout.saturating_sub(waited)));
            pause = (pause * 2).min(LONGEST_PAUSE);
        }
    }

    /// The filter's path, with symbolic links followed.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Whether another process is waiting for the lock. Costs one query of a file's length.
    pub fn is_wanted(&self) -> bool {
        self.file.look().is_ok_and(|entry| entry.bytes > MARK)
    }

    /// How long it has been held.
    pub(crate) fn held_for(&self) -> Duration {
        self.disk.now().saturating_sub(self.since)
    }

    pub(crate) fn disk(&self) -> &Arc<dyn Disk> {
        &self.disk
    }

    /// Gives the lock up for a while, to the waiters, before the caller takes it again.
    pub(crate) fn give_way(mut self) -> GaveWay {
        let is_wanted = self.is_wanted();
        if is_wanted {
            // The name stays, and with it the mark, until another holder removes it.
            self.is_released = true;
            let _ = self.file.unlock();
        }
        let (disk, lock_path) = (Arc::clone(&self.disk), self.lock_path.clone());
        drop(self);
        GaveWay { disk, lock_path, is_wanted }
    }

    /// Writes the holder into the file and removes the marks of waiters: those still waiting make
    /// new ones. It is only information for people, so an error does not affect the lock.
    fn write_holder(&self, verb: &str) {
        let line = format!("{} {verb}\n", std::process::id());
        let text = [MAGIC, line.as_bytes()].concat();
        let _ = self.file.set_len(0).and_then(|()| write_all_at(&*self.file, &text, 0));
    }
}

impl Drop for FilterLock {
    fn drop(&mut self) {
        // A child that drops its copy only closes the file: the lock is still its parent's.
        if !self.is_released && self.process == std::process::id() {
            // A leftover is harmless; if a user removed this lock, another process may have one of
            // that name, which must stay.
            if is_at(&*self.disk, &*self.file, &self.lock_path).unwrap_or(false) {
                let _ = self.disk.remove(&self.lock_path);
            }
            // Closing alone does not free the lock while a child process, forked by another thread
            // and not yet executing its own program, has inherited the file.
            let _ = self.file.unlock();
        }
    }
}

/// A lock that was given up.
#[derive(Debug)]
#[must_use]
pub(crate) struct GaveWay {
    disk: Arc<dyn Disk>,
    lock_path: PathBuf,
    is_wanted: bool,
}

impl GaveWay {
    /// Lets one of the waiters go first: waits until one of them has the lock, but not for long, as
    /// they may have stopped waiting.
    pub(crate) fn let_others_go_first(self) {
        if !self.is_wanted {
            return;
        }
        let until = self.disk.now() + GIVES_WAY;
        let is_marked = |entry: io::Result<Entry>| entry.is_ok_and(|entry| entry.bytes > MARK);
        while self.disk.now() < until && is_marked(self.disk.look(&self.lock_path, false)) {
            self.disk.pause(GIVES_WAY / 20);
        }
    }
}

/// Opens or creates a lock file.
fn open(disk: &dyn Disk, path: &Path) -> Result<Box<dyn DiskFile>, Error> {
    // Before the open, which would wait for the other end of a pipe, or follow a link.
    if let Some(entry) = look_for(disk, path, false)?
        && entry.not_regular.is_some()
    {
        return Err(Error::NotALock { path: path.into() });
    }
    match disk.open(path, How::Create { private: false }) {
        // It belongs to another user: it can be locked, though not marked.
        Err(error) if error.kind() == ErrorKind::PermissionDenied => disk.open(path, How::Read),
        opened => opened,
    }
    .map_err(Error::io("create", path))
}

/// Whether the lock was free; on file systems without locks it always is.
fn try_lock(file: &dyn DiskFile, path: &Path) -> Result<bool, Error> {
    match file.try_lock(Lock::Exclusive) {
        Err(error) if error.kind() == ErrorKind::Unsupported => Ok(true),
        locked => locked.map_err(Error::io("lock", path)),
    }
}

/// A file that is neither empty nor a lock belongs to another program and is left alone.
fn check_ours(file: &dyn DiskFile, path: &Path) -> Result<(), Error> {
    let mut start = [0; MAGIC.len()];
    let found = read_up_to(file, &mut start, 0).map_err(Error::io("read", path))?;
    // A torn write leaves a beginning; a waiter's mark alone leaves zeros.
    if MAGIC.starts_with(&start[..found]) || start.iter().all(|&byte| byte == 0) {
        return Ok(());
    }
    // The lock is given up with the file, whose name stays.
    let _ = file.unlock();
    Err(Error::NotALock { path: path.into() })
}

fn read_holder(file: &dyn DiskFile) -> Option<Holder> {
    let mut bytes = [0; MAX_HOLDER_BYTES];
    let found = read_up_to(file, &mut bytes, 0).ok()?;
    let line = bytes[..found].strip_prefix(MAGIC)?.split(|&byte| byte == b'\n').next()?;
    let line = std::str::from_utf8(line).ok()?;
    let (process, verb) = line.split_once(' ').unwrap_or((line, ""));
    // What another process wrote may be printed on a terminal.
    let verb = verb.chars().filter(|char| !char.is_control()).collect();
    Some(Holder { process: process.parse().ok()?, verb })
}
