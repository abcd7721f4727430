//! Files and bytes → filters of whatever kind they are.

use crate::error::Error;
use crate::filter::{Filter, OnFull};
use crate::foreign::{self, Foreign, Given};
use crate::matrix::Matrix;
use crate::remote::{self, Access, Remote};
use crate::set::{Mapped, Set};
use crate::{fork, kinds, secret};
use mayhap::native::{self, Header, Kind, MAGIC, MAX_PACKED_BYTES, Native, PACKED_MAGIC};
use mayhap::{
    AnyFilter, BinaryFuse, BloomMatrix, CountingBloomFilter, DigestFunction, ScalableBloomFilter,
    SecretKey, WindowBloomFilter,
};
use pyo3::buffer::PyBuffer;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict, PyType};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

/// What a file or bytes hold.
enum Opened {
    /// One of the kinds with the class `Filter`.
    Filter(Box<dyn Set>, DigestFunction, String),
    /// A matrix.
    Matrix(BloomMatrix, String),
}

/// Puts a filter into the class of its kind.
pub(crate) fn wrap(py: Python<'_>, filter: Filter) -> PyResult<Bound<'_, PyAny>> {
    let kind = filter.read(py, |set| set.stats().kind);
    // A filter that was created as `Bloom(on_full="grow")` is saved as what it is.
    Ok(kinds::of_kind(py, kind, filter)?.into_bound(py))
}

/// What becomes of keys beyond the capacity of a filter of this kind.
///
/// # Errors
///
/// `ValueError` for a filter of fixed size that is to grow.
pub(crate) fn on_full_of(kind: &str, on_full: OnFull) -> PyResult<OnFull> {
    match (kind, on_full) {
        ("scalable", _) => Ok(OnFull::Grow),
        (_, OnFull::Grow) => Err(PyValueError::new_err(
            "a filter of fixed size does not grow; on_full is \"warn\" or \"raise\"",
        )),
        (_, on_full) => Ok(on_full),
    }
}

impl Opened {
    fn filter<F: Native + Set + 'static>(filter: F, header: &Header) -> Self {
        let function = *Native::digest_function(&filter);
        Self::Filter(Box::new(filter), function, header.key_options().to_owned())
    }

    fn into_object(self, py: Python<'_>, on_full: OnFull) -> PyResult<Bound<'_, PyAny>> {
        match self {
            Self::Filter(set, function, key_options) => {
                let on_full = on_full_of(set.stats().kind, on_full)?;
                wrap(py, Filter::new(set, function, on_full, key_options))
            }
            Self::Matrix(matrix, key_options) => Matrix::wrap(py, matrix, key_options),
        }
    }
}

/// Gives `$call::<F>` for the type `F` of a kind, as an [`Opened`].
macro_rules! of_kind {
    ($kind:expr, $call:ident($($argument:expr),*)) => {
        match $kind {
            Kind::Bloom => $call::<AnyFilter>($($argument),*),
            Kind::Counting => $call::<CountingBloomFilter>($($argument),*),
            Kind::Scalable => $call::<ScalableBloomFilter>($($argument),*),
            Kind::Window => $call::<WindowBloomFilter>($($argument),*),
            Kind::Fuse => $call::<BinaryFuse>($($argument),*),
            Kind::Segment => Err(Error::Python(pyo3::exceptions::PyTypeError::new_err(
                "this is one segment of a filter: Segment.open(path) opens it, and \
                 assemble(paths, out) puts all segments together",
            ))),
            kind => Err(Error::NotOfKind { operation: "class here", kind: kind.name() }),
        }
    };
}

fn decode<F: Native + Set + 'static>(
    bytes: &[u8],
    secret_key: Option<SecretKey>,
) -> Result<Opened, Error> {
    let (filter, header) = native::decode_as::<F>(bytes, secret_key)?;
    Ok(Opened::filter(filter, &header))
}

fn load<F: Native + Set + 'static>(
    path: &Path,
    secret_key: Option<SecretKey>,
) -> Result<Opened, Error> {
    let loaded = mayhap_store::load_as::<F>(path, secret_key)?;
    Ok(Opened::filter(loaded.filter, &loaded.header))
}

