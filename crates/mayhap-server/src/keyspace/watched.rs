//! The files that are looked after.

use crate::count::Count;
use mayhap_store::FileStamp;
use std::path::PathBuf;
use std::sync::atomic::AtomicU64;
use std::sync::{Arc, Mutex};

/// A file that could not be opened, and is not changed, is tried again after so many looks, since a
/// disk may work again; then after twice as many, and so on, this many times.
const FIRST_LOOKS: u32 = 20;
const MAX_DOUBLINGS: u32 = 7;

/// The files that are looked after.
#[derive(Debug, Default)]
pub(super) struct Files {
    pub(super) watched: Mutex<Vec<Watched>>,
    /// Those whose filters do not answer now.
    pub(super) unreadable: AtomicU64,
    /// The most sets of a matrix among them.
    pub(super) most_sets: Count,
}

/// A file that is served, or would be if it were whole.
#[derive(Debug)]
pub(super) struct Watched {
    pub(super) path: PathBuf,
    pub(super) name: Arc<[u8]>,
    /// As it was when it was opened; none if it never was.
    pub(super) served: Option<FileStamp>,
    /// As it was at the last look.
    pub(super) seen: Option<FileStamp>,
    pub(super) failed: Option<Failed>,
    /// The operator has heard that it does not answer.
    pub(super) is_reported: bool,
    /// All of what is served was compared with its checksums.
    pub(super) is_checked: bool,
}

/// A file that could not be opened.
#[derive(Debug)]
pub(super) struct Failed {
    /// As it was then.
    pub(super) stamp: FileStamp,
    /// How often that was tried.
    pub(super) times: u32,
    /// Looks before the next time.
    pub(super) left: u32,
}

impl Failed {
    pub(super) fn again(before: Option<Self>, stamp: FileStamp) -> Self {
        let times = before.filter(|failed| failed.stamp == stamp).map_or(0, |it| it.times) + 1;
        Self { stamp, times, left: FIRST_LOOKS << (times - 1).min(MAX_DOUBLINGS) }
    }
}
