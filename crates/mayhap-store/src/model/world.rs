//! A file system in memory that several processes use in turns, and in which each of their calls
//! may be their last. The process that continues after a call is drawn from a seed, so that a run
//! can be repeated.

use super::files::{Event, Files};
use crate::disk::{Disk, DiskFile, Entry, How, Lock, Positioned};
use crate::notice::Notice;
use std::collections::{BTreeMap, BTreeSet};
use std::fs::{File, Permissions};
use std::io::{self, ErrorKind};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Condvar, Mutex, MutexGuard};
use std::time::Duration;

/// `SplitMix64`.
#[derive(Debug, Clone)]
pub(super) struct Random(pub(super) u64);

impl Random {
    pub(super) fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        z ^ (z >> 31)
    }

    pub(super) fn below(&mut self, end: u64) -> u64 {
        self.next() % end
    }
}

/// An event, in order: a change to the disk, or a note of the test.
#[derive(Debug, Clone)]
pub(super) enum Entered<N> {
    Disk(Event),
    Note(N),
}

/// A process by number.
type Process = usize;

#[derive(Debug)]
pub(super) struct State<N> {
    pub(super) files: Files,
    pub(super) entries: Vec<Entered<N>>,
    random: Random,
    time: Duration,
    next: u64,
    /// Locks by file: the open file and its process.
    locks: BTreeMap<u64, Vec<(u64, Process, Lock)>>,
    /// Whose turn it is; `None` in a world of one process.
    turn: Option<Process>,
    alive: BTreeSet<Process>,
    killed: BTreeSet<Process>,
    /// In the middle of a write, which the system finishes whatever happens to the process.
    writing: BTreeSet<Process>,
    /// Of 1024 calls, this many are the last one of their process.
    kills: u64,
}

impl<N> State<N> {
    fn enter(&mut self, event: Event) {
        self.files.apply(&event);
        self.entries.push(Entered::Disk(event));
    }

    fn number(&mut self) -> u64 {
        self.next += 1;
        self.next
    }

    fn inode(&self, path: &Path) -> io::Result<u64> {
        self.files.names.get(path).copied().ok_or_else(|| ErrorKind::NotFound.into())
    }

    fn entry(&self, inode: u64) -> Entry {
        Entry {
            not_regular: None,
            id: Some((1, inode)),
            links: self.files.links(inode),
            bytes: self.files.contents[&inode].len() as u64,
            permissions: None,
        }
    }

    /// Draws the next process, and whether one is killed.
    fn draw(&mut self) {
        let number = self.random.next();
        if number % 1024 < self.kills && !self.alive.is_empty() {
            let victim = self.nth_alive(number >> 32);
            if !self.writing.contains(&victim) {
                self.alive.remove(&victim);
                self.killed.insert(victim);
                self.locks.values_mut().for_each(|locks| locks.retain(|&(_, of, _)| of != victim));
            }
        }
        self.turn = (!self.alive.is_empty()).then(|| {
            let draw = self.random.next();
            // Mostly the same process continues, so that some get far.
            match self.turn.filter(|turn| self.alive.contains(turn) && draw % 8 < 5) {
                Some(turn) => turn,
                None => self.nth_alive(draw >> 32),
            }
        });
    }

    fn nth_alive(&self, draw: u64) -> Process {
        let place = (draw % self.alive.len() as u64) as usize;
        *self.alive.iter().nth(place).expect("below the number of them")
    }
}

fn killed() -> io::Error {
    io::Error::other("the process was killed")
}

/// The body of a process, which gets its number.
pub(super) type Body<N> = Box<dyn FnOnce(&World<N>, Process) + Send>;

/// A file system and its processes. `N` is the type of a test's notes between its events.
#[derive(Debug)]
pub(super) struct World<N>(Arc<(Mutex<State<N>>, Condvar)>);

impl<N> Clone for World<N> {
    fn clone(&self) -> Self {
        Self(Arc::clone(&self.0))
    }
}

