//! Files and bytes → filters of any kind.

use crate::error::Error;
use crate::filter::{Filter, OnFull};
use crate::foreign::{self, Foreign, Given};
use crate::held::Held;
use crate::matrix::Matrix;
use crate::remote::{Connecting, Remote};
use crate::{fork, kinds, secret};
use mayhap::native::{self, Header, Kind, MAGIC, MAX_PACKED_BYTES, PACKED_MAGIC};
use mayhap::set::Set;
use mayhap::{BloomMatrix, SecretKey};
use mayhap_store::Snapshot;
use pyo3::buffer::PyBuffer;
use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict, PyType};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

/// The contents of a file or of bytes.
enum Opened {
    /// One of the kinds with the class `Filter`.
    Filter(Held, String),
    /// A matrix.
    Matrix(BloomMatrix, String),
}

/// Puts a filter into the class of its kind.
pub(crate) fn wrap(py: Python<'_>, filter: Filter) -> PyResult<Bound<'_, PyAny>> {
    let kind = filter.read(py, Held::kind);
    // A filter that was created as `Bloom(on_full="grow")` is saved as the kind that it is.
    Ok(kinds::of_kind(py, kind, filter)?.into_bound(py))
}

/// The treatment of keys beyond the capacity of a filter, which may be one that grows, or have room
/// for no more.
///
/// # Errors
///
/// `ValueError` for a filter of fixed size that is to grow.
pub(crate) fn on_full_of(set: &dyn Set, on_full: OnFull) -> PyResult<OnFull> {
    let is_hard = set.kind() == Kind::Compact;
    match (set.capabilities().grows, on_full) {
        (true, _) => Ok(OnFull::Grow),
        (false, OnFull::Warn) if is_hard => Ok(OnFull::Raise),
        (false, on_full) => on_full_of_fixed(on_full),
    }
}

/// [`on_full_of`] of a filter that does not grow.
///
/// # Errors
///
/// `ValueError` if it is to.
pub(crate) fn on_full_of_fixed(on_full: OnFull) -> PyResult<OnFull> {
    match on_full {
        OnFull::Grow => Err(PyValueError::new_err(
            "a filter of fixed size does not grow; on_full is \"warn\" or \"raise\"",
        )),
        on_full => Ok(on_full),
    }
}

impl Opened {
    fn into_object(self, py: Python<'_>, on_full: OnFull) -> PyResult<Bound<'_, PyAny>> {
        match self {
            Self::Filter(held, key_options) => {
                let on_full =
                    held.read(|set| on_full_of(set, on_full), |_| on_full_of_fixed(on_full))?;
                wrap(py, Filter::new(held, on_full, key_options))
            }
            Self::Matrix(matrix, key_options) => Matrix::wrap(py, matrix, key_options),
        }
    }
}

/// Whether a kind is that of a matrix.
///
/// # Errors
///
/// `TypeError` for a segment.
fn is_matrix(kind: Kind) -> Result<bool, Error> {
    match kind {
        Kind::Segment => Err(Error::Python(PyTypeError::new_err(
            "this is one segment of a filter: Segment.open(path) opens it, and \
             assemble(paths, out) puts all segments together",
        ))),
        kind => Ok(kind == Kind::Matrix),
    }
}

fn decode_any(bytes: &[u8], secret_key: Option<SecretKey>) -> Result<Opened, Error> {
    if bytes.starts_with(&PACKED_MAGIC) {
        return decode_file(&native::unpack(bytes)?, secret_key);
    }
    decode_file(bytes, secret_key)
}

fn decode_file(bytes: &[u8], secret_key: Option<SecretKey>) -> Result<Opened, Error> {
    if is_matrix(Header::decode(bytes)?.kind())? {
        let (matrix, header) = native::decode_as(bytes, secret_key)?;
        return Ok(Opened::Matrix(matrix, header.key_options().to_owned()));
    }
    let (set, header) = mayhap::set::decode(bytes, secret_key)?;
    Ok(Opened::Filter(Held::Memory(set), header.key_options().to_owned()))
}

fn load_any(path: &Path, secret_key: Option<SecretKey>) -> Result<Opened, Error> {
    // A file may hold the packed output of `to_bytes`.
    if let Some((start, _)) = foreign::start_of(path, MAX_PACKED_BYTES as u64)
        && start.starts_with(&PACKED_MAGIC)
    {
        return decode_any(&start, secret_key);
    }
    let snapshot = Snapshot::open(path)?;
    let is_matrix = is_matrix(snapshot.header().kind())?;
    snapshot.check_alone()?;
    let (image, key_options) = (snapshot.image(), snapshot.header().key_options().to_owned());
    if is_matrix {
        return Ok(Opened::Matrix(image.load(secret_key, |_, _| {})?, key_options));
    }
    Ok(Opened::Filter(Held::Memory(image.load_set(secret_key)?), key_options))
}

fn map(path: &Path, secret_key: Option<SecretKey>, trust: bool) -> Result<Opened, Error> {
    let open = if trust { mayhap_store::open_trusted } else { mayhap_store::open_mapped };
    let mapped = open(path, secret_key)?;
    let key_options = mapped.header().key_options().to_owned();
    Ok(Opened::Filter(Held::Mapped(Box::new(mapped)), key_options))
}

/// Whether a file begins as one of ours.
fn is_native(path: &Path) -> bool {
    let start = foreign::start_of(path, MAGIC.len() as u64);
    start.is_some_and(|(start, _)| start == MAGIC || start == PACKED_MAGIC)
}

/// Open the filter in a file or on a server, of any kind and system.
///
/// A path that begins with ``redis://``, ``rediss://`` or ``redis+cluster://`` is the URL of a
/// filter on a server; ``timeout`` is the number of seconds that a call there may take, and
/// ``tls_ca``, ``tls_cert`` and ``tls_key`` are files of certificates, as for ``create``.
///
/// With ``mmap=True`` it is not read but mapped: immediate, shared by all processes, and read-only;
/// every answer is checked against changes of the file, and each page against its checksum before
/// it is first read, unless ``trust=True``. ``format`` and ``key_type`` are for files of other
/// systems that do not record them; see ``formats()``. ``column`` names the column of a Parquet
/// file, ``num_bits`` and ``num_hashes`` are for bitmaps that do not record them, also on a server.
///
/// Raises FileNotFoundError and other OSErrors, and FormatError for damaged and unknown files.
#[pyfunction]
#[pyo3(signature = (path, *, mmap=false, trust=false, secret_key=None, on_full=OnFull::Warn,
                    format=None, key_type=None, column=None, num_bits=None, num_hashes=None,
                    timeout=30.0, tls_ca=None, tls_cert=None, tls_key=None),
       text_signature = "(path, *, mmap=False, trust=False, secret_key=None, on_full=\"warn\", \
                         format=None, key_type=None, column=None, num_bits=None, \
                         num_hashes=None, timeout=30.0, tls_ca=None, tls_cert=None, \
                         tls_key=None)")]
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
    tls_ca: Option<PathBuf>,
    tls_cert: Option<PathBuf>,
    tls_key: Option<PathBuf>,
) -> PyResult<Bound<'py, PyAny>> {
    let secret_key = secret_key.map(secret::parse).transpose()?;
    let given = Given { format, key_type, column, num_bits, num_hashes };
    let is_server = |path: &&str| mayhap_sets::is_url(path) && mayhap_sets::is_of_engine(path);
    if let Some(url) = path.to_str().filter(is_server) {
        let connecting = Connecting { timeout, tls_ca, tls_cert, tls_key };
        return Remote::open(py, url, &given, secret_key, &connecting);
    }
    if let Some((scheme, _)) = path.to_str().and_then(|path| path.split_once("://"))
        && !path.exists()
    {
        return Err(PyValueError::new_err(format!(
            "{scheme}:// is no URL of a filter, as redis:// is; fetch the file, and open that"
        )));
    }
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

/// Called by `pickle`; `cls` is a subclass.
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
        (Opened::Filter(held, key_options), Some(cls)) => {
            let on_full =
                held.read(|set| on_full_of(set, on_full), |_| on_full_of_fixed(on_full))?;
            again(cls, Filter::new(held, on_full, key_options))
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

/// The contents of an object that is being restored, passed as its first argument.
#[pyclass(frozen)]
pub(crate) struct Contents(Mutex<Option<Filter>>);

impl Contents {
    /// The filter in `argument`, if it is a `Contents`.
    pub(crate) fn of(argument: &Bound<'_, PyAny>) -> Option<Filter> {
        let contents = argument.cast::<Self>().ok()?;
        contents.get().0.lock().unwrap_or_else(PoisonError::into_inner).take()
    }
}
