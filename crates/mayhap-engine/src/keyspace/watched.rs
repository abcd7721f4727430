//! The watched files.

use super::{FileError, FileProblem, Unreadable};
use crate::count::Count;
use mayhap_store::FileStamp;
use std::path::PathBuf;
use std::sync::{Arc, Mutex};

/// A file that could not be opened, and has not changed, is tried again after this many checks,
/// since a disk may work again; then after twice as many, and so on, this many times.
const FIRST_LOOKS: u32 = 20;
const MAX_DOUBLINGS: u32 = 7;
/// The same after a problem that may pass without a change of the file, and is cheap to retry.
const PASSING_LOOKS: u32 = 2;
/// Checks after which a file is gone: one that is replaced is missing in between.
const GONE_LOOKS: u32 = 2;

/// The watched files.
#[derive(Debug, Default)]
pub struct Files {
    pub(super) watch: Mutex<Watch>,
    /// The problems at the last check.
    pub(super) troubles: Mutex<Arc<[FileTrouble]>>,
    /// The most sets of a matrix among them.
    pub(super) most_sets: Count,
}

/// A problem with a filter file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FileTrouble {
    /// The name of its filter; empty for the folder of all of them.
    pub name: Arc<[u8]>,
    /// The consequence for the filter.
    pub state: FileState,
    /// The problem, with the path.
    pub problem: String,
}

/// The consequence of a problem with a filter's file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FileState {
    /// Nothing can be read from it, or another filter has its name.
    Unusable,
    /// It answers from the file that was opened, which differs from the present one.
    Stale,
}

/// Watched files, and a folder whose files are all watched.
#[derive(Debug, Default)]
pub(super) struct Watch {
    pub(super) folder: Option<Folder>,
    pub(super) files: Vec<Watched>,
}

/// The folder that is read again at each check.
#[derive(Debug)]
pub(super) struct Folder {
    pub(super) path: PathBuf,
    /// Why it could not be read at the last check.
    pub(super) problem: Option<String>,
}

/// The reason why a file is watched.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Origin {
    /// It is in the folder.
    Folder,
    /// It was requested by name.
    Call,
}

/// A file that is served, or would be if it were sound.
#[derive(Debug)]
pub(super) struct Watched {
    pub(super) name: Arc<[u8]>,
    pub(super) origin: Origin,
    /// The paths with this name; empty if they were removed.
    pub(super) paths: Vec<PathBuf>,
    /// The first of them, or the last known one.
    pub(super) path: PathBuf,
    /// Its stamp when it was opened; `None` if it is not served.
    pub(super) served: Option<FileStamp>,
    /// Whether its filter has answered since the server started.
    pub(super) was_served: bool,
    /// Its stamp at the last check.
    pub(super) seen: Option<FileStamp>,
    pub(super) failed: Option<Failed>,
    /// Checks since the file is missing.
    missing: u32,
    /// Why the present file is not served.
    pub(super) problem: Option<String>,
    /// Whether it was reported that it does not answer.
    pub(super) is_reported: bool,
    /// Whether all served bytes were compared with their checksums.
    pub(super) is_checked: bool,
}

/// A file that could not be opened.
#[derive(Debug)]
pub(super) struct Failed {
    /// Its stamp at that time.
    pub(super) stamp: FileStamp,
    /// How often that was tried.
    times: u32,
    /// Checks before the next attempt.
    pub(super) left: u32,
}

impl Watched {
    /// A file that was not checked yet; there is at least one path.
    pub(super) fn new(name: Arc<[u8]>, paths: Vec<PathBuf>, origin: Origin) -> Self {
        Self {
            name,
            origin,
            path: paths.first().cloned().unwrap_or_default(),
            paths,
            served: None,
            was_served: false,
            seen: None,
            failed: None,
            missing: 0,
            problem: None,
            is_reported: true,
            is_checked: false,
        }
    }

    /// Updates the paths, if any are given.
    pub(super) fn found(&mut self, paths: Option<Vec<PathBuf>>) {
        self.paths = paths.unwrap_or_default();
        self.missing = if self.paths.is_empty() { self.missing.saturating_add(1) } else { 0 };
        if let [path] = &self.paths[..]
            && *path != self.path
        {
            // Its extension decides its format.
            self.path.clone_from(path);
            self.forget();
        }
    }

    /// It is served now, with this stamp.
    pub(super) fn opened(&mut self, stamp: FileStamp) {
        (self.served, self.was_served) = (Some(stamp), true);
        (self.failed, self.problem) = (None, None);
        (self.is_reported, self.is_checked) = (false, false);
    }

    /// The opened file is no longer served.
    pub(super) fn forget(&mut self) {
        (self.served, self.seen, self.failed) = (None, None, None);
    }

    /// Keeps the reason why the present file is not served, and reports it once.
    pub(super) fn refuse(&mut self, problem: FileProblem) {
        let problem = FileError { path: self.path.clone(), problem }.to_string();
        if self.problem.as_ref() != Some(&problem) {
            log::warn!("not served: {problem}");
        }
        self.problem = Some(problem);
    }

    pub(super) const fn is_gone(&self) -> bool {
        self.missing >= GONE_LOOKS
    }

    /// Whether nothing is left to watch: it is gone, and was never served.
    pub(super) const fn is_over(&self) -> bool {
        self.is_gone() && !self.was_served
    }

    /// The problem of a removed file.
    pub(super) fn removed(&self) -> String {
        format!("{} was removed", self.path.display())
    }

    /// The error that several files have the name.
    pub(super) fn several(&self) -> Unreadable {
        let names = self.paths.iter().filter_map(|path| path.file_name());
        let files = names.map(|name| name.to_string_lossy().into_owned()).collect();
        Unreadable::Several { files }
    }
}

impl Failed {
    pub(super) fn again(before: Option<Self>, stamp: FileStamp, why: &FileProblem) -> Self {
        if why.passes() {
            return Self { stamp, times: 0, left: PASSING_LOOKS };
        }
        let times = before.filter(|failed| failed.stamp == stamp).map_or(0, |it| it.times) + 1;
        Self { stamp, times, left: FIRST_LOOKS << (times - 1).min(MAX_DOUBLINGS) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io;

    /// Permissions are not part of a file's stamp, and neither are free descriptors.
    #[test]
    fn transient_problems_are_retried_soon_and_damage_seldom() {
        let folder = tempfile::tempdir().unwrap();
        let stamp = FileStamp::at(folder.path()).unwrap();
        let looks = |problem: fn() -> FileProblem| {
            let again = |before| Some(Failed::again(before, stamp, &problem()));
            let all = std::iter::successors(again(None), |failed| {
                again(Some(Failed { stamp, times: failed.times, left: 0 }))
            });
            all.take(10).map(|failed| failed.left).collect::<Vec<_>>()
        };
        let denied = || FileProblem::Io(io::ErrorKind::PermissionDenied.into());
        assert_eq!(looks(denied), [PASSING_LOOKS; 10]);
        #[cfg(unix)]
        {
            let no_descriptor = || {
                let (action, path) = ("open", PathBuf::new());
                let source = io::Error::from_raw_os_error(24);
                FileProblem::from(mayhap_store::Error::Io { action, path, source })
            };
            assert_eq!(looks(no_descriptor), [PASSING_LOOKS; 10]);
        }
        let damaged = || FileProblem::Filter(super::super::BadFilter::NoBits);
        let doubled = [20, 40, 80, 160, 320, 640, 1280, 2560, 2560, 2560];
        assert_eq!(looks(damaged), doubled);
    }
}
