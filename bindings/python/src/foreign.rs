//! Filters that other systems created: opened, queried, extended and written back.

use crate::batch::{Answers, CHUNK, Container, Keys, feed};
use crate::error::{Error, FilterFullWarning};
use crate::filter::OnFull;
use crate::fork;
use crate::log::log_warning;
use mayhap::Bitmap;
use mayhap_formats::{Format, KeyType, Limits, Shape, detect_start};
use mayhap_sets::file::{ForeignFile, Known};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict, PyString};
use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::sync::{PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard};

mod filling;

use filling::Filling;

/// The number of bytes of a file that are read to recognise its format.
const START_BYTES: u64 = 64 << 10;

/// If none of this many keys is found, they are probably of another type.
const ENOUGH_KEYS: usize = 10;

/// A filter of another system, opened by ``open``; it is written back byte for byte.
///
/// Keys are the bytes that the system hashes, or text and numbers that ``key_type`` encodes.
#[pyclass(frozen, module = "mayhap_bloom")]
pub(crate) struct Foreign {
    file: RwLock<Open>,
    /// The encoding of texts into the bytes that the system hashes; `None` if they are hashed as
    /// they are.
    key_type: Option<KeyType>,
    /// Whether a number is hashed as the text of its digits.
    numbers_are_text: bool,
    on_full: OnFull,
}

/// A file, and how full it is.
struct Open {
    file: ForeignFile,
    filling: Filling,
}

/// The arguments of `open` that identify the format of a file.
#[derive(Default)]
pub(crate) struct Given<'a> {
    pub(crate) format: Option<&'a str>,
    pub(crate) key_type: Option<&'a str>,
    pub(crate) column: Option<&'a str>,
    pub(crate) num_bits: Option<i64>,
    pub(crate) num_hashes: Option<u32>,
}

impl Given<'_> {
    /// Whether the file has to be one of another system.
    pub(crate) const fn is_any(&self) -> bool {
        self.format.is_some()
            || self.key_type.is_some()
            || self.column.is_some()
            || self.num_bits.is_some()
            || self.num_hashes.is_some()
    }

    /// Their values.
    ///
    /// # Errors
    ///
    /// `ValueError` for names that are not known, and for one number of a shape without the other.
    pub(crate) fn known(&self) -> PyResult<Known> {
        let shape = match (self.num_bits, self.num_hashes) {
            (Some(num_bits), Some(num_hashes)) => Some(Shape { num_bits, num_hashes }),
            (None, None) => None,
            _ => return Err(PyValueError::new_err("give num_bits and num_hashes together")),
        };
        Ok(Known {
            format: self.format.map(format_of).transpose()?,
            key_type: self.key_type.map(key_type_of).transpose()?,
            shape,
            ..Known::default()
        })
    }
}

/// The first bytes of a regular file, and its length; `None` for everything else, which opening it
/// then reports: a pipe would block forever.
pub(crate) fn start_of(path: &Path, bytes: u64) -> Option<(Vec<u8>, u64)> {
    if !std::fs::metadata(path).ok()?.is_file() {
        return None;
    }
    let file = File::open(path).ok()?;
    let (len, mut start) = (file.metadata().ok()?.len(), Vec::new());
    file.take(bytes).read_to_end(&mut start).ok()?;
    Some((start, len))
}

/// The formats that a file may be of.
fn candidates(path: &Path) -> Vec<Format> {
    let Some((start, len)) = start_of(path, START_BYTES) else { return Vec::new() };
    detect_start(&start, Some(len)).into_iter().map(|candidate| candidate.format).collect()
}

/// Whether a file is recognised as one of another system.
pub(crate) fn is_recognised(path: &Path) -> bool {
    !candidates(path).is_empty()
}

/// The names of the formats of other systems, for ``open(path, format=...)``.
#[pyfunction]
pub(crate) fn formats() -> Vec<&'static str> {
    Format::ALL.iter().map(|format| format.name()).collect()
}

/// The names of the key types of other systems, for ``open(path, key_type=...)``.
#[pyfunction]
pub(crate) fn key_types() -> Vec<&'static str> {
    KeyType::ALL.iter().map(|key_type| key_type.name()).collect()
}

/// The format of a name.
///
/// # Errors
///
/// `ValueError` for a name that is not known.
pub(crate) fn format_of(name: &str) -> PyResult<Format> {
    Format::from_name(name).ok_or_else(|| unknown("format", name, "formats"))
}

/// The key type of a name.
///
/// # Errors
///
/// Same as [`format_of`].
pub(crate) fn key_type_of(name: &str) -> PyResult<KeyType> {
    KeyType::from_name(name).ok_or_else(|| unknown("key type", name, "key_types"))
}

fn unknown(what: &str, name: &str, listed_by: &str) -> PyErr {
    PyValueError::new_err(format!("{what} {name:?} is not known; {listed_by}() lists them"))
}

