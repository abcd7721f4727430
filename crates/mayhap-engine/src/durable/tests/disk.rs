//! A disk in memory that records its calls, and may refuse them.

use crate::durable::disk::{Disk, DiskFile, FileId};
use crate::sync::{Mutex, MutexGuard};
use mayhap_store::Positioned;
use std::collections::BTreeMap;
use std::io;
use std::sync::Arc;

/// The calls of a disk, and other events.
#[derive(Debug, Clone)]
pub(crate) enum Event {
    Write {
        inode: usize,
        at: usize,
        bytes: Vec<u8>,
    },
    SetLen {
        inode: usize,
        bytes: usize,
    },
    /// A prefix of a write, and zeros up to its end where there was nothing before: a disk writes a
    /// sector or does not, it does not empty it.
    Torn {
        inode: usize,
        at: usize,
        bytes: Vec<u8>,
        end: usize,
    },
    Sync {
        inode: usize,
    },
    /// Writes since the last sync may be lost, and are.
    FailedSync {
        inode: usize,
    },
    Create {
        path: String,
        inode: usize,
    },
    Rename {
        from: String,
        to: String,
    },
    Remove {
        path: String,
    },
    SyncDir {
        path: String,
    },
    /// An event that matters to the test.
    Note(super::note::Note),
}

/// Names and contents.
#[derive(Debug, Clone, Default, PartialEq, Eq, Hash)]
pub(crate) struct Files {
    pub(crate) names: BTreeMap<String, usize>,
    pub(crate) contents: BTreeMap<usize, Vec<u8>>,
}

impl Files {
    pub(crate) fn apply(&mut self, event: &Event) {
        match event {
            Event::Write { inode, at, bytes } => {
                let contents = self.contents.entry(*inode).or_default();
                let end = at + bytes.len();
                contents.resize(contents.len().max(end), 0);
                contents[*at..end].copy_from_slice(bytes);
            }
            Event::Torn { inode, at, bytes, end } => {
                let contents = self.contents.entry(*inode).or_default();
                contents.resize(contents.len().max(*end), 0);
                contents[*at..at + bytes.len()].copy_from_slice(bytes);
            }
            Event::SetLen { inode, bytes } => {
                self.contents.entry(*inode).or_default().resize(*bytes, 0);
            }
            Event::Create { path, inode } => {
                self.names.insert(path.clone(), *inode);
                self.contents.entry(*inode).or_default();
            }
            Event::Rename { from, to } => {
                if let Some(inode) = self.names.remove(from) {
                    self.names.insert(to.clone(), inode);
                }
            }
            Event::Remove { path } => {
                self.names.remove(path);
            }
            Event::Sync { .. }
            | Event::FailedSync { .. }
            | Event::SyncDir { .. }
            | Event::Note(_) => {}
        }
    }

    /// Without contents that have no name.
    pub(crate) fn tidy(mut self) -> Self {
        let used: Vec<usize> = self.names.values().copied().collect();
        self.contents.retain(|inode, _| used.contains(inode));
        self
    }

    pub(crate) fn read(&self, path: &str) -> Vec<u8> {
        self.contents[&self.names[path]].clone()
    }
}

/// The result of a call instead of success.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Fault {
    Io,
    NoSpace,
    /// The same for writes only.
    Full,
    /// Half of the request, then an error if none of it is left to do.
    Short,
    Interrupted,
}

/// Which calls fail: the one with this number, and if `all` also the later ones.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Failing {
    pub(crate) fault: Fault,
    pub(crate) from: usize,
    pub(crate) all: bool,
}

#[derive(Debug, Default)]
pub(crate) struct State {
    pub(crate) files: Files,
    pub(crate) events: Vec<Event>,
    pub(crate) failing: Option<Failing>,
    pub(crate) calls: usize,
    pub(crate) struck: usize,
    pub(crate) at_start: Files,
    next_inode: usize,
    /// Whether another folder has taken its place.
    pub(crate) is_other: bool,
    /// Free bytes, if known.
    pub(crate) free: Option<u64>,
    /// The most bytes of all files together, if there is a limit.
    pub(crate) capacity: Option<usize>,
}

