//! Regular checks of filter files: changed ones are reopened, new ones are served, and problems
//! with any of them are kept for `/readyz` and others.

use super::folder::names_in;
use super::kind::Placeholder;
use super::watched::{Failed, Origin, Watch, Watched};
use super::{Entry, FileProblem, FileState, FileTrouble, Files, Keyspace, Unreadable};
use crate::sync::unpoisoned;
use mayhap::native::PAGE_BYTES;
use mayhap_store::FileStamp;
use std::io;
use std::path::Path;
use std::sync::Arc;

/// Pages of all files that one check compares with their checksums, before queries need them: 256
/// MiB, a tenth of a second.
const PAGES_AHEAD: u64 = 1 << 16;

impl Files {
    /// The problems with filter files at the last check.
    pub fn troubles(&self) -> Arc<[FileTrouble]> {
        unpoisoned(self.troubles.lock()).clone()
    }

    /// Number of names with files in this state.
    pub fn count(&self, state: FileState) -> u64 {
        let troubles = self.troubles();
        troubles.iter().filter(|trouble| trouble.state == state).count() as u64
    }

    /// Checks all files: serves new ones, detects changes and removals, and reopens those that are
    /// sound and have not changed since the last check.
    pub fn refresh(keyspace: &Keyspace) {
        let (mut watch, mut pages) = (unpoisoned(keyspace.files().watch.lock()), PAGES_AHEAD);
        list_anew(&mut watch);
        for file in &mut watch.files {
            Self::refresh_file(keyspace, file);
            let entry = Self::file_of(keyspace, &file.name);
            if let Some(entry) = entry.as_ref().filter(|_| !file.is_checked && pages > 0) {
                file.is_checked = entry.filter().check_ahead(pages);
                pages -= pages.min(entry.num_bytes() / PAGE_BYTES as u64 + 1);
            }
            let problem = entry.and_then(|entry| entry.file_problem());
            if let Some(problem) = problem.as_ref().filter(|_| !file.is_reported) {
                log::error!("{}: {problem}", file.path.display());
            }
            file.is_reported = problem.is_some();
        }
        watch.files.retain(|file| !file.is_over());
        Self::note_troubles(keyspace, &watch);
    }

    /// Keeps the problems for readers, which do not wait for the end of a check.
    pub(super) fn note_troubles(keyspace: &Keyspace, watch: &Watch) {
        let of_folder = watch.folder.as_ref().and_then(|folder| {
            let problem = folder.problem.clone()?;
            Some(FileTrouble { name: Arc::default(), state: FileState::Unusable, problem })
        });
        let of_files = watch.files.iter().filter_map(|file| Self::trouble_of(keyspace, file));
        *unpoisoned(keyspace.files().troubles.lock()) =
            of_folder.into_iter().chain(of_files).collect();
    }

    fn trouble_of(keyspace: &Keyspace, file: &Watched) -> Option<FileTrouble> {
        let (mut state, mut problem) = (FileState::Unusable, file.problem.clone());
        match Self::file_of(keyspace, &file.name).map(|entry| entry.file_problem()) {
            // Another filter has the name, or the name is invalid; or the attempt to open the file
            // has reported why.
            None | Some(Some(Unreadable::NotOpened)) => {}
            Some(Some(why)) => problem = Some(format!("{}: {why}", file.path.display())),
            Some(None) => state = FileState::Stale,
        }
        if state == FileState::Unusable {
            let is_new = || format!("{}: it was not opened yet", file.path.display());
            problem = problem.or_else(|| Some(is_new()));
        }
        problem.map(|problem| FileTrouble { name: file.name.clone(), state, problem })
    }

    /// The file that has this name, if the name is not another filter's.
    fn file_of(keyspace: &Keyspace, name: &[u8]) -> Option<Arc<Entry>> {
        keyspace.get(name, 0).filter(|entry| entry.is_read_only())
    }

    fn refresh_file(keyspace: &Keyspace, file: &mut Watched) {
        if file.origin == Origin::Call {
            let is_there = !matches!(file.path.symlink_metadata(), Err(it) if is_gone(&it));
            file.found(is_there.then(|| vec![file.path.clone()]));
        }
        match file.paths.len() {
            0 => Self::refresh_gone(keyspace, file),
            _ if !Self::takes_name(keyspace, file) => {}
            1 => Self::refresh_one(keyspace, file),
            _ => Self::refresh_several(keyspace, file),
        }
    }

