//! Names and contents of a file system in memory, and the events that change them.

use super::world::Random;
use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;

/// A change to a disk.
#[derive(Debug, Clone)]
pub(super) enum Event {
    Write {
        inode: u64,
        at: usize,
        bytes: Vec<u8>,
    },
    SetLen {
        inode: u64,
        bytes: usize,
    },
    Create {
        path: PathBuf,
        inode: u64,
    },
    Rename {
        from: PathBuf,
        to: PathBuf,
        inode: u64,
    },
    Link {
        to: PathBuf,
        inode: u64,
    },
    Remove {
        path: PathBuf,
    },
    Sync {
        inode: u64,
    },
    SyncFolder,
    /// A sync of everything, by a careful user.
    SyncAll,
}

impl Event {
    /// The file whose contents it changes.
    fn inode(&self) -> Option<u64> {
        match self {
            Self::Write { inode, .. } | Self::SetLen { inode, .. } => Some(*inode),
            _ => None,
        }
    }

    /// Changes the contents of that file.
    fn change(&self, contents: &mut Vec<u8>) {
        match self {
            Self::Write { at, bytes, .. } => {
                let end = at + bytes.len();
                contents.resize(contents.len().max(end), 0);
                contents[*at..end].copy_from_slice(bytes);
            }
            Self::SetLen { bytes, .. } => contents.resize(*bytes, 0),
            _ => {}
        }
    }
}

/// A folder: names and contents.
#[derive(Debug, Clone, Default, PartialEq, Eq, Hash)]
pub(super) struct Files {
    pub(super) names: BTreeMap<PathBuf, u64>,
    /// Copied when they are changed: there are many states of few files.
    pub(super) contents: BTreeMap<u64, Arc<Vec<u8>>>,
}

impl Files {
    pub(super) fn apply(&mut self, event: &Event) {
        match event {
            Event::Write { inode, .. } | Event::SetLen { inode, .. } => {
                event.change(Arc::make_mut(self.contents.entry(*inode).or_default()));
            }
            Event::Create { path, inode } => {
                self.names.insert(path.clone(), *inode);
                self.contents.entry(*inode).or_default();
            }
            Event::Rename { from, to, inode } => {
                if self.names.get(from) == Some(inode) {
                    self.names.remove(from);
                }
                self.names.insert(to.clone(), *inode);
            }
            Event::Link { to, inode } => {
                self.names.insert(to.clone(), *inode);
            }
            Event::Remove { path } => {
                self.names.remove(path);
            }
            Event::Sync { .. } | Event::SyncFolder | Event::SyncAll => {}
        }
    }

    pub(super) fn read(&self, path: &str) -> Option<&[u8]> {
        self.contents.get(self.names.get(&PathBuf::from(path))?).map(|contents| contents.as_slice())
    }

    /// The number of names of a file.
    pub(super) fn links(&self, inode: u64) -> u64 {
        self.names.values().filter(|&&named| named == inode).count() as u64
    }

    /// Without contents that no name refers to, and without locks, which vanish with their holders
    /// and mean nothing.
    pub(super) fn tidy(mut self) -> Self {
        self.names.retain(|path, _| !path.to_string_lossy().ends_with(".mayhap-lck"));
        let used: Vec<u64> = self.names.values().copied().collect();
        self.contents.retain(|inode, _| used.contains(inode));
        self
    }
}

/// The bytes of a sector, which a disk writes whole or not at all, as it was at one moment.
const SECTOR: usize = 512;

/// The contents that a disk has for sure, and the later changes that may be lost.
#[derive(Debug, Clone, Default)]
pub(super) struct Cache {
    sure: Files,
    pending: Vec<Event>,
}

/// Decides which pending changes are kept.
pub(super) trait Keep {
    /// Whether the change of a name at this place among the pending ones is kept.
    fn name(&mut self, place: usize) -> bool;

    /// The change of its contents up to which a sector is written: one of these places, or before
    /// all.
    fn sector(&mut self, inode: u64, sector: usize, places: &[usize]) -> Option<usize>;
}

impl Cache {
    /// A disk on which all of this is safe.
    pub(super) fn of(sure: Files) -> Self {
        Self { sure, pending: Vec::new() }
    }

    pub(super) fn apply(&mut self, event: &Event) {
        match event {
            Event::Sync { inode } => self.settle(|of| of.inode() == Some(*inode)),
            Event::SyncFolder => self.settle(|of| of.inode().is_none()),
            Event::SyncAll => self.settle(|_| true),
            other => self.pending.push(other.clone()),
        }
    }

