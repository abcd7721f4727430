//! Filter files that users put into the data folder: served by name, read only, and watched.
//!
//! Others may truncate, overwrite, replace or remove such a file at any time. A filter that is
//! mapped from it then returns an error instead of an answer ([`Entry::check_file`]), as it does
//! for a damaged page, and as a file that could not be opened does. A thread checks all files twice
//! a second (`refresh.rs`), and verifies pages that no query has read yet: a file that was changed,
//! and then left alone from one check to the next, is reopened, verified completely, and served in
//! place of the old one if it is sound. Until then an old file that is still intact (it was renamed
//! or removed, or is in memory) continues to be served. An unreadable file makes its name an error,
//! as the contents of that filter are unknown.

use super::folder::{named, names_in, stem};
use super::kind::window::check_times;
use super::kind::{
    Filter, Foreign, Frozen, Growing, Mapped, Matrix, Placeholder, Still, check_header,
};
use super::spec::hash_of;
use super::watched::{Failed, Folder, Origin, Watched};
use super::{
    BadFilter, Entry, FileError, FileProblem, Files, Hash, Keyspace, Shape, Spec, Unreadable,
};
use crate::sync::unpoisoned;
use mayhap::native::{Header, Kind};
use mayhap::{BinaryFuse, BloomMatrix, RibbonFilter, ScalableBloomFilter, WindowBloomFilter};
use mayhap_formats::{ForeignFilter, Format, KeyChoice};
use mayhap_store::{FileStamp, load_as, open_mapped, read_bytes, read_header};
use std::io;
use std::path::Path;
use std::sync::Arc;

impl Files {
    /// Serves a file under its name without extension: a plain native filter is mapped; a growing
    /// or frozen one, a window, a matrix or a foreign filter is read into memory. It is read only,
    /// and not in the log. A foreign filter is queried for texts of the key type that it records or
    /// always has; if there are several, or its format has no signature, the name of the file has
    /// to include it: `NAME.TYPE.FORMAT`, such as `ids.long.guava`.
    ///
    /// From then on the file is watched, even if it cannot be served now: then its name is taken by
    /// a filter that answers no query, since its contents are unknown.
    ///
    /// # Errors
    ///
    /// [`FileError`]: not a filter, not of this key, above a limit, or the name is taken.
    pub fn serve(keyspace: &Keyspace, path: &Path) -> Result<Arc<Entry>, FileError> {
        let failed = |problem| FileError { path: path.into(), problem };
        let (name, _) = named(path).ok_or(FileProblem::NoName).map_err(failed)?;
        let name: Arc<[u8]> = name.as_encoded_bytes().into();
        let mut watch = unpoisoned(keyspace.files().watch.lock());
        if watch.files.iter().any(|file| file.name == name) {
            return Err(failed(FileProblem::Taken));
        }
        let mut file = Watched::new(name, vec![path.into()], Origin::Call);
        let served = Self::begin(keyspace, &mut file).map_err(failed);
        watch.files.push(file);
        Self::note_troubles(keyspace, &watch);
        served
    }

    /// Serves all files of a folder as [`Files::serve`] does, and logs the result for each;
    /// from then on also new ones. Links are followed. Any entry makes its name that of a filter,
    /// which answers no query until there is exactly one sound file for it. Hidden entries,
    /// `lost+found`, and the logs and digests of filters are left out.
    ///
    /// # Errors
    ///
    /// If the folder cannot be read.
    pub fn serve_folder(keyspace: &Keyspace, folder: &Path) -> io::Result<()> {
        let names = names_in(folder)?;
        let mut watch = unpoisoned(keyspace.files().watch.lock());
        for (name, paths) in names {
            let mut file = Watched::new(name, paths, Origin::Folder);
            match Self::begin(keyspace, &mut file) {
                Ok(_) => log::info!("serving {} read-only", file.path.display()),
                // A file that cannot be served must not keep the others from clients.
                Err(problem) => file.refuse(problem),
            }
            watch.files.push(file);
        }
        watch.folder = Some(Folder { path: folder.into(), problem: None });
        Self::note_troubles(keyspace, &watch);
        Ok(())
    }