fn decode_any(bytes: &[u8], secret_key: Option<SecretKey>) -> Result<Opened, Error> {
    if bytes.starts_with(&PACKED_MAGIC) {
        return decode_file(&native::unpack(bytes)?, secret_key);
    }
    decode_file(bytes, secret_key)
}

fn decode_file(bytes: &[u8], secret_key: Option<SecretKey>) -> Result<Opened, Error> {
    match Header::decode(bytes)?.kind() {
        Kind::Matrix => {
            let (matrix, header) = native::decode_as(bytes, secret_key)?;
            Ok(Opened::Matrix(matrix, header.key_options().to_owned()))
        }
        kind => of_kind!(kind, decode(bytes, secret_key)),
    }
}

fn load_any(path: &Path, secret_key: Option<SecretKey>) -> Result<Opened, Error> {
    // What someone wrote to a file that `to_bytes` gave.
    if let Some((start, _)) = foreign::start_of(path, MAX_PACKED_BYTES as u64)
        && start.starts_with(&PACKED_MAGIC)
    {
        return decode_any(&start, secret_key);
    }
    match mayhap_store::read_header(path)?.kind() {
        Kind::Matrix => {
            let loaded = mayhap_store::load_as(path, secret_key)?;
            Ok(Opened::Matrix(loaded.filter, loaded.header.key_options().to_owned()))
        }
        kind => of_kind!(kind, load(path, secret_key)),
    }
}

fn map(path: &Path, secret_key: Option<SecretKey>, trust: bool) -> Result<Opened, Error> {
    let open = if trust { mayhap_store::open_trusted } else { mayhap_store::open_mapped };
    let mapped = open(path, secret_key)?;
    let function = *mapped.digest_function();
    let key_options = mapped.header().key_options().to_owned();
    Ok(Opened::Filter(Box::new(Mapped(mapped)), function, key_options))
}

/// Whether a file begins as one of ours.
fn is_native(path: &Path) -> bool {
    let start = foreign::start_of(path, MAGIC.len() as u64);
    start.is_some_and(|(start, _)| start == MAGIC || start == PACKED_MAGIC)
}

/// Open the filter in a file or on a server, of whatever kind and system it is.
///
/// A path that begins with ``redis://``, ``rediss://`` or ``redis+cluster://`` is the URL of a
/// filter on a server; ``timeout`` is how many seconds a call there may take.
///
/// With ``mmap=True`` it is not read but mapped: at once, shared by all processes, and not to be
/// changed; every answer is checked against changes of the file, and each page against its checksum
/// before it is first read, unless ``trust=True``. ``format`` and ``key_type`` are for files of
/// other systems that do not say which they are; see ``formats()``. ``column`` names that of a
/// Parquet file, ``num_bits`` and ``num_hashes`` are for bitmaps that do not say them.
///
/// Raises FileNotFoundError and other OSErrors, and FormatError for damaged and unknown files.
#[pyfunction]
#[pyo3(signature = (path, *, mmap=false, trust=false, secret_key=None, on_full=OnFull::Warn,
                    format=None, key_type=None, column=None, num_bits=None, num_hashes=None,
                    timeout=30.0),
       text_signature = "(path, *, mmap=False, trust=False, secret_key=None, on_full=\"warn\", \
                         format=None, key_type=None, column=None, num_bits=None, \
                         num_hashes=None, timeout=30.0)")]