    fn settle(&mut self, which: impl Fn(&Event) -> bool) {
        let sure = &mut self.sure;
        self.pending.retain(|event| {
            let settled = which(event);
            if settled {
                sure.apply(event);
            }
            !settled
        });
    }

    pub(super) fn num_pending(&self) -> usize {
        self.pending.len()
    }

    /// The files left if these changes are kept. A sector has all changes up to one of them, since
    /// they were made in memory before it was written; names and sectors are written in any order.
    pub(super) fn left(&self, keep: &mut impl Keep) -> Files {
        let mut files = self.sure.clone();
        let mut inodes: Vec<u64> = Vec::new();
        for (place, event) in self.pending.iter().enumerate() {
            match event.inode() {
                Some(inode) if !inodes.contains(&inode) => inodes.push(inode),
                None if keep.name(place) => files.apply(event),
                Some(_) | None => {}
            }
        }
        for inode in inodes {
            let contents = self.contents_left(inode, keep);
            files.contents.insert(inode, contents);
        }
        files.tidy()
    }

    fn contents_left(&self, inode: u64, keep: &mut impl Keep) -> Arc<Vec<u8>> {
        let of = |(_, event): &(usize, &Event)| event.inode() == Some(inode);
        let (places, events): (Vec<usize>, Vec<&Event>) =
            self.pending.iter().enumerate().filter(of).unzip();
        let mut versions = vec![self.sure.contents.get(&inode).cloned().unwrap_or_default()];
        for event in events {
            let mut next = versions[versions.len() - 1].clone();
            event.change(Arc::make_mut(&mut next));
            versions.push(next);
        }
        let longest = versions.iter().map(|version| version.len()).max().unwrap_or(0);
        let sector_of = |version: usize, sector: usize| {
            let version = &versions[version];
            let end = version.len().min((sector + 1) * SECTOR);
            version.get(sector * SECTOR..end).unwrap_or_default()
        };
        let (mut left, mut newest) = (Vec::with_capacity(longest + SECTOR), 0);
        for sector in 0..longest.div_ceil(SECTOR) {
            let is_changed = |at: usize| sector_of(at - 1, sector) != sector_of(at, sector);
            let version = if (1..versions.len()).any(is_changed) {
                let chosen = keep.sector(inode, sector, &places);
                let version = chosen
                    .map_or(0, |place| places.iter().filter(|&&other| other <= place).count());
                newest = newest.max(version);
                version
            } else {
                0
            };
            left.extend_from_slice(sector_of(version, sector));
            left.resize((sector + 1) * SECTOR, 0);
        }
        // The length is that of the newest change that is on the disk.
        left.resize(versions[newest].len(), 0);
        Arc::new(left)
    }
}

/// All that is pending up to this place, as if the disk wrote in order.
pub(super) struct UpTo(pub(super) Option<usize>);

impl Keep for UpTo {
    fn name(&mut self, place: usize) -> bool {
        self.0.is_some_and(|last| place <= last)
    }

    fn sector(&mut self, _: u64, _: usize, places: &[usize]) -> Option<usize> {
        places.iter().copied().filter(|&place| self.0.is_some_and(|last| place <= last)).max()
    }
}

/// All changes but the one at this place, or only that one.
pub(super) struct One {
    pub(super) place: usize,
    pub(super) is_kept: bool,
}

impl Keep for One {
    fn name(&mut self, place: usize) -> bool {
        (place == self.place) == self.is_kept
    }

    fn sector(&mut self, _: u64, _: usize, places: &[usize]) -> Option<usize> {
        match places.binary_search(&self.place) {
            // Sectors that the change did not touch have no other version of their own then.
            Ok(at) if self.is_kept => places.get(at).copied(),
            Ok(at) => at.checked_sub(1).and_then(|before| places.get(before)).copied(),
            Err(_) => places.last().copied().filter(|_| !self.is_kept),
        }
    }
}

/// Anything.
pub(super) struct Mix<'a>(pub(super) &'a mut Random);

impl Keep for Mix<'_> {
    fn name(&mut self, _: usize) -> bool {
        self.0.below(4) > 0
    }

    fn sector(&mut self, _: u64, _: usize, places: &[usize]) -> Option<usize> {
        match self.0.below(4) {
            0 => None,
            1 => places.get(self.0.below(places.len() as u64) as usize).copied(),
            _ => places.last().copied(),
        }
    }
}