impl State {
    fn tell(&mut self, event: Event) {
        self.files.apply(&event);
        self.events.push(event);
    }

    /// Bytes of all files that have a name.
    pub(crate) fn bytes(&self) -> usize {
        self.files.names.values().map(|inode| self.files.contents[inode].len()).sum()
    }

    /// How many of these bytes of a write fit.
    fn fitting(&self, inode: usize, bytes: usize, offset: usize) -> usize {
        let Some(capacity) = self.capacity else { return bytes };
        let grows = (offset + bytes).saturating_sub(self.files.contents[&inode].len());
        bytes - grows.saturating_sub(capacity.saturating_sub(self.bytes())).min(bytes)
    }

    /// Whether this call has to fail, and how.
    fn fault(&mut self) -> Option<Fault> {
        let call = self.calls;
        self.calls += 1;
        let failing = self.failing?;
        let strikes = call == failing.from || failing.all && call > failing.from;
        if strikes && failing.fault == Fault::Interrupted && call != failing.from {
            return None;
        }
        self.struck += usize::from(strikes);
        strikes.then_some(failing.fault)
    }

    fn check(&mut self) -> io::Result<()> {
        match self.fault() {
            None | Some(Fault::Short | Fault::Interrupted | Fault::Full) => Ok(()),
            Some(Fault::Io) => Err(io::Error::from_raw_os_error(5)),
            Some(Fault::NoSpace) => Err(io::Error::from_raw_os_error(28)),
        }
    }

    /// The same for calls that a signal can interrupt.
    fn check_slow(&mut self) -> io::Result<()> {
        let (call, failing) = (self.calls, self.failing);
        self.check()?;
        match failing {
            Some(Failing { fault: Fault::Interrupted, from, .. }) if from == call => {
                Err(io::ErrorKind::Interrupted.into())
            }
            _ => Ok(()),
        }
    }
}

/// A disk in memory.
#[derive(Debug, Clone, Default)]
pub(crate) struct MemoryDisk(Arc<Mutex<State>>);

impl MemoryDisk {
    pub(crate) fn of(files: Files) -> Self {
        let next_inode = files.contents.keys().max().map_or(0, |inode| inode + 1);
        let at_start = files.clone();
        Self(Arc::new(Mutex::new(State { files, at_start, next_inode, ..State::default() })))
    }

    pub(crate) fn state(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap()
    }

    pub(crate) fn files(&self) -> Files {
        self.state().files.clone()
    }

    pub(crate) fn note(&self, note: super::note::Note) {
        self.state().events.push(Event::Note(note));
    }
}

#[derive(Debug)]
struct MemoryFile {
    disk: MemoryDisk,
    inode: usize,
}

fn not_found() -> io::Error {
    io::ErrorKind::NotFound.into()
}

impl Disk for MemoryDisk {
    fn create(&self, path: &str) -> io::Result<Arc<dyn DiskFile>> {
        let mut state = self.state();
        state.check()?;
        let inode = state.next_inode;
        state.next_inode += 1;
        state.tell(Event::Create { path: path.to_owned(), inode });
        Ok(Arc::new(MemoryFile { disk: self.clone(), inode }))
    }

    fn open(&self, path: &str) -> io::Result<Arc<dyn DiskFile>> {
        let mut state = self.state();
        state.check()?;
        let inode = *state.files.names.get(path).ok_or_else(not_found)?;
        Ok(Arc::new(MemoryFile { disk: self.clone(), inode }))
    }

    fn rename(&self, from: &str, to: &str) -> io::Result<()> {
        let mut state = self.state();
        state.check()?;
        if !state.files.names.contains_key(from) {
            return Err(not_found());
        }
        state.tell(Event::Rename { from: from.to_owned(), to: to.to_owned() });
        Ok(())
    }

    fn remove(&self, path: &str) -> io::Result<()> {
        let mut state = self.state();
        state.check()?;
        if !state.files.names.contains_key(path) {
            return Err(not_found());
        }
        state.tell(Event::Remove { path: path.to_owned() });
        Ok(())
    }

