//! Finding out what a file is, and opening it.

use super::error::Error;
use super::table;
use crate::keys::KeyTypes;
use crate::known::Known;
use crate::measurements::ByFormula;
use crate::room::estimate_spread;
use mayhap::native::MAGIC;
use mayhap_formats::{Candidate, ForeignFilter, KeyChoice, KeyType, Limits, Shape};
use mayhap_store::{Error as Store, FilterLock};
use std::fs::File;
use std::io::Read;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

/// A longer file that looks like text is not read to find out what it is: it is a list of keys
/// where a filter should be, unless it begins as the JSON of one.
const MAX_TEXT_BYTES: u64 = 64 << 20;

/// A filter of another system, in memory.
#[derive(Debug)]
pub struct ForeignFile {
    name: String,
    path: PathBuf,
    column: Option<String>,
    file_bytes: u64,
    /// The file as it was before it was read.
    stamp: Option<Stamp>,
    /// The format detected from its bytes, unless one was given.
    detected: Option<Candidate>,
    filter: Box<dyn ForeignFilter>,
    keys: KeyChoice,
    /// The facts it was opened with, to read it again.
    known: Known,
    max_bytes: u64,
    /// n and p of one that was created here, until it is read again: few formats record them.
    created_for: Option<(u64, f64)>,
}

impl ForeignFile {
    /// Opens a file, or of `FILE#COLUMN` a column; `None` if it is mayhap's own, or nothing known.
    ///
    /// # Errors
    ///
    /// [`Error::TooLarge`] before it is read; [`Error::Format`] if it is not sound, or has no keys
    /// of the given type; [`Error::Ambiguous`]; [`Error::NoTable`], [`Error::NoColumnNamed`].
    pub fn open(path: &Path, known: Known, max_bytes: u64) -> Result<Option<Self>, Error> {
        let (path, column) = split_column(path);
        Self::open_column(&path, column.as_deref(), known, max_bytes)
    }

    /// [`ForeignFile::open`] of a file and a column of any name.
    ///
    /// # Errors
    ///
    /// As [`ForeignFile::open`].
    pub fn open_column(
        path: &Path,
        column: Option<&str>,
        known: Known,
        max_bytes: u64,
    ) -> Result<Option<Self>, Error> {
        let name = match column {
            Some(column) => format!("{}#{column}", path.display()),
            None => path.display().to_string(),
        };
        let (path, column) = (path.to_path_buf(), column.map(str::to_owned));
        let stamp = Stamp::of(&path);
        let limits = Limits { max_bytes, ..Limits::default() };
        match (mayhap_store::read_header(&path), known.format) {
            (
                Err(Store::Foreign { looks_like: table::LOOKS_LIKE, .. }),
                None | Some(table::FORMAT),
            ) => {
                let filter = table::open(&name, &path, column.as_deref(), &limits)?;
                let known = (known, max_bytes);
                return Self::of(name, (path, stamp), column, (filter, None), known).map(Some);
            }
            (Err(Store::Foreign { looks_like: "text", .. }), None) if is_list(&path) => {
                return Ok(None);
            }
            (Err(Store::Foreign { .. } | Store::Format { .. }), _) => {}
            // Our own, or an error that is none of a file of others.
            _ => return Ok(None),
        }
        let bytes = read(&path, max_bytes)?;
        if bytes.starts_with(&MAGIC) {
            return Ok(None);
        }
        let foreign = |source| Error::Format { name: name.clone(), source };
        let (filter, detected) = match (&column, known.format) {
            (Some(column), _) => {
                return Err(Error::NoTable { name: name.clone(), column: column.clone() });
            }
            (None, Some(format)) => {
                let opened = match known.shape {
                    Some(shape) => mayhap_formats::open_with(format, &bytes, shape, &limits),
                    None => mayhap_formats::open(format, &bytes, &limits),
                };
                (opened.map_err(foreign)?, None)
            }
            (None, None) => {
                let Some((filter, detected)) = detect(&name, &bytes, &limits)? else {
                    let Some(system) = mayhap_formats::unread(&bytes) else { return Ok(None) };
                    return Err(Error::Unread { name, system });
                };
                (filter, Some(detected))
            }
        };
        let known = (known, max_bytes);
        Self::of(name, (path, stamp), column, (filter, detected), known).map(Some)
    }

    fn of(
        name: String,
        (path, stamp): (PathBuf, Option<Stamp>),
        column: Option<String>,
        (filter, detected): (Box<dyn ForeignFilter>, Option<Candidate>),
        (known, max_bytes): (Known, u64),
    ) -> Result<Self, Error> {
        let file_bytes = path.metadata().map_err(Error::io("open", &name))?.len();
        let new = Self::of_new((name, &path), filter, (known, max_bytes), None)?;
        Ok(Self { column, file_bytes, stamp, detected, ..new })
    }

