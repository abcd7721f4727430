//! Files are looked at again and again: what was changed is opened anew, what came is taken up, and
//! what is the matter with any of them is kept for those who ask.

use super::folder::names_in;
use super::kind::Unopened;
use super::lock::locked;
use super::watched::{Failed, Origin, Watch, Watched};
use super::{Entry, FileProblem, FileState, FileTrouble, Keyspace, Unreadable};
use mayhap::native::PAGE_BYTES;
use mayhap_store::FileStamp;
use std::io;
use std::path::Path;
use std::sync::Arc;

/// Pages of all files that are compared with their checksums in one look, before queries need
/// them: 256 MiB, a tenth of a second.
const PAGES_AHEAD: u64 = 1 << 16;

impl Keyspace {
    /// What is the matter with files of filters, as it was at the last look.
    pub fn file_troubles(&self) -> Arc<[FileTrouble]> {
        locked(&self.files.troubles).clone()
    }

    /// Names of files that do not answer, since no whole filter stands there.
    pub fn unreadable_files(&self) -> u64 {
        self.troubles_of(FileState::Unusable)
    }

    /// Filters that answer from files that were removed, or in whose place is no whole one.
    pub fn stale_files(&self) -> u64 {
        self.troubles_of(FileState::Stale)
    }

    fn troubles_of(&self, state: FileState) -> u64 {
        let troubles = self.file_troubles();
        troubles.iter().filter(|trouble| trouble.state == state).count() as u64
    }

    /// Looks at all files: takes up those that came, notices those that were changed or removed,
    /// and serves those anew that are whole and were left alone since the last look.
    pub fn refresh_files(&self) {
        let (mut watch, mut pages) = (locked(&self.files.watch), PAGES_AHEAD);
        list_anew(&mut watch);
        for file in &mut watch.files {
            self.refresh_file(file);
            let entry = self.file_of(&file.name);
            if let Some(entry) = entry.as_ref().filter(|_| !file.is_checked && pages > 0) {
                file.is_checked = entry.check_ahead(pages);
                pages -= pages.min(entry.num_bytes() / PAGE_BYTES as u64 + 1);
            }
            let problem = entry.and_then(|entry| entry.file_problem());
            if let Some(problem) = problem.as_ref().filter(|_| !file.is_reported) {
                log::error!("{}: {problem}", file.path.display());
            }
            file.is_reported = problem.is_some();
        }
        watch.files.retain(|file| !file.is_over());
        self.note_troubles(&watch);
    }

    /// Keeps what is the matter for those who ask, who do not wait for a look to end.
    pub(super) fn note_troubles(&self, watch: &Watch) {
        let of_folder = watch.folder.as_ref().and_then(|folder| {
            let problem = folder.problem.clone()?;
            Some(FileTrouble { name: Arc::default(), state: FileState::Unusable, problem })
        });
        let of_files = watch.files.iter().filter_map(|file| self.trouble_of(file));
        *locked(&self.files.troubles) = of_folder.into_iter().chain(of_files).collect();
    }

    fn trouble_of(&self, file: &Watched) -> Option<FileTrouble> {
        let (mut state, mut problem) = (FileState::Unusable, file.problem.clone());
        match self.file_of(&file.name).map(|entry| entry.file_problem()) {
            // The filter of another has the name, or the name cannot be one; or the attempt to open
            // it has said why.
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
    fn file_of(&self, name: &[u8]) -> Option<Arc<Entry>> {
        self.get(name, 0).filter(|entry| entry.is_read_only())
    }

    fn refresh_file(&self, file: &mut Watched) {
        if file.origin == Origin::Call {
            let is_there = !matches!(file.path.symlink_metadata(), Err(it) if is_gone(&it));
            file.found(is_there.then(|| vec![file.path.clone()]));
        }
        match file.paths.len() {
            0 => self.refresh_gone(file),
            _ if !self.takes_name(file) => {}
            1 => self.refresh_one(file),
            _ => self.refresh_several(file),
        }
    }

    /// Whether the name is that of the file, which takes one that is free.
    fn takes_name(&self, file: &mut Watched) -> bool {
        let taken = match self.get(&file.name, 0) {
            Some(entry) if entry.is_read_only() => return true,
            Some(_) => Err(FileProblem::Taken),
            None => {
                file.forget();
                let unopened = Box::new(Unopened(Unreadable::NotOpened));
                let free = self.check_name(&file.name).map_err(FileProblem::Name);
                free.and_then(|()| self.publish_file(&file.name, unopened, None))
            }
        };
        // Why it is not open is not known yet, and said then.
        file.is_reported = true;
        taken.map_err(|problem| file.refuse(problem)).is_ok()
    }

    /// Of several files of one name nobody knows which is meant.
    fn refresh_several(&self, file: &mut Watched) {
        let several = file.several();
        let entry = self.file_of(&file.name);
        if entry.as_ref().and_then(|entry| entry.file_problem()) == Some(several.clone()) {
            return;
        }
        file.forget();
        let unopened = Box::new(Unopened(several.clone()));
        match self.publish_file(&file.name, unopened, entry.map(|entry| entry.id)) {
            Ok(_) => file.refuse(FileProblem::Unreadable(several)),
            Err(problem) => file.refuse(problem),
        }
        file.is_reported = true;
    }

    /// A file that was removed: its filter answers from what was read, if anything was.
    fn refresh_gone(&self, file: &mut Watched) {
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
        self.withdraw(&file.name);
    }

    fn refresh_one(&self, file: &mut Watched) {
        let found = match FileStamp::at(&file.path) {
            Ok(found) => found,
            // It went since the folder was read.
            Err(_) if matches!(file.path.symlink_metadata(), Err(it) if is_gone(&it)) => return,
            Err(error) => {
                (file.seen, file.failed) = (None, None);
                return file.refuse(FileProblem::Io(error));
            }
        };
        let entry = self.file_of(&file.name);
        let is_sound = entry.as_ref().is_some_and(|entry| entry.file_problem().is_none());
        if is_sound && file.served == Some(found) {
            (file.seen, file.failed, file.problem) = (Some(found), None, None);
            return;
        }
        if file.seen.replace(found) != Some(found) {
            // Somebody may still be writing it.
            file.failed = None;
            return;
        }
        if let Some(failed) = file.failed.as_mut().filter(|failed| failed.stamp == found)
            && failed.left > 0
        {
            failed.left -= 1;
            return;
        }
        match self.open_whole(&file.path, found, &file.name, entry.map(|entry| entry.id)) {
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

    /// Opens a file anew, every byte of it checked, and serves it.
    fn open_whole(
        &self,
        path: &Path,
        found: FileStamp,
        name: &Arc<[u8]>,
        instead: Option<u64>,
    ) -> Result<(), FileProblem> {
        let (filter, stamp) = self.open_file(path)?;
        filter.verify()?;
        if stamp != found || FileStamp::at(path).ok() != Some(found) {
            return Err(FileProblem::Changing);
        }
        self.publish_file(name, filter, instead).map(|_| ())
    }
}

/// Reads which files the folder has by now; one that cannot be read has those that it had.
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