    fn sync_dir(&self, path: &str) -> io::Result<()> {
        let mut state = self.state();
        state.check_slow()?;
        state.tell(Event::SyncDir { path: path.to_owned() });
        Ok(())
    }

    fn list(&self, path: &str) -> io::Result<Vec<String>> {
        let mut state = self.state();
        state.check()?;
        let of = |name: &String| {
            let (folder, file) = name.rsplit_once('/').unwrap_or(("", name));
            (folder == path).then(|| file.to_owned())
        };
        Ok(state.files.names.keys().filter_map(of).collect())
    }

    fn create_dir(&self, _: &str) -> io::Result<()> {
        self.state().check()
    }

    // Read-only checks are not among the calls that fail.
    fn id(&self, path: &str) -> io::Result<FileId> {
        let inode = *self.state().files.names.get(path).ok_or_else(not_found)?;
        Ok(FileId(0, inode as u64))
    }

    fn free_bytes(&self) -> Option<u64> {
        self.state().free
    }

    fn is_ours(&self) -> io::Result<bool> {
        Ok(!self.state().is_other)
    }
}

impl Positioned for MemoryFile {
    fn read_at(&self, buffer: &mut [u8], offset: u64) -> io::Result<usize> {
        let mut state = self.disk.state();
        let calls = state.calls;
        state.check_slow()?;
        let short = state.failing.is_some_and(|f| f.fault == Fault::Short && f.from == calls);
        let contents = &state.files.contents[&self.inode];
        let rest = contents.get(offset as usize..).unwrap_or_default();
        let mut found = rest.len().min(buffer.len());
        if short && found > 1 {
            found /= 2;
        }
        buffer[..found].copy_from_slice(&rest[..found]);
        Ok(found)
    }

    fn write_at(&self, bytes: &[u8], offset: u64) -> io::Result<usize> {
        let mut state = self.disk.state();
        let fault = state.fault();
        let written = match fault {
            None => match state.fitting(self.inode, bytes.len(), offset as usize) {
                0 if !bytes.is_empty() => return Err(io::Error::from_raw_os_error(28)),
                fitting => fitting,
            },
            Some(Fault::Interrupted) => return Err(io::ErrorKind::Interrupted.into()),
            Some(Fault::Io) => return Err(io::Error::from_raw_os_error(5)),
            // The last bytes of the disk, and an error at the next call.
            Some(Fault::NoSpace | Fault::Full) if bytes.len() < 2 => {
                return Err(io::Error::from_raw_os_error(28));
            }
            Some(Fault::NoSpace | Fault::Full) => {
                let (inode, at) = (self.inode, offset as usize);
                let bytes = bytes[..bytes.len() / 2].to_vec();
                state.tell(Event::Write { inode, at, bytes });
                return Err(io::Error::from_raw_os_error(28));
            }
            Some(Fault::Short) => bytes.len().div_ceil(2),
        };
        let (inode, at, bytes) = (self.inode, offset as usize, bytes[..written].to_vec());
        state.tell(Event::Write { inode, at, bytes });
        Ok(written)
    }
}

impl DiskFile for MemoryFile {
    fn bytes(&self) -> io::Result<u64> {
        let mut state = self.disk.state();
        state.check()?;
        Ok(state.files.contents[&self.inode].len() as u64)
    }

    fn set_len(&self, bytes: u64) -> io::Result<()> {
        let mut state = self.disk.state();
        state.check_slow()?;
        state.tell(Event::SetLen { inode: self.inode, bytes: bytes as usize });
        Ok(())
    }

    fn sync(&self) -> io::Result<()> {
        let mut state = self.disk.state();
        let result = state.check_slow();
        let inode = self.inode;
        match &result {
            Ok(()) => state.tell(Event::Sync { inode }),
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(_) => state.tell(Event::FailedSync { inode }),
        }
        result
    }

    fn id(&self) -> io::Result<FileId> {
        Ok(FileId(0, self.inode as u64))
    }
}
