//! Filters that other systems created: opened, queried, extended and written back.

use crate::batch::{Answers, CHUNK, Container, Keys, feed};
use crate::error::Error;
use crate::fork;
use mayhap::Bitmap;
use mayhap_formats::{ForeignFilter, Format, KeyType, Limits, detect_start};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict, PyString};
use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::sync::{PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard};

/// Bytes of a file that are looked at to recognise its format.
const START_BYTES: u64 = 64 << 10;

/// A filter of another system, opened by ``open``; it is written back byte for byte.
///
/// Keys are what the system hashes: bytes, or text and numbers that ``key_type`` encodes.
#[pyclass(frozen, module = "mayhap_bloom")]
pub(crate) struct Foreign {
    filter: RwLock<Box<dyn ForeignFilter>>,
    format: Format,
    key_type: Option<KeyType>,
}

/// The first bytes of a regular file, and its length; `None` for everything else, which whoever
/// opens it then says: a pipe would be waited for, for ever.
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
/// As [`format_of`].
pub(crate) fn key_type_of(name: &str) -> PyResult<KeyType> {
    KeyType::from_name(name).ok_or_else(|| unknown("key type", name, "key_types"))
}

fn unknown(what: &str, name: &str, listed_by: &str) -> PyErr {
    PyValueError::new_err(format!("{what} {name:?} is not known; {listed_by}() lists them"))
}

impl Foreign {
    /// Opens a file of a named or recognised format.
    pub(crate) fn open<'py>(
        py: Python<'py>,
        path: &Path,
        format: Option<&str>,
        key_type: Option<&str>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let key_type = key_type.map(key_type_of).transpose()?;
        let named = format.map(format_of).transpose()?;
        let filter = fork::detached(py, || -> Result<Box<dyn ForeignFilter>, Error> {
            let limits = Limits::default();
            let bytes = mayhap_store::read_bytes(path, limits.max_bytes)?;
            let format = match named {
                Some(format) => format,
                None => only_format(path)?,
            };
            Ok(mayhap_formats::open(format, &bytes, &limits)?)
        })?;
        let format = filter.format();
        let foreign = Self { filter: RwLock::new(filter), format, key_type };
        Ok(Bound::new(py, foreign)?.into_any())
    }

    fn read(&self) -> RwLockReadGuard<'_, Box<dyn ForeignFilter>> {
        self.filter.read().unwrap_or_else(PoisonError::into_inner)
    }

    fn write(&self) -> RwLockWriteGuard<'_, Box<dyn ForeignFilter>> {
        self.filter.write().unwrap_or_else(PoisonError::into_inner)
    }

    /// One key as the bytes that the system hashes.
    fn one(&self, key: &Bound<'_, PyAny>) -> PyResult<Keys> {
        let mut keys = self.no_keys();
        keys.push(key)?;
        Ok(keys)
    }

    /// Room for keys. Key types are of text: that of a number is its digits.
    fn no_keys(&self) -> Keys {
        Keys::new(self.key_type, self.key_type.is_some(), None)
    }

    fn encoded(&self, keys: &Bound<'_, PyAny>) -> PyResult<(Keys, Container)> {
        let mut encoded = self.no_keys();
        let container = feed(keys, &mut encoded)?;
        Ok((encoded, container))
    }
}

/// The one format that a file is of.
fn only_format(path: &Path) -> Result<Format, Error> {
    let mut found = candidates(path);
    found.dedup();
    match found[..] {
        [format] => Ok(format),
        _ => Err(Error::UnknownFormat {
            path: path.to_owned(),
            candidates: found.into_iter().map(Format::name).collect(),
        }),
    }
}

#[pymethods]
impl Foreign {
    fn __contains__(&self, key: &Bound<'_, PyAny>) -> PyResult<bool> {
        Ok(self.one(key)?.iter().all(|key| self.read().contains(key)))
    }

    /// Insert a key as the system does; its own answer to whether it was new.
    #[pyo3(signature = (key, /))]
    fn add(&self, key: &Bound<'_, PyAny>) -> PyResult<bool> {
        let keys = self.one(key)?;
        let mut filter = self.write();
        let news = keys.iter().map(|key| filter.insert(key)).collect::<Result<Vec<_>, _>>();
        Ok(news.map_err(Error::from)? == [true])
    }