    /// Whether the file has its name, claiming it if it is free.
    fn takes_name(keyspace: &Keyspace, file: &mut Watched) -> bool {
        let taken = match keyspace.get(&file.name, 0) {
            Some(entry) if entry.is_read_only() => return true,
            Some(_) => Err(FileProblem::Taken),
            None => {
                file.forget();
                let unopened = Box::new(Placeholder(Unreadable::NotOpened));
                let free = keyspace.check_name(&file.name).map_err(FileProblem::Name);
                free.and_then(|()| Self::publish_file(keyspace, &file.name, unopened, None))
            }
        };
        // Why it is not open is not known yet, and reported then.
        file.is_reported = true;
        taken.map_err(|problem| file.refuse(problem)).is_ok()
    }

    /// Several files of one name are ambiguous.
    fn refresh_several(keyspace: &Keyspace, file: &mut Watched) {
        let several = file.several();
        let entry = Self::file_of(keyspace, &file.name);
        if entry.as_ref().and_then(|entry| entry.file_problem()) == Some(several.clone()) {
            return;
        }
        file.forget();
        let unopened = Box::new(Placeholder(several.clone()));
        match Self::publish_file(keyspace, &file.name, unopened, entry.map(|entry| entry.id)) {
            Ok(_) => file.refuse(FileProblem::Unreadable(several)),
            Err(problem) => file.refuse(problem),
        }
        file.is_reported = true;
    }

    /// A file that was removed: its filter answers from the data read, if any.
    fn refresh_gone(keyspace: &Keyspace, file: &mut Watched) {
        if !file.is_gone() || file.problem.as_ref() == Some(&file.removed()) {
            return;
        }
        if file.was_served {
            let name = file.name.escape_ascii();
            log::warn!(
                "{}: the filter {name} answers from what was opened; it is not there after the \
                 next start",
                file.removed()
            );
            file.problem = Some(file.removed());
            return;
        }
        log::info!("{}; it was never served", file.removed());
        Self::withdraw(keyspace, &file.name);
    }

    fn refresh_one(keyspace: &Keyspace, file: &mut Watched) {
        let found = match FileStamp::at(&file.path) {
            Ok(found) => found,
            // It was removed since the folder was read.
            Err(_) if matches!(file.path.symlink_metadata(), Err(it) if is_gone(&it)) => return,
            Err(error) => {
                (file.seen, file.failed) = (None, None);
                return file.refuse(FileProblem::Io(error));
            }
        };
        let entry = Self::file_of(keyspace, &file.name);
        let is_sound = entry.as_ref().is_some_and(|entry| entry.file_problem().is_none());
        if is_sound && file.served == Some(found) {
            (file.seen, file.failed, file.problem) = (Some(found), None, None);
            return;
        }
        if file.seen.replace(found) != Some(found) {
            // It may still be in the middle of being written.
            file.failed = None;
            return;
        }
        if let Some(failed) = file.failed.as_mut().filter(|failed| failed.stamp == found)
            && failed.left > 0
        {
            failed.left -= 1;
            return;
        }
        match Self::open_whole(keyspace, &file.path, found, &file.name, entry.map(|entry| entry.id))
        {
            Ok(()) => {
                file.opened(found);
                log::info!("serving {} read-only, in its present state", file.path.display());
            }
            Err(problem) => {
                file.failed = Some(Failed::again(file.failed.take(), found, &problem));
                file.refuse(problem);
            }
        }
    }

    /// Reopens a file, checks every byte of it, and serves it.
    fn open_whole(
        keyspace: &Keyspace,
        path: &Path,
        found: FileStamp,
        name: &Arc<[u8]>,
        instead: Option<u64>,
    ) -> Result<(), FileProblem> {
        let (filter, stamp) = Self::open_file(keyspace, path)?;
        filter.verify()?;
        if stamp != found || FileStamp::at(path).ok() != Some(found) {
            return Err(FileProblem::Changing);
        }
        Self::publish_file(keyspace, name, filter, instead).map(|_| ())
    }
}

/// Lists the files that the folder has now; if it cannot be read, the previous list is kept.
fn list_anew(watch: &mut Watch) {
    let Watch { folder: Some(folder), files } = watch else { return };
    let mut names = match names_in(&folder.path) {
        Err(error) if !is_gone(&error) => {
            let problem = format!("{}: {error}", folder.path.display());
            if folder.problem.as_ref() != Some(&problem) {
                log::error!("{problem}; files that come are not noticed");
            }
            folder.problem = Some(problem);
            return;
        }
        names => names.unwrap_or_default(),
    };
    folder.problem = None;
    for file in files.iter_mut().filter(|file| file.origin == Origin::Folder) {
        file.found(names.remove(&*file.name));
    }
    files.extend(names.into_iter().map(|(name, paths)| Watched::new(name, paths, Origin::Folder)));
}

fn is_gone(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory)
}
