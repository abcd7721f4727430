//! Filter files that somebody put into the data folder: served by name, read only, and looked
//! after.
//!
//! Others may cut, overwrite, replace or remove such a file at any time. A filter that is read
//! where it lies then says so instead of answering ([`Entry::check_file`]), as it does when a page
//! is damaged and as a file that could not be opened does. A thread looks at all files twice a
//! second (`refresh.rs`), and checks what no query has read yet: one that was changed, and then
//! left alone from one look to the next, is opened anew, all of it checked, and served in place of
//! the old one if it is whole. Until then an old file that is still as it was (it was renamed or
//! removed, or is in memory) goes on being served. What has a name in the folder and cannot be read
//! is an error of its name: nobody knows what is in it.

use super::entry::home;
use super::folder::{named, names_in};
use super::kind::window::check_times;
use super::kind::{Filter, Foreign, Growing, Mapped, Matrix, Still, Unopened, check_header};
use super::lock::locked;
use super::spec::hash_of;
use super::watched::{Failed, Folder, Origin, Watched};
use super::{BadFilter, Entry, FileError, FileProblem, Hash, Keyspace, Shape, Spec, Unreadable};
use mayhap::native::{Header, Kind};
use mayhap::{BloomMatrix, ScalableBloomFilter, WindowBloomFilter};
use mayhap_formats::{ForeignFilter, Format, KeyChoice};
use mayhap_store::{FileStamp, load_as, open_mapped, read_bytes, read_header};
use std::io;
use std::path::Path;
use std::sync::Arc;

impl Keyspace {
    /// Serves a file under its name without extension: a plain filter of ours where it lies,
    /// mapped, a growing one, a window, a matrix or a filter of another system from memory. Nothing
    /// can be inserted, and the log knows nothing of it. A filter of another system is queried for
    /// texts of the key type that it records or always has; where there are several, or its format
    /// has no signature, the name of the file says so: `NAME.TYPE.FORMAT`, such as
    /// `ids.long.guava`.
    ///
    /// From then on the file is looked after, also if it cannot be served now: then its name is
    /// taken by a filter that answers no query, since nobody knows what is in it.
    ///
    /// # Errors
    ///
    /// [`FileError`]: no filter, not of this key, above a limit, or the name is taken.
    pub fn serve_file(&self, path: &Path) -> Result<Arc<Entry>, FileError> {
        let failed = |problem| FileError { path: path.into(), problem };
        let (name, _) = named(path).ok_or(FileProblem::NoName).map_err(failed)?;
        let name: Arc<[u8]> = name.as_encoded_bytes().into();
        let mut watch = locked(&self.files.watch);
        if watch.files.iter().any(|file| file.name == name) {
            return Err(failed(FileProblem::Taken));
        }
        let mut file = Watched::new(name, vec![path.into()], Origin::Call);
        let served = self.begin(&mut file).map_err(failed);
        watch.files.push(file);
        self.note_troubles(&watch);
        served
    }

    /// Serves all files of a folder as [`Keyspace::serve_file`] does, and says in the log what
    /// became of each; from then on those that come, too. Links are followed. A name is one of a
    /// filter whatever stands there, and of several files: it answers no query until a whole file
    /// does. Left out are hidden entries, `lost+found`, and the logs and digests of filters.
    ///
    /// # Errors
    ///
    /// If the folder cannot be read.
    pub fn serve_folder(&self, folder: &Path) -> io::Result<()> {
        let names = names_in(folder)?;
        let mut watch = locked(&self.files.watch);
        for (name, paths) in names {
            let mut file = Watched::new(name, paths, Origin::Folder);
            match self.begin(&mut file) {
                Ok(_) => log::info!("serving {} read-only", file.path.display()),
                // A file that cannot be served is no reason to keep the others from clients.
                Err(problem) => file.refuse(problem),
            }
            watch.files.push(file);
        }
        watch.folder = Some(Folder { path: folder.into(), problem: None });
        self.note_troubles(&watch);
        Ok(())
    }

