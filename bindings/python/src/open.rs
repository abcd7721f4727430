//! Files and bytes → filters of whatever kind they are.

use crate::error::Error;
use crate::filter::{Filter, OnFull};
use crate::foreign::Foreign;
use crate::matrix::Matrix;
use crate::remote::{self, Access, Remote};
use crate::set::{Mapped, Set};
use crate::{kinds, secret};
use mayhap::native::{self, Header, Kind, MAGIC, Native};
use mayhap::{
    AnyFilter, BinaryFuse, BloomMatrix, CountingBloomFilter, DigestFunction, ScalableBloomFilter,
    SecretKey, WindowBloomFilter,
};
use pyo3::buffer::PyBuffer;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::PyBytes;
use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};

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
    match Header::decode(bytes)?.kind() {
        Kind::Matrix => {
            let (matrix, header) = native::decode_as(bytes, secret_key)?;
            Ok(Opened::Matrix(matrix, header.key_options().to_owned()))
        }
        kind => of_kind!(kind, decode(bytes, secret_key)),
    }
}

fn load_any(path: &Path, secret_key: Option<SecretKey>) -> Result<Opened, Error> {
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
    let mut start = [0; MAGIC.len()];
    File::open(path).and_then(|mut file| file.read_exact(&mut start)).is_ok() && start == MAGIC
}

/// Open the filter in a file or on a server, of whatever kind and system it is.
///
/// A path that begins with ``redis://``, ``rediss://`` or ``redis+cluster://`` is the URL of a
/// filter on a server; ``timeout`` is how many seconds a call there may take.
///
/// With ``mmap=True`` it is not read but mapped: at once, shared by all processes, and not to be
/// changed; every answer is checked against changes of the file, and each page against its checksum
/// before it is first read, unless ``trust=True``. ``format`` and ``key_type`` are
/// for files of other systems that do not say which they are; see ``formats()``.
///
/// Raises FileNotFoundError and other OSErrors, and FormatError for damaged and unknown files.
#[pyfunction]
#[pyo3(signature = (path, *, mmap=false, trust=false, secret_key=None, on_full=OnFull::Warn,
                    format=None, key_type=None, timeout=30.0),
       text_signature = "(path, *, mmap=False, trust=False, secret_key=None, on_full=\"warn\", \
                         format=None, key_type=None, timeout=30.0)")]
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
    timeout: f64,
) -> PyResult<Bound<'py, PyAny>> {
    let secret_key = secret_key.map(secret::parse).transpose()?;
    if let Some(url) = path.to_str().filter(|path| remote::is_url(path)) {
        let timeout = remote::seconds_of("timeout", timeout)?;
        return Remote::open(py, url, &Access { secret_key, format, key_type, timeout });
    }
    if format.is_some() || key_type.is_some() || (!mmap && is_foreign(py, &path)) {
        return Foreign::open(py, &path, format, key_type);
    }
    let opened =
        py.detach(|| if mmap { map(&path, secret_key, trust) } else { load_any(&path, secret_key) })?;
    opened.into_object(py, on_full)
}

/// Whether a file is recognised as one of another system.
fn is_foreign(py: Python<'_>, path: &Path) -> bool {
    py.detach(|| !is_native(path) && crate::foreign::is_recognised(path))
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
        py.detach(|| decode_any(bytes, secret_key))?
    } else {
        let bytes = PyBuffer::<u8>::get(data)?.to_vec(py)?;
        py.detach(|| decode_any(&bytes, secret_key))?
    };
    opened.into_object(py, on_full)
}

/// What `pickle` calls.
#[pyfunction]
pub(crate) fn _restore<'py>(
    py: Python<'py>,
    data: &Bound<'py, PyBytes>,
    on_full: OnFull,
) -> PyResult<Bound<'py, PyAny>> {
    let bytes = data.as_bytes();
    py.detach(|| decode_any(bytes, None))?.into_object(py, on_full)
}