    /// Insert many keys.
    #[pyo3(signature = (keys, /))]
    fn update(&self, keys: &Bound<'_, PyAny>) -> PyResult<()> {
        let (encoded, _) = self.encoded(keys)?;
        let insert = |keys: Keys| -> Result<(), Error> {
            let mut filter = self.write();
            keys.iter().try_for_each(|key| Ok(filter.insert(key).map(|_| ())?))
        };
        Ok(fork::detached(keys.py(), || insert(encoded))?)
    }

    /// Insert many keys; for each, in order, the system's own answer to whether it was new, in the
    /// kind of the input.
    #[pyo3(signature = (keys, /))]
    fn add_many<'py>(&self, keys: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
        let (encoded, container) = self.encoded(keys)?;
        let insert = |keys: Keys| -> Result<Answers, Error> {
            let (mut filter, mut answers) = (self.write(), Answers::default());
            let (all, mut new) = (keys.iter().collect::<Vec<_>>(), Bitmap::new());
            for keys in all.chunks(CHUNK) {
                new.clear_to(keys.len());
                for (i, key) in keys.iter().enumerate() {
                    if filter.insert(key)? {
                        new.set(i);
                    }
                }
                answers.push(&new);
            }
            Ok(answers)
        };
        fork::detached(keys.py(), || insert(encoded))?.into_object(keys, container)
    }

    /// For each of many keys, in order, whether it may be in the filter, in the kind of the input.
    #[pyo3(signature = (keys, /))]
    fn contains_many<'py>(&self, keys: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
        let (encoded, container) = self.encoded(keys)?;
        let answers = fork::detached(keys.py(), || {
            let (all, mut answers) = (encoded.iter().collect::<Vec<_>>(), Answers::default());
            let (filter, mut found) = (self.read(), Bitmap::new());
            for keys in all.chunks(CHUNK) {
                filter.contains_batch(keys, &mut found);
                answers.push(&found);
            }
            answers
        });
        answers.into_object(keys, container)
    }

    /// The kind: "foreign".
    #[getter]
    fn kind(&self) -> &'static str {
        "foreign"
    }

    /// The system, as ``formats()`` names it.
    #[getter]
    fn format(&self) -> &'static str {
        self.format.name()
    }

    /// How keys are encoded; None if they are bytes as they are.
    #[getter]
    fn key_type(&self) -> Option<&'static str> {
        self.key_type.map(KeyType::name)
    }

    /// The number of bits, m.
    #[getter]
    fn num_bits(&self) -> u64 {
        self.read().num_bits()
    }

    /// Bits per key, k.
    #[getter]
    fn num_hashes(&self) -> u32 {
        self.read().num_hashes()
    }

    /// The rate now, by the system's own formula.
    #[getter]
    fn fpp(&self) -> f64 {
        self.read().estimated_fpp()
    }

    /// The keys that it holds, by the system's own formula; None where that fails.
    #[getter]
    fn count(&self) -> Option<u64> {
        self.read().estimated_items()
    }

    /// What else the file says.
    #[getter]
    fn facts<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let facts = PyDict::new(py);
        for fact in self.read().facts() {
            facts.set_item(fact.key, PyString::new(py, &fact.value))?;
        }
        Ok(facts)
    }

    /// The file: byte for byte what the system would have written.
    fn to_bytes<'py>(&self, py: Python<'py>) -> Bound<'py, PyBytes> {
        PyBytes::new(py, &fork::detached(py, || self.read().encode()))
    }

    fn __bytes__<'py>(&self, py: Python<'py>) -> Bound<'py, PyBytes> {
        self.to_bytes(py)
    }

    /// Save the file: at any moment the path holds the old one or the new one, whole.
    #[pyo3(signature = (path, *, replace=true))]
    fn save(&self, py: Python<'_>, path: PathBuf, replace: bool) -> PyResult<()> {
        fork::detached(py, || mayhap_store::save_bytes(&path, &self.read().encode(), replace))
            .map_err(Error::from)?;
        Ok(())
    }

    fn __repr__(&self) -> String {
        let filter = self.read();
        let (bits, fpp) = (filter.num_bits(), filter.estimated_fpp());
        format!("<mayhap_bloom.Foreign: {}, {bits} bits, fpp {fpp:.3e} now>", self.format.name())
    }
}