    /// Opens a file for the first time, and takes its name.
    fn begin(&self, file: &mut Watched) -> Result<Arc<Entry>, FileProblem> {
        self.check_name(&file.name)?;
        if self.get(&file.name, 0).is_some() {
            return Err(FileProblem::Taken);
        }
        if file.paths.len() > 1 {
            let several = file.several();
            self.publish_file(&file.name, Box::new(Unopened(several.clone())), None)?;
            return Err(FileProblem::Unreadable(several));
        }
        file.seen = FileStamp::at(&file.path).ok();
        match self.open_file(&file.path) {
            Ok((filter, stamp)) => {
                file.opened(stamp);
                self.publish_file(&file.name, filter, None)
            }
            Err(problem) => {
                file.failed = file.seen.map(|seen| Failed::again(None, seen, &problem));
                let unopened = Box::new(Unopened(Unreadable::NotOpened));
                self.publish_file(&file.name, unopened, None)?;
                Err(problem)
            }
        }
    }

    /// Gives a file its name: one that is free, or that of the filter of this id.
    pub(super) fn publish_file(
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
        self.add_to_index(name, &entry, None);
        self.put(name.clone(), entry.clone());
        Ok(entry)
    }

    /// Takes the name from a file that is not there, and never was opened.
    pub(super) fn withdraw(&self, name: &[u8]) {
        let _changing = locked(&self.changing);
        if let Some(entry) = self.get(name, 0).filter(|entry| entry.is_read_only()) {
            // The log does not know it.
            let _ = self.drop_entry(name, &entry, None);
        }
    }

    /// The filter in a file, with the file as it was when it was read.
    pub(super) fn open_file(
        &self,
        path: &Path,
    ) -> Result<(Box<dyn Filter>, FileStamp), FileProblem> {
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
            Kind::Window => {
                let charge = self.options.charge(header.body_bytes(), &self.budget);
                let charge = charge.map_err(BadFilter::Native)?;
                let filter = load_as::<WindowBloomFilter>(path, key)?.filter;
                check_times(&filter, header.key_options())?;
                Ok((Box::new(Still { filter, charge }), stamp))
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
        let Some(filter) = self.sole_format(format, &bytes)? else { return Ok(None) };
        drop(bytes);
        let keys = KeyChoice::of(&*filter, key_type).map_err(BadFilter::Foreign)?;
        if keys.is_guess {
            let (format, known) = (filter.format().name(), keys.known);
            return Err(FileProblem::KeyType { format, known });
        }
        charge.add(filter.num_bits() / 8).map_err(native)?;
        charge.give_back(length);
        let key_type = keys.key_type;
        Ok(Some(Box::new(Foreign { filter, key_type, charge })))
    }

    /// The filter that the bytes are in this format, or in the only one that they can be of.
    fn sole_format(
        &self,
        format: Option<Format>,
        bytes: &[u8],
    ) -> Result<Option<Box<dyn ForeignFilter>>, FileProblem> {
        let mut formats: Vec<Format> = match format {
            Some(format) => vec![format],
            None => mayhap_formats::detect(bytes).iter().map(|it| it.format).collect(),
        };
        formats.dedup();
        let (mut sound, mut wrong) = (Vec::new(), None);
        for format in formats {
            match mayhap_formats::open(format, bytes, &self.options.format_limits()) {
                Ok(filter) => sound.push(filter),
                Err(error) => wrong = wrong.or(Some(BadFilter::Foreign(error))),
            }
        }
        if sound.len() > 1 {
            // As one of the others it would answer "surely not" to its keys.
            let formats = sound.iter().map(|filter| filter.format().name()).collect();
            return Err(FileProblem::Formats { formats });
        }
        match (sound.pop(), wrong) {
            (Some(filter), _) => Ok(Some(filter)),
            (None, Some(wrong)) => Err(wrong.into()),
            (None, None) => Ok(None),
        }
    }

    /// The most sets of a matrix that was served.
    pub fn most_sets(&self) -> u64 {
        self.files.most_sets.get()
    }
}
