//! Filter files that somebody put into the data folder: served by name, read only, and looked after.
//!
//! Others may cut, overwrite or replace such a file at any time. A filter that is read where it lies
//! then says so instead of answering ([`Entry::check_file`]). A thread looks at all files twice a
//! second: one that was changed, and then left alone from one look to the next, is opened anew, all
//! of it checked, and served in place of the old one if it is whole. Until then an old file that is
//! still as it was (it was renamed or removed, or is in memory) goes on being served.

use super::contents::limits;
use super::filter::{Filter, charge};
use super::lock::locked;
use super::{Entry, Hash, Keyspace, Shape, Spec, Unreadable};
use mayhap::native::Kind;
use mayhap::{DigestFunction, ScalableBloomFilter};
use mayhap_store::{FileStamp, load_as, open_mapped, read_bytes, read_header};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};

/// A file that could not be opened, and is not changed, is tried again after so many looks, since a
/// disk may work again; then after twice as many, and so on, this many times.
const FIRST_LOOKS: u32 = 20;
const MAX_DOUBLINGS: u32 = 7;

/// The files that are looked after.
#[derive(Debug, Default)]
pub(super) struct Files {
    watched: Mutex<Vec<Watched>>,
    /// Those whose filters do not answer now.
    unreadable: AtomicU64,
}

/// A file that is served, or would be if it were whole.
#[derive(Debug)]
struct Watched {
    path: PathBuf,
    name: Arc<[u8]>,
    /// As it was when it was opened; none if it never was.
    served: Option<FileStamp>,
    /// As it was at the last look.
    seen: Option<FileStamp>,
    failed: Option<Failed>,
    /// The operator was told that it does not answer.
    is_told: bool,
}

/// A file that could not be opened.
#[derive(Debug)]
struct Failed {
    /// As it was then.
    stamp: FileStamp,
    /// How often that was tried.
    times: u32,
    /// Looks before the next time.
    left: u32,
}

impl Failed {
    fn again(before: Option<Self>, stamp: FileStamp) -> Self {
        let times = before.filter(|failed| failed.stamp == stamp).map_or(0, |it| it.times) + 1;
        Self { stamp, times, left: FIRST_LOOKS << (times - 1).min(MAX_DOUBLINGS) }
    }
}

impl Keyspace {
    /// Serves a file under its name without extension: a plain filter of ours where it lies,
    /// mapped, a growing one or a filter of another system from memory. Nothing can be inserted,
    /// and the log knows nothing of it. A filter of another system is asked for the bytes that it
    /// hashes.
    ///
    /// From then on the file is looked after, also if it cannot be served now.
    ///
    /// # Errors
    ///
    /// A sentence with the path: no filter, not of this key, above a limit, or the name is taken.
    pub fn serve_file(&self, path: &Path) -> Result<Arc<Entry>, String> {
        let at = |what: &dyn std::fmt::Display| format!("{}: {what}", path.display());
        let name = path.file_stem().ok_or_else(|| at(&"no file name"))?;
        let name: Arc<[u8]> = name.as_encoded_bytes().into();
        self.check_name(&name).map_err(|error| at(&error))?;
        if self.get(&name, 0).is_some() {
            return Err(at(&"there is a filter of this name; rename the file"));
        }
        let seen = FileStamp::at(path).ok();
        let opened = self.open_file(path);
        let (served, failed) = match (&opened, seen) {
            (Ok((_, stamp)), _) => (Some(*stamp), None),
            (Err(_), Some(seen)) => (None, Some(Failed::again(None, seen))),
            (Err(_), None) => (None, None),
        };
        let (path, shown) = (path.to_path_buf(), name.clone());
        let watched = Watched { path, name: shown, served, seen, failed, is_told: false };
        locked(&self.files.watched).push(watched);
        self.publish_file(&name, opened?.0, None)
    }

    /// Gives a file its name: one that is free, or that of the filter of this id.
    fn publish_file(
        &self,
        name: &Arc<[u8]>,
        filter: Filter,
        instead: Option<u64>,
    ) -> Result<Arc<Entry>, String> {
        let hash = match filter.digest_function() {
            Some(DigestFunction::Xxh3 { seed }) => Hash::Plain { seed },
            Some(_) => Hash::Keyed,
            None => Hash::Plain { seed: 0 },
        };
        let spec = Spec { shape: Shape::File, hash };
        let mut next_id = locked(&self.changing);
        if self.get(name, 0).map(|entry| entry.id) != instead {
            return Err("there is another filter of this name by now".to_owned());
        }
        let entry = Arc::new(self.entry(*next_id, spec, 0, filter));
        *next_id += 1;
        self.add_to_index(name, &entry);
        self.put(name.clone(), entry.clone());
        Ok(entry)
    }