    /// One that was created in memory for n keys with the rate p, and is in no file yet.
    pub(crate) fn of_new(
        (name, path): (String, &Path),
        filter: Box<dyn ForeignFilter>,
        (known, max_bytes): (Known, u64),
        created_for: Option<(u64, f64)>,
    ) -> Result<Self, Error> {
        let keys = KeyChoice::of(&*filter, known.key_type)
            .map_err(|source| Error::Format { name: name.clone(), source })?;
        Ok(Self {
            name,
            path: path.to_path_buf(),
            column: None,
            file_bytes: 0,
            stamp: None,
            detected: None,
            filter,
            keys,
            known,
            max_bytes,
            created_for,
        })
    }

    /// The name for messages.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Bytes of the file.
    pub fn file_bytes(&self) -> u64 {
        self.file_bytes
    }

    /// The format detected from its bytes, unless one was given.
    pub fn detected(&self) -> Option<Candidate> {
        self.detected
    }

    /// m and k of a bitmap whose file does not record them: what opening it again needs.
    pub fn unrecorded_shape(&self) -> Option<Shape> {
        let needs_shape = mayhap_formats::needs_shape(self.filter.format());
        self.known.shape.filter(|_| needs_shape)
    }

    /// The filter.
    pub fn filter(&self) -> &dyn ForeignFilter {
        &*self.filter
    }

    /// The filter, to be changed.
    pub fn filter_mut(&mut self) -> &mut dyn ForeignFilter {
        &mut *self.filter
    }

    /// The key type: how the system hashes a key.
    pub fn key_type(&self) -> KeyType {
        self.keys.key_type
    }

    /// The type of keys, if it was given or there is only one.
    pub fn given_key_type(&self) -> Option<KeyType> {
        (!self.keys.is_guess).then_some(self.keys.key_type)
    }

    /// The key type, and the others that it may be.
    pub fn key_types(&self) -> KeyTypes {
        let alike = self.filter.format().alike().iter();
        let formats = alike.map(|format| format.name()).collect();
        KeyTypes { formats, ..KeyTypes::of(&self.keys) }
    }

    /// Its numbers. Reads all bits.
    pub fn numbers(&self) -> ByFormula {
        let filter = &self.filter;
        ByFormula {
            format: filter.format().name(),
            num_bits: filter.num_bits(),
            num_hashes: filter.num_hashes(),
            num_bytes: filter.num_bits().div_ceil(8),
            expected_items: self.expected_items(),
            target_fpp: self.target_fpp(),
            estimated_items: filter.estimated_items(),
            // One that is filled as it was created is not to be taken for over-full.
            estimate_spread: self.created_for.map_or(0, |(items, _)| estimate_spread(items)),
            fill_ratio: self.fill_ratio(),
            estimated_fpp: filter.estimated_fpp(),
            fpp_caution: filter.fpp_caution(),
        }
    }

    /// Saves it as its system would, to the file of this lock, where it is to be from now on;
    /// replaces one only if `replace` is set.
    ///
    /// # Errors
    ///
    /// [`Error::Store`].
    pub fn save(&mut self, lock: &FilterLock, replace: bool) -> Result<(), Error> {
        lock.save_bytes(&self.filter.encode(), replace)?;
        self.stamp = Stamp::of(&self.path);
        Ok(())
    }

    /// The file, without the column of a table.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Whether the file is as it was when it was read or saved last.
    pub fn is_unchanged(&self) -> bool {
        self.stamp.is_some() && self.stamp == Stamp::of(&self.path)
    }

    /// Reads the file again if others have changed it; whether they have.
    ///
    /// # Errors
    ///
    /// As [`ForeignFile::open`]; [`Error::Replaced`] if it is of another system by now.
    pub fn reload(&mut self) -> Result<bool, Error> {
        if self.is_unchanged() {
            return Ok(false);
        }
        let column = self.column.as_deref();
        let again = Self::open_column(&self.path, column, self.known, self.max_bytes)?;
        let same = again.filter(|again| again.filter.format() == self.filter.format());
        *self = same.ok_or_else(|| Error::Replaced { name: self.name.clone() })?;
        Ok(true)
    }

    /// A number among the facts of the filter.
    pub fn number(&self, keys: &[&str]) -> Option<f64> {
        let facts = self.filter.facts();
        let fact = facts.iter().find(|fact| keys.contains(&fact.key))?;
        fact.value.parse().ok()
    }

    /// Keys that it was made for, where the file says and it does not grow; for one that clears
    /// itself those after which it does.
    pub fn expected_items(&self) -> Option<u64> {
        if self.number(&["growth"]).is_some() {
            return None;
        }
        if let Some(keys) = self.filter.clears_after() {
            return Some(keys);
        }
        let recorded = self.number(&["expected_items", "capacity"]).filter(|&n| n >= 1.0);
        recorded.map(|n| n as u64).or(self.created_for.map(|(items, _)| items))
    }

