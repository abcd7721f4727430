//! The lock that the writers of a filter take in turns.
//!
//! It is an exclusive `flock` on the file `.NAME.mayhap-lck` beside the filter, not on the filter
//! itself, which is replaced repeatedly: a lock on a replaced file protects nothing. The holder
//! removes the lock file, so after locking it a process checks that the name still refers to it.
//!
//! ```text
//! mayhap-lock              so that no other file is taken for one
//! 4711 mayhap add          process and verb of the holder
//! …                        a byte at offset 4096: somebody waits
//! ```
//!
//! Where the file system has no locks, writers may agree on a file that only one of them can
//! create, `.NAME.mayhap-own` ([`LockKind::Folder`]), with the same lines and the machine's name.

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
/// The offset at which waiters write a byte: far behind the text that a holder writes about itself.
const MARK: u64 = 4096;
/// The longest line about the holder that is read.
const MAX_HOLDER_BYTES: usize = 200;

/// The time between two attempts on a taken lock: at first, and at most.
const FIRST_PAUSE: Duration = Duration::from_millis(1);
const LONGEST_PAUSE: Duration = Duration::from_millis(50);
/// The time that a holder that gave way leaves the lock to others before it competes again: two
/// attempts of a waiter.
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

/// The mechanism that keeps other writers of a filter away.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub enum LockKind {
    /// A lock of the operating system, which ends with the process that holds it, however that
    /// ends. A file system without such locks is an error.
    #[default]
    System,
    /// A file that only one process can create, and the system's lock where there is one. All
    /// writers on a file system without locks must use it. It stays after kill -9 and after a stop
    /// of the machine: then it has to be removed by hand.
    Folder,
    /// The system's lock where there is one, otherwise nothing: for filters that no other process
    /// changes.
    None,
}

type OnWait = Box<dyn FnMut(&Wait<'_>) -> ControlFlow<()> + Send>;

/// The options for taking a lock: the purpose, the time to wait for it, and a callback meanwhile.
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
    kind: LockKind,
    timeout: Duration,
    on_wait: Option<OnWait>,
}

impl LockOptions {
    /// Sets the purpose, which is shown to others while they wait; control characters are left out.
    /// By default it does not wait.
    pub fn new(verb: &str) -> Self {
        let verb = verb.chars().filter(|char| !char.is_control()).take(80).collect();
        Self { verb, kind: LockKind::default(), timeout: Duration::ZERO, on_wait: None }
    }

    /// Chooses the mechanism that keeps other writers away.
    #[must_use]
    pub fn kind(self, kind: LockKind) -> Self {
        Self { kind, ..self }
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
        let Self { verb, kind, timeout, .. } = self;
        f.debug_struct("LockOptions")
            .field("verb", verb)
            .field("kind", kind)
            .field("timeout", timeout)
            .finish()
    }
}

/// The right to change, create or replace the filter at a path, until this is dropped.
///
/// Readers do not need it. Every writer in this crate takes it; it does not keep other programs
/// away. Two symbolic links to the same file share a lock, two hard links do not.
#[derive(Debug)]
pub struct FilterLock {
    disk: Arc<dyn Disk>,
    file: Box<dyn DiskFile>,
    claim: Option<Claim>,
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
    /// [`Error::Locked`] if another process holds it for longer than the options allow;
    /// [`Error::WaitStopped`] if the options' callback breaks; [`Error::NoLocks`] if the file
    /// system has no locks, unless the options' [`LockKind`] has another way; [`Error::NotALock`]
    /// if a file of another kind has the lock's name; [`Error::Io`].
    pub fn take(path: &Path, options: &mut LockOptions) -> Result<Self, Error> {
        Self::take_on(disk::real(), path, options)
    }