    /// Opens a file for the first time, and claims its name.
    fn begin(keyspace: &Keyspace, file: &mut Watched) -> Result<Arc<Entry>, FileProblem> {
        keyspace.check_name(&file.name)?;
        if keyspace.get(&file.name, 0).is_some() {
            return Err(FileProblem::Taken);
        }
        if file.paths.len() > 1 {
            let several = file.several();
            Self::publish_file(keyspace, &file.name, Box::new(Placeholder(several.clone())), None)?;
            return Err(FileProblem::Unreadable(several));
        }
        file.seen = FileStamp::at(&file.path).ok();
        match Self::open_file(keyspace, &file.path) {
            Ok((filter, stamp)) => {
                file.opened(stamp);
                Self::publish_file(keyspace, &file.name, filter, None)
            }
            Err(problem) => {
                file.failed = file.seen.map(|seen| Failed::again(None, seen, &problem));
                let unopened = Box::new(Placeholder(Unreadable::NotOpened));
                Self::publish_file(keyspace, &file.name, unopened, None)?;
                Err(problem)
            }
        }
    }

    /// Publishes a file under its name: one that is free, or that of the filter with this id.
    pub(super) fn publish_file(
        keyspace: &Keyspace,
        name: &Arc<[u8]>,
        filter: Box<dyn Filter>,
        instead: Option<u64>,
    ) -> Result<Arc<Entry>, FileProblem> {
        let hash = filter.digest_function().as_ref().map_or(Hash::Plain { seed: 0 }, hash_of);
        let spec = Spec { shape: Shape::File, hash };
        let mut next_id = keyspace.names.change();
        if keyspace.get(name, 0).map(|entry| entry.id) != instead {
            return Err(FileProblem::TakenMeanwhile);
        }
        let overhead = keyspace.resources.force_overhead(name);
        let entry = keyspace.entry(*next_id, spec, 0, filter, overhead);
        *next_id += 1;
        keyspace.names.add_to_index(name, &entry, None);
        keyspace.names.put(name.clone(), entry.clone());
        Ok(entry)
    }

    /// Withdraws the name of a file that is gone, and was never opened.
    pub(super) fn withdraw(keyspace: &Keyspace, name: &[u8]) {
        let _changing = keyspace.names.change();
        if let Some(entry) = keyspace.get(name, 0).filter(|entry| entry.is_read_only()) {
            // The log does not contain it.
            let _ = keyspace.drop_entry(name, &entry, None);
        }
    }

    /// The filter in a file, with the stamp of the file when it was read.
    pub(super) fn open_file(
        keyspace: &Keyspace,
        path: &Path,
    ) -> Result<(Box<dyn Filter>, FileStamp), FileProblem> {
        // Before the file is read into memory: a change meanwhile makes it another file.
        let stamp = FileStamp::at(path).map_err(FileProblem::Io)?;
        match read_header(path) {
            Ok(header) => Self::open_native(keyspace, path, &header, stamp),
            Err(
                error @ (mayhap_store::Error::Foreign { .. }
                | mayhap_store::Error::Format { source: mayhap::Error::NotAFilter, .. }),
            ) => match Self::open_foreign(keyspace, path)? {
                Some(filter) => Ok((filter, stamp)),
                None => Err(error.into()),
            },
            Err(error) => Err(error.into()),
        }
    }