impl<N: std::fmt::Debug + Send + 'static> World<N> {
    pub(super) fn new(files: Files, seed: u64) -> Self {
        let next = files.contents.keys().max().copied().unwrap_or(0);
        let state = State {
            files,
            entries: Vec::new(),
            random: Random(seed),
            time: Duration::ZERO,
            next,
            locks: BTreeMap::new(),
            turn: None,
            alive: BTreeSet::new(),
            killed: BTreeSet::new(),
            writing: BTreeSet::new(),
            kills: 0,
        };
        Self(Arc::new((Mutex::new(state), Condvar::new())))
    }

    pub(super) fn state(&self) -> MutexGuard<'_, State<N>> {
        self.0.0.lock().unwrap()
    }

    /// The disk as this process sees it.
    pub(super) fn disk(&self, process: Process) -> Arc<dyn Disk> {
        Arc::new(Seen { world: self.clone(), process })
    }

    /// Lets these run at once, each on its own thread, until all have ended; `kills` of 1024 calls
    /// are the last of one of them.
    pub(super) fn run(&self, kills: u64, processes: Vec<Body<N>>) {
        {
            let mut state = self.state();
            (state.alive, state.kills) = ((0..processes.len()).collect(), kills);
            state.killed.clear();
            state.draw();
        }
        std::thread::scope(|scope| {
            for (process, body) in processes.into_iter().enumerate() {
                scope.spawn(move || {
                    let ended = Ended { world: self, process };
                    if self.wait_for_turn(process, self.state()).is_ok() {
                        body(self, process);
                    }
                    drop(ended);
                });
            }
        });
        let mut state = self.state();
        (state.turn, state.kills) = (None, 0);
        state.locks.clear();
        state.killed.clear();
    }

    fn wait_for_turn<'a>(
        &'a self,
        process: Process,
        mut state: MutexGuard<'a, State<N>>,
    ) -> io::Result<MutexGuard<'a, State<N>>> {
        loop {
            if state.killed.contains(&process) {
                return Err(killed());
            }
            if state.turn.is_none_or(|turn| turn == process) {
                return Ok(state);
            }
            state = self.0.1.wait(state).unwrap();
        }
    }

    /// A call: before it any process may be scheduled, and this one may be killed.
    fn call<T>(
        &self,
        process: Process,
        call: impl FnOnce(&mut State<N>) -> io::Result<T>,
    ) -> io::Result<T> {
        let mut state = self.state();
        if state.killed.contains(&process) {
            return Err(killed());
        }
        if state.turn.is_some() {
            state.draw();
            self.0.1.notify_all();
            state = self.wait_for_turn(process, state)?;
        }
        call(&mut state)
    }

    /// Notes something at this moment, unless the process was killed.
    pub(super) fn note(&self, process: Process, note: N) {
        let mut state = self.state();
        if !state.killed.contains(&process) {
            state.entries.push(Entered::Note(note));
        }
    }
}

/// Passes the turn on when a process ends, in any way.
struct Ended<'a, N: std::fmt::Debug + Send + 'static> {
    world: &'a World<N>,
    process: Process,
}

impl<N: std::fmt::Debug + Send + 'static> Drop for Ended<'_, N> {
    fn drop(&mut self) {
        let mut state = self.world.state();
        let process = self.process;
        state.alive.remove(&process);
        state.locks.values_mut().for_each(|locks| locks.retain(|&(_, of, _)| of != process));
        if state.turn == Some(process) {
            state.draw();
        }
        self.world.0.1.notify_all();
    }
}

/// A world as one process sees it.
#[derive(Debug)]
struct Seen<N> {
    world: World<N>,
    process: Process,
}

/// An open file of one process.
#[derive(Debug)]
struct SeenFile<N: std::fmt::Debug + Send + 'static> {
    world: World<N>,
    process: Process,
    inode: u64,
    handle: u64,
}

impl<N: std::fmt::Debug + Send + 'static> Disk for Seen<N> {
    fn open(&self, path: &Path, how: How) -> io::Result<Box<dyn DiskFile>> {
        let (inode, handle) = self.world.call(self.process, |state| {
            let there = state.inode(path).ok();
            let inode = match (how, there) {
                (How::CreateNew { .. }, Some(_)) => return Err(ErrorKind::AlreadyExists.into()),
                (How::Read | How::Change, None) => return Err(ErrorKind::NotFound.into()),
                (_, Some(inode)) => inode,
                (How::Create { .. } | How::CreateNew { .. }, None) => {
                    let inode = state.number();
                    state.enter(Event::Create { path: path.into(), inode });
                    inode
                }
            };
            Ok((inode, state.number()))
        })?;
        let (world, process) = (self.world.clone(), self.process);
        Ok(Box::new(SeenFile { world, process, inode, handle }))
    }

    fn look(&self, path: &Path, _: bool) -> io::Result<Entry> {
        self.world.call(self.process, |state| Ok(state.entry(state.inode(path)?)))
    }

    fn read_link(&self, _: &Path) -> io::Result<PathBuf> {
        Err(ErrorKind::InvalidInput.into())
    }

    fn rename(&self, from: &Path, to: &Path) -> io::Result<()> {
        self.world.call(self.process, |state| {
            let inode = state.inode(from)?;
            state.enter(Event::Rename { from: from.into(), to: to.into(), inode });
            Ok(())
        })
    }

    fn hard_link(&self, from: &Path, to: &Path) -> io::Result<()> {
        self.world.call(self.process, |state| {
            let inode = state.inode(from)?;
            if state.inode(to).is_ok() {
                return Err(ErrorKind::AlreadyExists.into());
            }
            state.enter(Event::Link { to: to.into(), inode });
            Ok(())
        })
    }

    fn remove(&self, path: &Path) -> io::Result<()> {
        self.world.call(self.process, |state| {
            state.inode(path)?;
            state.enter(Event::Remove { path: path.into() });
            Ok(())
        })
    }

    fn sync_folder(&self, _: &Path) -> io::Result<()> {
        self.world.call(self.process, |state| {
            state.enter(Event::SyncFolder);
            Ok(())
        })
    }

    fn now(&self) -> Duration {
        self.world.state().time
    }

    fn pause(&self, time: Duration) {
        // A killed process no longer sleeps.
        let _ = self.world.call(self.process, |state| {
            state.time += time;
            Ok(())
        });
    }

    fn random(&self) -> u128 {
        let mut state = self.world.state();
        (u128::from(state.random.next()) << 64 | u128::from(state.random.next())).max(1)
    }

    fn report(&self, _: Notice) {}
}