    /// The rate that it was made for, where the file says.
    pub fn target_fpp(&self) -> Option<f64> {
        self.number(&["target_fpp"]).or(self.created_for.map(|(_, fpp)| fpp))
    }

    /// The share of set bits among those that a key can reach. Reads all of them.
    pub fn fill_ratio(&self) -> f64 {
        self.filter.reachable_fill()
    }

    /// Refuses a column of which no row group has a filter, for all but queries of several files:
    /// any key may be in it.
    ///
    /// # Errors
    ///
    /// [`Error::NoFilter`].
    pub fn check_filters(&self) -> Result<(), Error> {
        match self.filter.holds_any() {
            Some(why) if self.filter.num_bits() == 0 => {
                Err(Error::NoFilter { name: self.name.clone(), why })
            }
            _ => Ok(()),
        }
    }

    /// Refuses to change a column, which is part of a table.
    ///
    /// # Errors
    ///
    /// [`Error::IsColumn`].
    pub fn check_change(&self) -> Result<(), Error> {
        if self.column.is_none() {
            return Ok(());
        }
        Err(Error::IsColumn { name: self.name.clone() })
    }
}

/// The properties that change when a file is replaced or written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Stamp {
    inode: (u64, u64),
    bytes: u64,
    modified: (i64, i64),
    changed: (i64, i64),
}

impl Stamp {
    fn of(path: &Path) -> Option<Self> {
        let found = path.metadata().ok()?;
        Some(Self {
            inode: (found.dev(), found.ino()),
            bytes: found.len(),
            modified: (found.mtime(), found.mtime_nsec()),
            changed: (found.ctime(), found.ctime_nsec()),
        })
    }
}

/// The file and the column that `FILE#COLUMN` names, unless there is a file of that whole name; a
/// name of either may have the mark as well.
fn split_column(path: &Path) -> (PathBuf, Option<String>) {
    if let (Some(text), false) = (path.to_str(), path.exists()) {
        for (at, _) in text.rmatch_indices('#') {
            if Path::new(&text[..at]).is_file() {
                return (text[..at].into(), Some(text[at + 1..].to_owned()));
            }
        }
    }
    (path.into(), None)
}

/// Whether a text is too long to be looked at and does not begin as the JSON of a filter.
fn is_list(path: &Path) -> bool {
    let is_long = path.metadata().is_ok_and(|found| found.len() > MAX_TEXT_BYTES);
    let mut start = Vec::new();
    let read = |file: File| file.take(64).read_to_end(&mut start);
    is_long && File::open(path).and_then(read).is_ok() && mayhap_formats::detect(&start).is_empty()
}

fn read(path: &Path, max_bytes: u64) -> Result<Vec<u8>, Error> {
    mayhap_store::read_bytes(path, max_bytes).map_err(|error| match error {
        Store::Format { source: mayhap::Error::TooLarge { limit, found, .. }, .. } => {
            Error::TooLarge { needed: found, limit }
        }
        error => error.into(),
    })
}

type Sound = (Box<dyn ForeignFilter>, Candidate);
type Opened = (Candidate, Result<Box<dyn ForeignFilter>, mayhap_formats::Error>);

/// Every format that the bytes may be of, opened.
fn candidates(bytes: &[u8], limits: &Limits) -> impl Iterator<Item = Opened> {
    let mut candidates = mayhap_formats::detect(bytes);
    candidates.dedup_by_key(|candidate| candidate.format);
    candidates
        .into_iter()
        .map(move |candidate| (candidate, mayhap_formats::open(candidate.format, bytes, limits)))
}

/// Every format that a file may have, with the error if it is not sound as such.
///
/// # Errors
///
/// [`Error::TooLarge`], [`Error::Store`].
pub fn detect_all(path: &Path, max_bytes: u64) -> Result<Vec<(Candidate, Option<String>)>, Error> {
    let bytes = read(path, max_bytes)?;
    let limits = Limits { max_bytes, ..Limits::default() };
    let wrong = |(candidate, opened): Opened| (candidate, opened.err().map(|it| it.to_string()));
    Ok(candidates(&bytes, &limits).map(wrong).collect())
}

/// The one format that the bytes may be of; `None` if they are of none.
fn detect(name: &str, bytes: &[u8], limits: &Limits) -> Result<Option<Sound>, Error> {
    let (mut sound, mut wrong) = (Vec::new(), None);
    for (candidate, opened) in candidates(bytes, limits) {
        match opened {
            Ok(filter) => sound.push((filter, candidate)),
            Err(source) => wrong = wrong.or(Some(source)),
        }
    }
    if sound.len() > 1 {
        let candidates = sound.into_iter().map(|(_, candidate)| candidate).collect();
        return Err(Error::Ambiguous { name: name.to_owned(), candidates });
    }
    match (sound.pop(), wrong) {
        (Some(detected), _) => Ok(Some(detected)),
        (None, Some(source)) => Err(Error::Format { name: name.to_owned(), source }),
        (None, None) => Ok(None),
    }
}
