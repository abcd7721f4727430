//! Filter files that somebody put into the data folder: served by name, read only, and looked
//! after.
//!
//! Others may cut, overwrite or replace such a file at any time. A filter that is read where it
//! lies then says so instead of answering ([`Entry::check_file`]), as it does when a page is
//! damaged and as a file that could not be opened does. A thread looks at all files twice a second,
//! and checks what no query has read yet: one that was changed, and then left alone from one look
//! to the next, is opened anew, all of it checked, and served in place of the old one if it is
//! whole. Until then an old file that is still as it was (it was renamed or removed, or is in
//! memory) goes on being served.

use super::entry::home;
use super::kind::{Filter, Foreign, Growing, Mapped, Matrix, Unopened, check_header};
use super::lock::locked;
use super::spec::hash_of;
use super::watched::{Failed, Watched};
use super::{BadFilter, Entry, FileError, FileProblem, Hash, Keyspace, Shape, Spec};
use mayhap::native::{Header, Kind, PAGE_BYTES};
use mayhap::{BloomMatrix, ScalableBloomFilter};
use mayhap_formats::{Format, KeyChoice, KeyType};
use mayhap_store::{FileStamp, load_as, open_mapped, read_bytes, read_header};
use std::ffi::OsStr;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::Ordering;

/// Pages of all files that are compared with their checksums in one look, before queries need
/// them: 256 MiB, a tenth of a second.
const PAGES_AHEAD: u64 = 1 << 16;

impl Keyspace {
    /// Serves a file under its name without extension: a plain filter of ours where it lies,
    /// mapped, a growing one, a matrix or a filter of another system from memory. Nothing can be
    /// inserted, and the log knows nothing of it. A filter of another system is queried for texts
    /// of the key type that it records or always has; where there are several, or its format has no
    /// signature, the name of the file says so: `NAME.TYPE.FORMAT`, such as `ids.long.guava`.
    ///
    /// From then on the file is looked after, also if it cannot be served now: then its name is
    /// taken by a filter that answers no query, since nobody knows what is in it.
    ///
    /// # Errors
    ///
    /// [`FileError`]: no filter, not of this key, above a limit, or the name is taken.
    pub fn serve_file(&self, path: &Path) -> Result<Arc<Entry>, FileError> {
        self.serve_new(path).map_err(|problem| FileError { path: path.into(), problem })
    }

    fn serve_new(&self, path: &Path) -> Result<Arc<Entry>, FileProblem> {
        let (name, _) = named(path).ok_or(FileProblem::NoName)?;
        let name: Arc<[u8]> = name.as_encoded_bytes().into();
        self.check_name(&name)?;
        if self.get(&name, 0).is_some() {
            return Err(FileProblem::Taken);
        }
        let seen = FileStamp::at(path).ok();
        let opened = self.open_file(path);
        let served = opened.as_ref().ok().map(|(_, stamp)| *stamp);
        let failed = seen.filter(|_| served.is_none()).map(|seen| Failed::again(None, seen));
        let (path, shown) = (path.to_path_buf(), name.clone());
        let (is_reported, is_checked) = (served.is_none(), false);
        let watched = Watched { path, name: shown, served, seen, failed, is_reported, is_checked };
        locked(&self.files.watched).push(watched);
        match opened {
            Ok((filter, _)) => self.publish_file(&name, filter, None),
            Err(problem) => {
                self.publish_file(&name, Box::new(Unopened), None)?;
                Err(problem)
            }
        }
    }

    /// Gives a file its name: one that is free, or that of the filter of this id.
    fn publish_file(
        &self,
        name: &Arc<[u8]>,
        filter: Box<dyn Filter>,
        instead: Option<u64>,
    ) -> Result<Arc<Entry>, FileProblem> {
        let hash = filter.digest_function().as_ref().map_or(Hash::Plain { seed: 0 }, hash_of);
        let spec = Spec { shape: Shape::File, hash };
        let mut next_id = locked(&self.changing);
        if self.get(name, 0).map(|entry| entry.id) != instead {
            return Err(FileProblem::TakenMeanwhile);
        }
        let overhead = self.force_overhead(name);
        let entry =
            Arc::new(Entry::new(*next_id, spec, 0, filter, (overhead, self.expiring.clone())));
        *next_id += 1;
        self.add_to_index(name, &entry);
        self.put(name.clone(), entry.clone());
        Ok(entry)
    }

    /// The filter in a file, with the file as it was when it was read.
    fn open_file(&self, path: &Path) -> Result<(Box<dyn Filter>, FileStamp), FileProblem> {
        // Before all that is read into memory: what is changed meanwhile is another file.
        let stamp = FileStamp::at(path).map_err(FileProblem::Io)?;
        match read_header(path) {
            Ok(header) => self.open_native(path, &header, stamp),
            Err(
                error @ (mayhap_store::Error::Foreign { .. }
                | mayhap_store::Error::Format { source: mayhap::Error::NotAFilter, .. }),
            ) => match self.open_foreign(path)? {
                Some(filter) => Ok((filter, stamp)),
                None => Err(error.into()),
            },
            Err(error) => Err(error.into()),
        }
    }

