//! The files that are looked after.

use super::{FileError, FileProblem, Unreadable};
use crate::count::Count;
use mayhap_store::FileStamp;
use std::path::PathBuf;
use std::sync::{Arc, Mutex};

/// A file that could not be opened, and is not changed, is tried again after so many looks, since a
/// disk may work again; then after twice as many, and so on, this many times.
const FIRST_LOOKS: u32 = 20;
const MAX_DOUBLINGS: u32 = 7;
/// The same after what may be over without a change of the file, and costs nothing to try.
const PASSING_LOOKS: u32 = 2;
/// Looks after which a file is gone: in between, one that is replaced by removing it first.
const GONE_LOOKS: u32 = 2;

/// The files that are looked after.
#[derive(Debug, Default)]
pub(super) struct Files {
    pub(super) watch: Mutex<Watch>,
    /// What was the matter with them at the last look.
    pub(super) troubles: Mutex<Arc<[FileTrouble]>>,
    /// The most sets of a matrix among them.
    pub(super) most_sets: Count,
}

/// What is the matter with a file of a filter.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FileTrouble {
    /// The name of its filter; empty for the folder of all of them.
    pub name: Arc<[u8]>,
    /// What became of the filter.
    pub state: FileState,
    /// What is wrong, with the path.
    pub problem: String,
}

/// What becomes of a filter whose file is not as it should be.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FileState {
    /// Nothing can be read from it, or another filter has its name.
    Unusable,
    /// It answers from what was opened, which is not what stands there.
    Stale,
}

/// Files, and a folder of which all are looked after.
#[derive(Debug, Default)]
pub(super) struct Watch {
    pub(super) folder: Option<Folder>,
    pub(super) files: Vec<Watched>,
}

/// The folder that is read again at each look.
#[derive(Debug)]
pub(super) struct Folder {
    pub(super) path: PathBuf,
    /// Why it could not be read at the last look.
    pub(super) problem: Option<String>,
}

/// What says which files have a name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Origin {
    /// The folder.
    Folder,
    /// Whoever asked for the only one.
    Call,
}

/// A file that is served, or would be if it were whole.
#[derive(Debug)]
pub(super) struct Watched {
    pub(super) name: Arc<[u8]>,
    pub(super) origin: Origin,
    /// The files of the name; none if they were removed.
    pub(super) paths: Vec<PathBuf>,
    /// The first of them, or the last one that there was.
    pub(super) path: PathBuf,
    /// As it was when it was opened; none if it is not served.
    pub(super) served: Option<FileStamp>,
    /// Its filter has answered since the server started.
    pub(super) was_served: bool,
    /// As it was at the last look.
    pub(super) seen: Option<FileStamp>,
    pub(super) failed: Option<Failed>,
    /// Looks since there is no file.
    missing: u32,
    /// Why what stands there is not served.
    pub(super) problem: Option<String>,
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
    times: u32,
    /// Looks before the next time.
    pub(super) left: u32,
}

impl Watched {
    /// One that was not looked at yet; there is at least one path.
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

    /// Takes over which files there are now, if any are.
    pub(super) fn found(&mut self, paths: Option<Vec<PathBuf>>) {
        self.paths = paths.unwrap_or_default();
        self.missing = if self.paths.is_empty() { self.missing.saturating_add(1) } else { 0 };
        if let [path] = &self.paths[..]
            && *path != self.path
        {
            // Its extension says what it is.
            self.path.clone_from(path);
            self.forget();
        }
    }

    /// It is served now, as it was then.
    pub(super) fn opened(&mut self, stamp: FileStamp) {
        (self.served, self.was_served) = (Some(stamp), true);
        (self.failed, self.problem) = (None, None);
        (self.is_reported, self.is_checked) = (false, false);
    }

    /// What was opened is served no more.
    pub(super) fn forget(&mut self) {
        (self.served, self.seen, self.failed) = (None, None, None);
    }

    /// Keeps why what stands there is not served, and says it once.
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

    /// Nothing is left to look after: it went, and never answered.
    pub(super) const fn is_over(&self) -> bool {
        self.is_gone() && !self.was_served
    }

    /// That it was removed.
    pub(super) fn removed(&self) -> String {
        format!("{} was removed", self.path.display())
    }

    /// That several files have the name.
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

    /// Permissions are no part of a file's stamp, and descriptors none of a file.
    #[test]
    fn what_passes_without_a_change_of_the_file_is_tried_again_soon_and_damage_seldom() {
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