/// Opens a file of a named or recognised format.
fn open_file(path: &Path, column: Option<&str>, known: Known) -> Result<ForeignFile, Error> {
    let max_bytes = Limits::default().max_bytes;
    let file = match column {
        None => ForeignFile::open(path, known, max_bytes)?,
        column => ForeignFile::open_column(path, column, known, max_bytes)?,
    };
    if let Some(file) = file {
        return Ok(file);
    }
    // An unreadable file is not one of an unknown format.
    mayhap_store::read_bytes(path, max_bytes)?;
    let mut found = candidates(path);
    found.dedup();
    let candidates = found.into_iter().map(Format::name).collect();
    Err(Error::UnknownFormat { path: path.to_owned(), candidates })
}

impl Foreign {
    /// Opens a file of a named or recognised format.
    pub(crate) fn open<'py>(
        py: Python<'py>,
        path: &Path,
        given: &Given<'_>,
        on_full: OnFull,
    ) -> PyResult<Bound<'py, PyAny>> {
        let known = given.known()?;
        let on_full = crate::open::on_full_of_fixed(on_full)?;
        let opened = fork::detached(py, || -> Result<Open, Error> {
            let file = open_file(path, given.column, known)?;
            Ok(Open { filling: Filling::new(&file), file })
        })?;
        let (types, format) = (opened.file.key_types(), opened.file.filter().format());
        if types.is_guess {
            let (taken, others) = (types.taken, types.others.join(", "));
            let path = path.display();
            let text = format!(
                "{path}: its keys are taken to be of type {taken}, and may be of {others}: name \
                 it, as key_type=\"{taken}\""
            );
            log_warning(py, text)?;
        }
        let chosen = opened.file.key_type();
        let key_type = known.key_type.or((chosen != KeyType::Bytes).then_some(chosen));
        // It hashes the text form of everything else.
        let is_pybloom = matches!(format, Format::PyBloomLive3 | Format::PyBloomLive4);
        let numbers_are_text = key_type.is_some() || is_pybloom;
        let file = RwLock::new(opened);
        Ok(Bound::new(py, Self { file, key_type, numbers_are_text, on_full })?.into_any())
    }

    fn read(&self) -> RwLockReadGuard<'_, Open> {
        self.file.read().unwrap_or_else(PoisonError::into_inner)
    }

    fn write(&self) -> RwLockWriteGuard<'_, Open> {
        self.file.write().unwrap_or_else(PoisonError::into_inner)
    }

    /// An empty buffer for keys.
    fn no_keys(&self) -> Keys {
        Keys::new(self.numbers_are_text, None)
    }

    /// Keys as the bytes that the system hashes.
    fn encoded(&self, keys: Keys) -> Result<Keys, Error> {
        let Some(key_type) = self.key_type else { return Ok(keys) };
        let open = self.read();
        keys.map(|text, scratch| {
            let encoded = open.file.filter().encode_key(key_type, text, scratch)?;
            Ok(encoded.to_vec())
        })
    }

    /// One key as the bytes that the system hashes.
    fn one(&self, key: &Bound<'_, PyAny>) -> PyResult<Keys> {
        let mut keys = self.no_keys();
        keys.push(key)?;
        Ok(self.encoded(keys)?)
    }

    fn many(&self, keys: &Bound<'_, PyAny>) -> PyResult<(Keys, Container)> {
        let mut many = self.no_keys();
        let container = feed(keys, &mut many)?;
        Ok((self.encoded(many)?, container))
    }

    /// Inserts keys, or none where a full filter is to raise; for each whether it was new.
    fn insert(&self, py: Python<'_>, keys: &Keys) -> PyResult<Answers> {
        let insert = || -> Result<(Answers, Option<String>), Error> {
            let mut open = self.write();
            let Open { file, filling } = &mut *open;
            file.check_change()?;
            let all: Vec<&[u8]> = keys.iter().collect();
            if self.on_full == OnFull::Raise {
                filling.check_room(file, &all)?;
            }
            let (mut answers, mut new) = (Answers::default(), Bitmap::new());
            for keys in all.chunks(CHUNK) {
                new.clear_to(keys.len());
                for (i, key) in keys.iter().enumerate() {
                    if file.filter_mut().insert(key)? {
                        new.set(i);
                    }
                }
                filling.note(new.count_ones() as u64);
                answers.push(&new);
            }
            let warns = self.on_full == OnFull::Warn;
            Ok((answers, warns.then(|| filling.news(file)).flatten()))
        };
        let (answers, warning) = fork::detached(py, insert)?;
        if let Some(text) = warning {
            let text = std::ffi::CString::new(text).unwrap_or_default();
            PyErr::warn(py, &py.get_type::<FilterFullWarning>(), &text, 1)?;
        }
        Ok(answers)
    }

    fn contains(&self, py: Python<'_>, keys: &Keys) -> PyResult<Answers> {
        let (answers, hint) = fork::detached(py, || {
            let (all, mut answers) = (keys.iter().collect::<Vec<_>>(), Answers::default());
            let (open, mut found) = (self.read(), Bitmap::new());
            for keys in all.chunks(CHUNK) {
                open.file.filter().contains_batch(keys, &mut found);
                answers.push(&found);
            }
            let types = open.file.key_types();
            let is_odd = answers.count() == 0 && all.len() >= ENOUGH_KEYS;
            let hint = is_odd.then_some(types).filter(|types| !types.others.is_empty());
            (answers, hint)
        });
        if let Some(types) = hint {
            let (taken, others) = (types.taken, types.others.join(", "));
            let text = format!("no key was found as {taken}; the keys may be of type {others}");
            log_warning(py, text)?;
        }
        Ok(answers)
    }
}