    fn open_native(
        &self,
        path: &Path,
        header: &Header,
        stamp: FileStamp,
    ) -> Result<(Box<dyn Filter>, FileStamp), FileProblem> {
        check_header(header, &self.options)?;
        let key = self.options.key_for(header);
        match header.kind() {
            Kind::Bloom => {
                let mapped = open_mapped(path, key)?;
                let stamp = mapped.stamp();
                Ok((Box::new(Mapped(mapped)), stamp))
            }
            Kind::Scalable => {
                let charge = self.options.charge(header.body_bytes(), &self.budget);
                let charge = charge.map_err(BadFilter::Native)?;
                let loaded = load_as::<ScalableBloomFilter>(path, key)?;
                let home = home(&self.options, &self.growth);
                Ok((Box::new(Growing::new(loaded.filter, None, home, charge)), stamp))
            }
            Kind::Matrix => {
                let charge = self.options.charge(header.body_bytes(), &self.budget);
                let charge = charge.map_err(BadFilter::Native)?;
                let matrix = load_as::<BloomMatrix>(path, key)?.filter;
                self.files.most_sets.raise(matrix.num_sets() as u64);
                Ok((Box::new(Matrix { matrix, charge }), stamp))
            }
            other => Err(FileProblem::Kind(other)),
        }
    }

    /// `None` if it is of no system that is known.
    fn open_foreign(&self, path: &Path) -> Result<Option<Box<dyn Filter>>, FileProblem> {
        let native = |error| FileProblem::Filter(BadFilter::Native(error));
        // What is read is charged, and then what is kept of it.
        let length = path.metadata().map_err(FileProblem::Io)?.len();
        let charge = self.options.charge(length, &self.budget).map_err(native)?;
        let bytes = read_bytes(path, length)?;
        let (format, key_type) = named(path).map_or((None, None), |(_, said)| said);
        let formats: Vec<Format> = match format {
            Some(format) => vec![format],
            None => mayhap_formats::detect(&bytes).iter().map(|it| it.format).collect(),
        };
        let mut last = None;
        for format in formats {
            match mayhap_formats::open(format, &bytes, &self.options.format_limits()) {
                Ok(filter) => {
                    drop(bytes);
                    let keys = KeyChoice::of(&*filter, key_type).map_err(BadFilter::Foreign)?;
                    if keys.is_guess {
                        let (format, known) = (filter.format().name(), keys.known);
                        return Err(FileProblem::KeyType { format, known });
                    }
                    charge.add(filter.num_bits() / 8).map_err(native)?;
                    charge.give_back(length);
                    let key_type = keys.key_type;
                    return Ok(Some(Box::new(Foreign { filter, key_type, charge })));
                }
                Err(error) => last = last.or(Some(BadFilter::Foreign(error).into())),
            }
        }
        last.map_or(Ok(None), Err)
    }

    /// The most sets of a matrix that was served.
    pub fn most_sets(&self) -> u64 {
        self.files.most_sets.get()
    }

    /// Filters that do not answer, since their files were changed and no whole ones stand there.
    pub fn unreadable_files(&self) -> u64 {
        // ORDERING: Relaxed. A number that stands for itself.
        self.files.unreadable.load(Ordering::Relaxed)
    }

    /// Looks at all files: notices those that were changed, and serves those anew that are whole
    /// and were left alone since the last look.
    pub fn refresh_files(&self) {
        let (mut unreadable, mut pages) = (0, PAGES_AHEAD);
        for file in &mut *locked(&self.files.watched) {
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
            unreadable += u64::from(problem.is_some());
        }
        // ORDERING: Relaxed, as above.
        self.files.unreadable.store(unreadable, Ordering::Relaxed);
    }

    /// The file that has this name, if the name is not another filter's.
    fn file_of(&self, name: &[u8]) -> Option<Arc<Entry>> {
        self.get(name, 0).filter(|entry| entry.is_read_only())
    }

    fn refresh_file(&self, file: &mut Watched) {
        // One that is not there, or that the system cannot look at, is left as it is.
        let Ok(found) = FileStamp::at(&file.path) else { return };
        let entry = self.file_of(&file.name);
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
                (file.served, file.failed) = (Some(found), None);
                (file.is_reported, file.is_checked) = (false, false);
                log::info!("serving {} read-only, in its present state", file.path.display());
            }
            Err(problem) => {
                let error = FileError { path: file.path.clone(), problem };
                let failed = Failed::again(file.failed.take(), found);
                if failed.times == 1 {
                    log::warn!("not served: {error}");
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
    ) -> Result<(), FileProblem> {
        let (filter, stamp) = self.open_file(path)?;
        filter.verify()?;
        if stamp != found || FileStamp::at(path).ok() != Some(found) {
            return Err(FileProblem::Changing);
        }
        self.publish_file(name, filter, instead).map(|_| ())
    }
}

type Said = (Option<Format>, Option<KeyType>);

/// The name of the filter in a file, which is that of the file without its extension; and what the
/// extensions `.FORMAT` and `.TYPE.FORMAT` say of a filter of another system.
fn named(path: &Path) -> Option<(&OsStr, Said)> {
    let stem = path.file_stem()?;
    let extension = |path: &Path| path.extension().and_then(OsStr::to_str).map(str::to_owned);
    let Some(format) = extension(path).and_then(|name| Format::from_name(&name)) else {
        return Some((stem, (None, None)));
    };
    let key_type = extension(Path::new(stem)).and_then(|name| KeyType::from_name(&name));
    let name = if key_type.is_some() { Path::new(stem).file_stem()? } else { stem };
    Some((name, (Some(format), key_type)))
}