    /// The filter in a file, with the file as it was when it was read.
    fn open_file(&self, path: &Path) -> Result<(Filter, FileStamp), String> {
        let text = |error: mayhap_store::Error| error.to_string();
        let key = Some(self.options.secret_key);
        // Before all that is read into memory: what is changed meanwhile is another file.
        let stamp = FileStamp::at(path).map_err(|error| format!("{}: {error}", path.display()))?;
        match read_header(path) {
            Ok(header) => {
                super::contents::check_native(&header, &self.options)
                    .map_err(|error| format!("{}: {error}", path.display()))?;
                match header.kind() {
                    Kind::Bloom => {
                        let mapped = open_mapped(path, key).map_err(text)?;
                        let stamp = mapped.stamp();
                        Ok((Filter::Mapped(mapped), stamp))
                    }
                    Kind::Scalable => {
                        let charge = charge(header.body_bytes(), &self.options, &self.budget)
                            .map_err(|error| format!("{}: {error}", path.display()))?;
                        let loaded = load_as::<ScalableBloomFilter>(path, key).map_err(text)?;
                        Ok((Filter::growing(loaded.filter, &self.options, charge), stamp))
                    }
                    other => Err(format!(
                        "{}: a {} filter cannot be served from a file",
                        path.display(),
                        other.name()
                    )),
                }
            }
            Err(
                error @ (mayhap_store::Error::Foreign { .. }
                | mayhap_store::Error::Format { source: mayhap::Error::NotAFilter, .. }),
            ) => {
                let foreign = self.open_foreign(path);
                let foreign = foreign.map_err(|error| format!("{}: {error}", path.display()))?;
                Ok((foreign.ok_or_else(|| error.to_string())?, stamp))
            }
            Err(error) => Err(error.to_string()),
        }
    }

    /// `None` if it is of no system that is known.
    fn open_foreign(&self, path: &Path) -> Result<Option<Filter>, String> {
        let limits = limits(&self.options);
        let text = |error: mayhap::Error| error.to_string();
        // What is read is charged, and then what is kept of it.
        let length = path.metadata().map_err(|error| error.to_string())?.len();
        let charge = charge(length, &self.options, &self.budget).map_err(text)?;
        let bytes = read_bytes(path, length).map_err(|error| error.to_string())?;
        let mut last = None;
        for candidate in mayhap_formats::detect(&bytes) {
            match mayhap_formats::open(candidate.format, &bytes, &limits) {
                Ok(filter) => {
                    drop(bytes);
                    charge.add(filter.num_bits() / 8).map_err(text)?;
                    charge.give_back(length);
                    return Ok(Some(Filter::Foreign(filter, charge)));
                }
                Err(error) => last = last.or(Some(error.to_string())),
            }
        }
        last.map_or(Ok(None), Err)
    }

    /// Filters that do not answer, since their files were changed and no whole ones stand there.
    pub fn unreadable_files(&self) -> u64 {
        // ORDERING: Relaxed. A number that stands for itself.
        self.files.unreadable.load(Ordering::Relaxed)
    }

    /// Looks at all files: notices those that were changed, and serves those anew that are whole and
    /// were left alone since the last look.
    pub fn refresh_files(&self) {
        let mut unreadable = 0;
        for file in &mut *locked(&self.files.watched) {
            self.refresh_file(file);
            let entry = self.get(&file.name, 0).filter(|_| file.served.is_some());
            let problem = entry.and_then(|entry| entry.file_problem());
            if let Some(problem) = problem.filter(|_| !file.is_told) {
                log::error!("{}: {problem}", file.path.display());
            }
            file.is_told = problem.is_some();
            unreadable += u64::from(problem.is_some());
        }
        // ORDERING: Relaxed, as above.
        self.files.unreadable.store(unreadable, Ordering::Relaxed);
    }

    fn refresh_file(&self, file: &mut Watched) {
        // One that is not there, or of which the system does not tell, is left as it is.
        let Ok(found) = FileStamp::at(&file.path) else { return };
        let entry = self.get(&file.name, 0).filter(|_| file.served.is_some());
        let is_sound = entry.as_ref().is_some_and(|entry| entry.file_problem().is_none());
        if is_sound && file.served == Some(found) {
            (file.seen, file.failed) = (Some(found), None);
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
                (file.served, file.failed, file.is_told) = (Some(found), None, false);
                log::info!("serving {} read only, as it is now", file.path.display());
            }
            Err(problem) => {
                let failed = Failed::again(file.failed.take(), found);
                if failed.times == 1 {
                    log::warn!("not served: {problem}");
                }
                file.failed = Some(failed);
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
    ) -> Result<(), String> {
        let (filter, stamp) = self.open_file(path)?;
        if let Filter::Mapped(mapped) = &filter {
            mapped.verify().and_then(|()| mapped.check()).map_err(|error| error.to_string())?;
        }
        if stamp != found || FileStamp::at(path).ok() != Some(found) {
            return Err(format!("{}: it is being written to", path.display()));
        }
        self.publish_file(name, filter, instead).map(|_| ())
    }
}

impl Entry {
    /// Whether what was read of a file until now can be used: to be called after questions, before
    /// they are answered. Filters that are no files always can.
    ///
    /// # Errors
    ///
    /// [`Unreadable`].
    pub fn check_file(&self) -> Result<(), Unreadable> {
        self.file_problem().map_or(Ok(()), Err)
    }

    /// [`Entry::check_file`] after a single question, which the system call would cost as much as
    /// the question itself: the file is looked at if `now`, any clock, has gone on since, so that an
    /// answer can be wrong in the millisecond in which somebody begins to overwrite it. Pages that
    /// are gone are noticed at once.
    ///
    /// # Errors
    ///
    /// [`Unreadable`].
    #[inline]
    pub fn check_file_at(&self, now: u64) -> Result<(), Unreadable> {
        match &self.filter {
            Filter::Mapped(mapped) => {
                mapped.changed_at(now).map_or(Ok(()), |what| Err(what.into()))
            }
            _ => Ok(()),
        }
    }

    /// What [`Entry::check_file`] says.
    pub fn file_problem(&self) -> Option<Unreadable> {
        match &self.filter {
            Filter::Mapped(mapped) => mapped.changed().map(Unreadable::from),
            _ => None,
        }
    }
}