impl<N: std::fmt::Debug + Send + 'static> Positioned for SeenFile<N> {
    fn read_at(&self, bytes: &mut [u8], offset: u64) -> io::Result<usize> {
        self.world.call(self.process, |state| {
            let contents = &state.files.contents[&self.inode];
            let rest = contents.get(offset as usize..).unwrap_or_default();
            let found = rest.len().min(bytes.len());
            bytes[..found].copy_from_slice(&rest[..found]);
            Ok(found)
        })
    }

    fn write_at(&self, bytes: &[u8], offset: u64) -> io::Result<usize> {
        let (inode, at) = (self.inode, offset as usize);
        // Another process may read while the system copies the bytes, and see a part of them. A
        // write that began is finished: no process is killed in between.
        let half = bytes.len() / 2;
        let is_seen_torn = self.world.call(self.process, |state| {
            let is_seen_torn = state.turn.is_some() && half > 0 && state.random.below(2) == 0;
            if is_seen_torn {
                let bytes = bytes[..half].to_vec();
                state.files.apply(&Event::Write { inode, at, bytes });
            }
            Ok(is_seen_torn)
        })?;
        let mut state = self.world.state();
        if is_seen_torn {
            state.writing.insert(self.process);
            state.draw();
            self.world.0.1.notify_all();
            state = self.world.wait_for_turn(self.process, state)?;
            state.writing.remove(&self.process);
        }
        state.enter(Event::Write { inode, at, bytes: bytes.to_vec() });
        Ok(bytes.len())
    }
}

impl<N: std::fmt::Debug + Send + 'static> DiskFile for SeenFile<N> {
    fn look(&self) -> io::Result<Entry> {
        self.world.call(self.process, |state| Ok(state.entry(self.inode)))
    }

    fn set_len(&self, bytes: u64) -> io::Result<()> {
        self.world.call(self.process, |state| {
            state.enter(Event::SetLen { inode: self.inode, bytes: bytes as usize });
            Ok(())
        })
    }

    fn sync_data(&self) -> io::Result<()> {
        self.world.call(self.process, |state| {
            state.enter(Event::Sync { inode: self.inode });
            Ok(())
        })
    }

    fn sync_all(&self) -> io::Result<()> {
        self.sync_data()
    }

    fn try_lock(&self, lock: Lock) -> io::Result<bool> {
        self.world.call(self.process, |state| {
            let (handle, process) = (self.handle, self.process);
            let locks = state.locks.entry(self.inode).or_default();
            let in_the_way = |&(of, _, held): &(u64, Process, Lock)| {
                of != handle && (lock == Lock::Exclusive || held == Lock::Exclusive)
            };
            if locks.iter().any(in_the_way) {
                return Ok(false);
            }
            locks.retain(|&(of, ..)| of != handle);
            locks.push((handle, process, lock));
            Ok(true)
        })
    }

    fn unlock(&self) -> io::Result<()> {
        self.world.call(self.process, |state| {
            state.locks.entry(self.inode).or_default().retain(|&(of, ..)| of != self.handle);
            Ok(())
        })
    }

    fn set_permissions(&self, _: Permissions) -> io::Result<()> {
        Ok(())
    }

    fn as_file(&self) -> Option<&File> {
        None
    }
}

impl<N: std::fmt::Debug + Send + 'static> Drop for SeenFile<N> {
    fn drop(&mut self) {
        // Closing a file releases its lock.
        let mut state = self.world.state();
        state.locks.entry(self.inode).or_default().retain(|&(of, ..)| of != self.handle);
    }
}