    fn open_native(
        keyspace: &Keyspace,
        path: &Path,
        header: &Header,
        stamp: FileStamp,
    ) -> Result<(Box<dyn Filter>, FileStamp), FileProblem> {
        check_header(header, keyspace.options())?;
        let key = keyspace.options().key_for(header);
        // Of a filter that is read into memory.
        let charge = || keyspace.resources.charge(header.body_bytes()).map_err(BadFilter::Native);
        match header.kind() {
            Kind::Bloom => {
                let mapped = open_mapped(path, key)?;
                let stamp = mapped.stamp();
                Ok((Box::new(Mapped(mapped)), stamp))
            }
            Kind::Scalable => {
                let charge = charge()?;
                let loaded = load_as::<ScalableBloomFilter>(path, key)?;
                let home = keyspace.resources.home();
                Ok((Box::new(Growing::new(loaded.filter, Shape::File, home, charge)), stamp))
            }
            Kind::Matrix => {
                let charge = charge()?;
                let matrix = load_as::<BloomMatrix>(path, key)?.filter;
                keyspace.files().most_sets.raise(matrix.num_sets() as u64);
                Ok((Box::new(Matrix { matrix, charge }), stamp))
            }
            Kind::Window => {
                let charge = charge()?;
                let filter = load_as::<WindowBloomFilter>(path, key)?.filter;
                check_times(&filter, header.key_options())?;
                Ok((Box::new(Still { filter, charge }), stamp))
            }
            Kind::Fuse => {
                let (charge, set) = (charge()?, load_as::<BinaryFuse>(path, key)?.filter);
                Ok((Box::new(Frozen { set: Arc::new(set), charge }), stamp))
            }
            Kind::Ribbon => {
                let (charge, set) = (charge()?, load_as::<RibbonFilter>(path, key)?.filter);
                Ok((Box::new(Frozen { set: Arc::new(set), charge }), stamp))
            }
            other => Err(FileProblem::Kind(other)),
        }
    }

    /// `None` if it is of no known format.
    fn open_foreign(
        keyspace: &Keyspace,
        path: &Path,
    ) -> Result<Option<Box<dyn Filter>>, FileProblem> {
        let native = |error| FileProblem::Filter(BadFilter::Native(error));
        // The bytes read are charged first, and then those kept.
        let length = path.metadata().map_err(FileProblem::Io)?.len();
        let charge = keyspace.resources.charge(length).map_err(native)?;
        let bytes = read_bytes(path, length)?;
        let (format, key_type) = named(path).map_or((None, None), |(_, said)| said);
        let Some(filter) = Self::sole_format(keyspace, path, format, &bytes)? else {
            return Ok(None);
        };
        drop(bytes);
        let keys = KeyChoice::of(&*filter, key_type).map_err(BadFilter::Foreign)?;
        if keys.is_guess {
            let (format, known) = (filter.format().name(), keys.known);
            return Err(FileProblem::KeyType { stem: stem(path), format, known });
        }
        charge.add(filter.num_bits() / 8).map_err(native)?;
        charge.give_back(length);
        let key_type = keys.key_type;
        Ok(Some(Box::new(Foreign { filter, key_type, charge })))
    }

    /// The filter that the bytes are in this format, or in the only format that accepts them.
    fn sole_format(
        keyspace: &Keyspace,
        path: &Path,
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
            match mayhap_formats::open(format, bytes, &keyspace.options().format_limits()) {
                Ok(filter) => sound.push(filter),
                Err(error) => wrong = wrong.or(Some(BadFilter::Foreign(error))),
            }
        }
        if sound.len() > 1 {
            // Under another format it would answer "surely not" for its own keys.
            let formats = sound.iter().map(|filter| filter.format().name()).collect();
            return Err(FileProblem::Formats { stem: stem(path), formats });
        }
        match (sound.pop(), wrong) {
            (Some(filter), _) => Ok(Some(filter)),
            (None, Some(wrong)) => Err(wrong.into()),
            (None, None) => Ok(None),
        }
    }

    /// The most sets of a matrix that was served.
    pub fn most_sets(&self) -> u64 {
        self.most_sets.get()
    }
}