    /// Like [`FilterLock::take`], but on a given disk.
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
            let taken = try_take(&disk, (&*file, &lock_path), &path, options)?;
            if let Taken::Held(claim) = taken {
                if !is_at(&*disk, &*file, &lock_path)? {
                    continue; // Its holder has removed it, or it is a link.
                }
                check_ours(&*file, &lock_path)?;
                let (since, process) = (disk.now(), std::process::id());
                let is_released = false;
                let lock = Self { disk, file, claim, lock_path, path, since, is_released, process };
                lock.write_holder(&options.verb);
                return Ok(lock);
            }
            let waited = disk.now().saturating_sub(started);
            let (holder, held) = match taken {
                Taken::Claimed(claim) => (holder_at(&*disk, &claim), Some(claim)),
                _ => (read_holder(&*file), None),
            };
            if holder.is_some() {
                // Best effort: without it, the holder may keep the lock for any time.
                let _ = file.write_at(b"w", MARK);
            }
            if waited >= options.timeout {
                let is_left_behind = held.is_some();
                let lock_path = held.unwrap_or(lock_path);
                return Err(Error::Locked { path, lock_path, holder, waited, is_left_behind });
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

    /// Whether another process is waiting for the lock. Costs one system call for a file's length.
    pub fn is_wanted(&self) -> bool {
        self.file.look().is_ok_and(|entry| entry.bytes > MARK)
    }

    /// The time for which it has been held.
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
            self.claim = None;
        }
        let (disk, lock_path) = (Arc::clone(&self.disk), self.lock_path.clone());
        drop(self);
        GaveWay { disk, lock_path, is_wanted }
    }

    /// Writes the holder into the file and removes the marks of waiters: those still waiting make
    /// new ones. This is for information only, so an error does not affect the lock.
    fn write_holder(&self, verb: &str) {
        let text = [MAGIC, &holder_line(verb)].concat();
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

/// A released lock.
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

/// An attempt to take a lock.
enum Taken {
    /// It was free.
    Held(Option<Claim>),
    /// Another process holds the system's lock.
    Locked,
    /// Another process has created the file of this name, or had when it was killed.
    Claimed(PathBuf),
}

/// Takes the lock if it is free.
fn try_take(
    disk: &Arc<dyn Disk>,
    (file, lock_path): (&dyn DiskFile, &Path),
    path: &Path,
    options: &LockOptions,
) -> Result<Taken, Error> {
    let mut claim = None;
    if options.kind == LockKind::Folder {
        let claimed = rename_with(path, ".", ".mayhap-own")?;
        claim = Claim::try_make(disk, &claimed, &options.verb)?;
        if claim.is_none() {
            return Ok(Taken::Claimed(claimed));
        }
    }
    match file.try_lock(Lock::Exclusive) {
        Ok(true) => Ok(Taken::Held(claim)),
        Ok(false) => Ok(Taken::Locked),
        Err(source) if has_no_locks(&source) => match options.kind {
            LockKind::System => {
                if source.kind() == ErrorKind::Unsupported {
                    // No process can hold it.
                    let _ = disk.remove(lock_path);
                }
                Err(Error::NoLocks { path: path.into(), source })
            }
            LockKind::Folder | LockKind::None => Ok(Taken::Held(claim)),
        },
        Err(source) => Err(Error::io("lock", lock_path)(source)),
    }
}

/// Whether it is the error of a file system, or of a server of one, without locks.
fn has_no_locks(error: &io::Error) -> bool {
    /// The numbers on Linux and on the BSDs; neither is the number of another error of `flock`.
    const ENOLCK: [i32; 2] = [37, 77];
    /// On every Unix; some file systems return it for a lock, of a file that is open.
    const EBADF: i32 = 9;
    let number = error.raw_os_error().filter(|_| cfg!(unix)).unwrap_or(0);
    matches!(error.kind(), ErrorKind::Unsupported | ErrorKind::InvalidInput)
        || ENOLCK.contains(&number)
        || number == EBADF
}

/// A file that only one process can create, removed when this is dropped.
#[derive(Debug)]
struct Claim {
    disk: Arc<dyn Disk>,
    path: PathBuf,
    /// The process that created it: in a child it is still its parent's.
    process: u32,
}

impl Claim {
    /// Creates the file, unless another process has.
    fn try_make(disk: &Arc<dyn Disk>, path: &Path, verb: &str) -> Result<Option<Self>, Error> {
        match disk.open(path, How::CreateNew { private: false }) {
            Ok(file) => {
                // For a user who finds it after a crash.
                let machine = std::fs::read("/proc/sys/kernel/hostname").unwrap_or_default();
                let text = [MAGIC, &holder_line(verb), &machine].concat();
                let _ = write_all_at(&*file, &text, 0);
                let (disk, process) = (Arc::clone(disk), std::process::id());
                Ok(Some(Self { disk, path: path.into(), process }))
            }
            Err(error) if error.kind() == ErrorKind::AlreadyExists => Ok(None),
            Err(error) => Err(Error::io("create", path)(error)),
        }
    }
}

impl Drop for Claim {
    fn drop(&mut self) {
        if self.process == std::process::id() {
            // A claim that stays is reported to the next writer.
            let _ = self.disk.remove(&self.path);
        }
    }
}

fn holder_line(verb: &str) -> Vec<u8> {
    format!("{} {verb}\n", std::process::id()).into_bytes()
}

fn holder_at(disk: &dyn Disk, path: &Path) -> Option<Holder> {
    read_holder(&*disk.open(path, How::Read).ok()?)
}

/// A file that is neither empty nor a lock belongs to another program and is left alone.
fn check_ours(file: &dyn DiskFile, path: &Path) -> Result<(), Error> {
    let mut start = [0; MAGIC.len()];
    let found = read_up_to(file, &mut start, 0).map_err(Error::io("read", path))?;
    // A torn write leaves a beginning; a waiter's mark alone leaves zeros.
    if MAGIC.starts_with(&start[..found]) || start.iter().all(|&byte| byte == 0) {
        return Ok(());
    }
    // The lock is released with the file, whose name stays.
    let _ = file.unlock();
    Err(Error::NotALock { path: path.into() })
}

fn read_holder(file: &dyn DiskFile) -> Option<Holder> {
    let mut bytes = [0; MAX_HOLDER_BYTES];
    let found = read_up_to(file, &mut bytes, 0).ok()?;
    let line = bytes[..found].strip_prefix(MAGIC)?.split(|&byte| byte == b'\n').next()?;
    let line = std::str::from_utf8(line).ok()?;
    let (process, verb) = line.split_once(' ').unwrap_or((line, ""));
    // The text of another process may be printed on a terminal.
    let verb = verb.chars().filter(|char| !char.is_control()).collect();
    Some(Holder { process: process.parse().ok()?, verb })
}
