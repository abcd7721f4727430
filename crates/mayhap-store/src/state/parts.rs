//! The parts of a session: the image that it follows, its log, what is not on disk yet, and its
//! turn.

use super::pending::{Pending, max_len};
use super::relation::LogFound;
use crate::digests::Keeper;
use crate::disk::{self, Disk};
use crate::lock::GaveWay;
use crate::log::Log;
use crate::{Error, FilterLock, Image, Operation};
use mayhap::Digest;
use mayhap::native::Identity;
use std::path::{Path, PathBuf};

/// The epochs there are: bits 0 to 62.
const LAST_EPOCH: u64 = (1 << 63) - 1;

/// Whether the name of an image is on disk.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Name {
    /// A power cut may bring back the previous image: the writer of this one may have been killed
    /// before the folder was synced.
    MayBeLost,
    Synced,
}

/// The image that memory and log follow.
#[derive(Debug)]
pub(super) struct Base {
    pub(super) image: Image,
    /// The identity of that state; `None` if it is not a state yet.
    pub(super) identity: Option<Identity>,
    pub(super) name: Name,
    /// Bringing memory up to date failed.
    pub(super) is_behind: bool,
    /// Others may rely on records or saves of this session.
    pub(super) contributed: bool,
}

impl Base {
    pub(super) fn new(image: Image, name: Name) -> Self {
        let identity = image.header().identity();
        Self { image, identity, name, is_behind: false, contributed: false }
    }

    /// Makes the image's name survive a power cut, unless it is known to.
    pub(super) fn settle(&mut self, disk: &dyn Disk) -> Result<(), Error> {
        if self.name == Name::MayBeLost {
            disk::sync_folder(disk, self.image.path())?;
            self.name = Name::Synced;
        }
        Ok(())
    }

    /// The identity of the next image of this state, or of a new one.
    pub(super) fn next_identity(&self, new: impl FnOnce() -> Identity) -> Identity {
        match self.identity {
            Some(Identity { id, epoch, .. }) if epoch < LAST_EPOCH => {
                Identity { id, epoch: epoch + 1, log_begun: false }
            }
            _ => new(),
        }
    }
}

/// The log of the image, and what else may have its name.
#[derive(Debug)]
pub(super) struct LogPlace {
    pub(super) path: PathBuf,
    /// The log, at the position up to which it is in memory.
    pub(super) open: Option<Log>,
    /// Another file that has the name of the log.
    pub(super) blocked: Option<LogFound>,
    /// The id of the log of version 1 whose records are in memory and must be saved before it is
    /// removed.
    pub(super) of_version_1: Option<u64>,
}

impl LogPlace {
    pub(super) fn new(path: PathBuf) -> Self {
        Self { path, open: None, blocked: None, of_version_1: None }
    }

    /// [`Error::ForeignLog`] or [`Error::NotALog`] if another file has the name of the log.
    pub(super) fn check_free(&self, filter: &Path) -> Result<(), Error> {
        let path = self.path.clone();
        match self.blocked {
            Some(LogFound::NotALog) => Err(Error::NotALog { path }),
            Some(_) => Err(Error::ForeignLog { path, filter: filter.into() }),
            None => Ok(()),
        }
    }

    /// The identity of a new state. If it had a log of version 1, its id includes that log's id, so
    /// that the log is recognised if a crash leaves it behind.
    pub(super) fn new_identity(&self, random: u128) -> Identity {
        let id = match self.of_version_1 {
            Some(log_id) => u128::from(log_id) << 64 | u128::from(random as u64).max(1),
            None => random,
        };
        Identity { id, epoch: 1, log_begun: false }
    }

    /// Whether the log is open and still has its name.
    pub(super) fn is_at_its_name(&self, disk: &dyn Disk) -> bool {
        self.open.as_ref().is_some_and(|log| log.is_at_its_name(disk).unwrap_or(false))
    }
}

/// Changes in memory that the files lack.
#[derive(Debug, Default)]
pub(super) struct Unsaved {
    pub(super) pending: Pending,
    /// The digests of all keys, where they are kept.
    pub(super) keeper: Option<Keeper>,
    /// Memory has more than image, log and `pending` together.
    pub(super) must_save: bool,
}

impl Unsaved {
    /// Notes changes to the filter in memory, in order.
    pub(super) fn note(
        &mut self,
        operation: Operation,
        time: u64,
        digests: impl IntoIterator<Item = Digest>,
    ) {
        match &mut self.keeper {
            Some(keeper) if operation == Operation::Insert => {
                let digests = keeper.note(digests);
                if !self.must_save {
                    self.pending.push(operation, time, digests.iter().copied());
                }
            }
            _ if self.must_save => {}
            _ => self.pending.push(operation, time, digests),
        }
    }

    /// Leaves the changes to the next save if they are too many for a log of a filter of this size.
    pub(super) fn leave_to_save(&mut self, filter_bytes: u64) {
        if self.pending.len() > max_len(filter_bytes) {
            self.pending = Pending::default();
            self.must_save = true;
        }
    }
}

/// The turn of the session among the processes that change the state.
#[derive(Debug)]
pub(super) struct Turn {
    pub(super) lock: Option<FilterLock>,
    pub(super) gave_way: Option<GaveWay>,
}

impl Turn {
    pub(super) fn held(&self) -> &FilterLock {
        self.lock.as_ref().expect("the lock is held while a state is changed")
    }
}