#[expect(clippy::too_many_arguments, reason = "keywords of Python")]
pub(crate) fn open<'py>(
    py: Python<'py>,
    path: PathBuf,
    mmap: bool,
    trust: bool,
    secret_key: Option<&Bound<'py, PyBytes>>,
    on_full: OnFull,
    format: Option<&str>,
    key_type: Option<&str>,
    column: Option<&str>,
    num_bits: Option<i64>,
    num_hashes: Option<u32>,
    timeout: f64,
) -> PyResult<Bound<'py, PyAny>> {
    let secret_key = secret_key.map(secret::parse).transpose()?;
    if let Some(url) = path.to_str().filter(|path| remote::is_url(path)) {
        let timeout = remote::seconds_of("timeout", timeout)?;
        return Remote::open(py, url, &Access { secret_key, format, key_type, timeout });
    }
    if let Some((scheme, _)) = path.to_str().and_then(|path| path.split_once("://"))
        && !path.exists()
    {
        return Err(PyValueError::new_err(format!(
            "{scheme}:// is no URL of a filter, as redis:// is; fetch the file, and open that"
        )));
    }
    let given = Given { format, key_type, column, num_bits, num_hashes };
    if given.is_any() || (!mmap && is_foreign(py, &path)) {
        return Foreign::open(py, &path, &given, on_full);
    }
    let open = || if mmap { map(&path, secret_key, trust) } else { load_any(&path, secret_key) };
    let opened = fork::detached(py, open)?;
    opened.into_object(py, on_full)
}

/// Whether a file is recognised as one of another system.
fn is_foreign(py: Python<'_>, path: &Path) -> bool {
    fork::detached(py, || !is_native(path) && foreign::is_recognised(path))
}

/// Open a filter from bytes of the native format, as ``bytes(filter)`` gives them.
///
/// Raises FormatError for anything else.
#[pyfunction]
#[pyo3(signature = (data, /, *, secret_key=None, on_full=OnFull::Warn),
       text_signature = "(data, /, *, secret_key=None, on_full=\"warn\")")]
pub(crate) fn from_bytes<'py>(
    py: Python<'py>,
    data: &Bound<'py, PyAny>,
    secret_key: Option<&Bound<'py, PyBytes>>,
    on_full: OnFull,
) -> PyResult<Bound<'py, PyAny>> {
    let secret_key = secret_key.map(secret::parse).transpose()?;
    let opened = if let Ok(data) = data.cast::<PyBytes>() {
        let bytes = data.as_bytes();
        fork::detached(py, || decode_any(bytes, secret_key))?
    } else {
        let bytes = PyBuffer::<u8>::get(data)?.to_vec(py)?;
        fork::detached(py, || decode_any(&bytes, secret_key))?
    };
    opened.into_object(py, on_full)
}

/// What `pickle` calls; `cls` is a subclass.
#[pyfunction]
#[pyo3(signature = (data, on_full, cls=None))]
pub(crate) fn _restore<'py>(
    py: Python<'py>,
    data: &Bound<'py, PyBytes>,
    on_full: OnFull,
    cls: Option<&Bound<'py, PyType>>,
) -> PyResult<Bound<'py, PyAny>> {
    let bytes = data.as_bytes();
    match (fork::detached(py, || decode_any(bytes, None))?, cls) {
        (Opened::Filter(set, function, key_options), Some(cls)) => {
            let on_full = on_full_of(set.stats().kind, on_full)?;
            again(cls, Filter::new(set, function, on_full, key_options))
        }
        (opened, _) => opened.into_object(py, on_full),
    }
}

/// A filter as an object of a class, which may be a subclass: its `__init__` is not called.
pub(crate) fn again<'py>(
    class: &Bound<'py, PyType>,
    filter: Filter,
) -> PyResult<Bound<'py, PyAny>> {
    let py = class.py();
    match kinds::base_of(class)? {
        Some((base, first)) => {
            let contents = Bound::new(py, Contents(Mutex::new(Some(filter))))?;
            let arguments = PyDict::new(py);
            arguments.set_item(first, contents)?;
            base.call_method("__new__", (class,), Some(&arguments))
        }
        None => wrap(py, filter),
    }
}

/// The contents of an object that is being made again, in the place of its first argument.
#[pyclass(frozen)]
pub(crate) struct Contents(Mutex<Option<Filter>>);

impl Contents {
    /// What is in `argument`, if it is this.
    pub(crate) fn of(argument: &Bound<'_, PyAny>) -> Option<Filter> {
        let contents = argument.cast::<Self>().ok()?;
        contents.get().0.lock().unwrap_or_else(PoisonError::into_inner).take()
    }
}