#[pymethods]
impl Foreign {
    fn __contains__(&self, key: &Bound<'_, PyAny>) -> PyResult<bool> {
        let key = self.one(key)?;
        let open = self.read();
        Ok(key.iter().all(|key| open.file.filter().contains(key)))
    }

    /// Insert a key as the system does; its own answer to whether it was new.
    #[pyo3(signature = (key, /))]
    fn add(&self, key: &Bound<'_, PyAny>) -> PyResult<bool> {
        Ok(self.insert(key.py(), &self.one(key)?)?.count() == 1)
    }

    /// Insert many keys.
    #[pyo3(signature = (keys, /))]
    fn update(&self, keys: &Bound<'_, PyAny>) -> PyResult<()> {
        self.insert(keys.py(), &self.many(keys)?.0).map(drop)
    }

    /// Insert many keys; for each, in order, the system's own answer to whether it was new, in the
    /// kind of the input.
    #[pyo3(signature = (keys, /))]
    fn add_many<'py>(&self, keys: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
        let (many, container) = self.many(keys)?;
        self.insert(keys.py(), &many)?.into_object(keys, container)
    }

    /// For each of many keys, in order, whether it may be in the filter, in the kind of the input.
    #[pyo3(signature = (keys, /))]
    fn contains_many<'py>(&self, keys: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
        let (many, container) = self.many(keys)?;
        self.contains(keys.py(), &many)?.into_object(keys, container)
    }

    /// The kind: "foreign".
    #[getter]
    fn kind(&self) -> &'static str {
        "foreign"
    }

    /// The system, as ``formats()`` names it.
    #[getter]
    fn format(&self) -> &'static str {
        self.read().file.filter().format().name()
    }

    /// The encoding of keys; None if they are bytes as they are.
    #[getter]
    fn key_type(&self) -> Option<&'static str> {
        self.key_type.map(KeyType::name)
    }

    /// The number of bits, m.
    #[getter]
    fn num_bits(&self) -> u64 {
        self.read().file.filter().num_bits()
    }

    /// Bits per key, k.
    #[getter]
    fn num_hashes(&self) -> u32 {
        self.read().file.filter().num_hashes()
    }

    /// The rate now, by the system's own formula.
    #[getter]
    fn fpp(&self) -> f64 {
        self.read().file.filter().estimated_fpp()
    }

    /// The keys that it holds, by the system's own formula; None where that fails.
    #[getter]
    fn count(&self) -> Option<u64> {
        self.read().file.filter().estimated_items()
    }

    /// Other facts recorded in the file.
    #[getter]
    fn facts<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let facts = PyDict::new(py);
        for fact in self.read().file.filter().facts() {
            facts.set_item(fact.key, PyString::new(py, &fact.value))?;
        }
        Ok(facts)
    }

    /// What happens to keys beyond capacity: "warn" or "raise".
    #[getter]
    fn on_full(&self) -> &'static str {
        self.on_full.name()
    }

    /// The number of keys that it is for; None where the file does not record it.
    #[getter]
    fn expected_items(&self) -> Option<u64> {
        self.read().file.expected_items()
    }

    /// "ok", or "over capacity": by the file's own numbers, or by its bits.
    #[getter]
    fn health(&self, py: Python<'_>) -> &'static str {
        let numbers = fork::detached(py, || self.read().file.numbers());
        if numbers.overfilled().is_some() { "over capacity" } else { "ok" }
    }

    /// The file: byte for byte as the system would have written it.
    fn to_bytes<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyBytes>> {
        let encoded = fork::detached(py, || {
            let open = self.read();
            open.file.check_change().map(|()| open.file.filter().encode())
        });
        Ok(PyBytes::new(py, &encoded.map_err(Error::from)?))
    }

    fn __bytes__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyBytes>> {
        self.to_bytes(py)
    }

    /// Save the file: at any moment the path holds the old one or the new one, whole.
    #[pyo3(signature = (path, *, replace=true))]
    fn save(&self, py: Python<'_>, path: PathBuf, replace: bool) -> PyResult<()> {
        let save = || -> Result<(), Error> {
            let open = self.read();
            open.file.check_change()?;
            Ok(mayhap_store::save_bytes(&path, &open.file.filter().encode(), replace)?)
        };
        Ok(fork::detached(py, save)?)
    }

    fn __repr__(&self) -> String {
        let open = self.read();
        let filter = open.file.filter();
        let (name, bits, fpp) = (filter.format().name(), filter.num_bits(), filter.estimated_fpp());
        format!("<mayhap_bloom.Foreign: {name}, {bits} bits, fpp {fpp:.3e} now>")
    }
}
