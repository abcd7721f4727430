//! One segment of a filter that many machines fill together, and digests as numbers.

use crate::batch::{Answers, CHUNK, Container, DigestSink, feed, numbers_like};
use crate::error::Error;
use crate::fork;
use crate::{cut, kinds, secret};
use mayhap::{AnyFilter, Bitmap, Digest, FilterParams, Layout, Segments};
use mayhap_store::{FilterLock, LockOptions};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::PyBytes;
use std::path::PathBuf;
use std::sync::{PoisonError, RwLock, RwLockReadGuard};

/// One of ``count`` segments of a blocked filter: a part of its file, and a range of digests.
///
/// Machines that each fill one segment, with ``index`` from 0, build one filter together, which
/// ``assemble`` writes; each takes the memory of its segment alone. ``segment_bounds`` gives the
/// digests of each. The other arguments are as for ``Bloom``, the same for all segments.
///
/// Raises ValueError for numbers that no filter has and for more segments than pages of 4096 bytes.
///
/// >>> second = Segment(1_000_000, 0.001, 1, 4)
/// >>> mine = [d for d in digests(range(1000)) if second.first_digest <= d <= second.last_digest]
/// >>> second.insert_digests(mine)
/// >>> all(second.contains_digests(mine)), len(mine)
/// (True, 234)
#[pyclass(frozen, module = "mayhap_bloom")]
pub(crate) struct Segment {
    key_options: String,
    segment: RwLock<mayhap::Segment>,
}

impl Segment {
    // No thread holds the lock while waiting for the interpreter.
    fn read(&self) -> RwLockReadGuard<'_, mayhap::Segment> {
        self.segment.read().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The parameters of the whole filter.
fn params(
    expected_items: u64,
    target_fpp: f64,
    max_bytes: Option<u64>,
) -> Result<FilterParams, Error> {
    let builder = AnyFilter::builder().expected_items(expected_items).target_fpp(target_fpp);
    let builder = builder.layout(Layout::Blocked).max_bytes(max_bytes.unwrap_or(u64::MAX));
    Ok(builder.params()?)
}

/// All digests of an input, and their container.
fn collect(digests: &Bound<'_, PyAny>) -> PyResult<(Vec<Digest>, Container)> {
    let mut all = Vec::new();
    let mut sink = DigestSink::of_digests(|chunk: &[Digest]| -> Result<(), Error> {
        all.extend_from_slice(chunk);
        Ok(())
    });
    let container = feed(digests, &mut sink)?;
    sink.finish()?;
    drop(sink);
    Ok((all, container))
}

#[pymethods]
impl Segment {
    #[new]
    #[pyo3(signature = (expected_items, target_fpp, index, count, *, seed=0, secret_key=None,
                        max_bytes=None))]
    fn new(
        expected_items: u64,
        target_fpp: f64,
        index: u64,
        count: u64,
        seed: u64,
        secret_key: Option<&Bound<'_, PyBytes>>,
        max_bytes: Option<u64>,
    ) -> PyResult<Self> {
        let function = kinds::digest_function(seed, secret_key)?;
        let params = params(expected_items, target_fpp, None)?;
        let cut = Segments::new(&params, count).map_err(Error::from)?;
        let pages = cut.pages(index).map_err(Error::from)?;
        let num_bytes = (pages.end - pages.start) * mayhap::native::PAGE_BYTES as u64;
        let limit = max_bytes.unwrap_or(u64::MAX);
        if num_bytes > limit {
            let (field, found) = ("segment bytes", num_bytes);
            return Err(Error::from(mayhap::Error::TooLarge { field, limit, found }).into());
        }
        let segment = mayhap::Segment::new(params, function, pages).map_err(Error::from)?;
        Ok(Self { key_options: String::new(), segment: RwLock::new(segment) })
    }

    /// Read a segment that was saved.
    ///
    /// Raises FormatError if the file is not a segment or is damaged.
    #[staticmethod]
    #[pyo3(signature = (path, *, secret_key=None))]
    fn open(
        py: Python<'_>,
        path: PathBuf,
        secret_key: Option<&Bound<'_, PyBytes>>,
    ) -> PyResult<Self> {
        let key = secret_key.map(secret::parse).transpose()?;
        let load = || mayhap_store::load_as::<mayhap::Segment>(&path, key);
        let loaded = fork::detached(py, load).map_err(Error::from)?;
        let key_options = loaded.header.key_options().to_owned();
        Ok(Self { key_options, segment: RwLock::new(loaded.filter) })
    }

    /// Insert many digests, all of this segment: an array or column of unsigned 64-bit integers,
    /// or an iterable of int.
    ///
    /// Raises ValueError for a digest of another segment, and inserts nothing then.
    #[pyo3(signature = (digests, /))]
    fn insert_digests(&self, digests: &Bound<'_, PyAny>) -> PyResult<()> {
        let (digests_of, _) = collect(digests)?;
        let insert = || {
            let mut segment = self.segment.write().unwrap_or_else(PoisonError::into_inner);
            segment.insert_digests_into(&digests_of, &mut Bitmap::new())
        };
        Ok(fork::detached(digests.py(), insert).map_err(Error::from)?)
    }

    /// For each of many digests, in order, whether its key may have been inserted.
    ///
    /// The answers are of the kind of the input, as for ``Bloom.contains_many``. Raises ValueError
    /// for a digest of another segment.
    #[pyo3(signature = (digests, /))]
    fn contains_digests<'py>(&self, digests: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
        let (digests_of, container) = collect(digests)?;
        let (mut answers, mut found) = (Answers::default(), Bitmap::new());
        let query = || {
            let segment = self.read();
            digests_of.chunks(CHUNK).try_for_each(|chunk| {
                segment.contains_digests_into(chunk, &mut found)?;
                answers.push(&found);
                Ok(())
            })
        };
        fork::detached(digests.py(), query).map_err(|error: mayhap::Error| Error::from(error))?;
        answers.into_object(digests, container)
    }

    /// Save the segment, as ``Bloom.save`` saves a filter.
    #[pyo3(signature = (path, *, replace=true, key_options=None))]
    fn save(
        &self,
        py: Python<'_>,
        path: PathBuf,
        replace: bool,
        key_options: Option<&str>,
    ) -> PyResult<()> {
        let options = cut::options(key_options.unwrap_or(&self.key_options))?.to_header();
        let save = || {
            let segment = self.read();
            if replace {
                mayhap_store::save(&path, &*segment, &options)
            } else {
                mayhap_store::save_new(&path, &*segment, &options)
            }
        };
        Ok(fork::detached(py, save).map_err(Error::from)?)
    }

    /// The first digest of the segment.
    #[getter]
    fn first_digest(&self) -> u64 {
        self.read().digests().start().get()
    }

    /// The last digest of the segment.
    #[getter]
    fn last_digest(&self) -> u64 {
        self.read().digests().end().get()
    }

    /// The pages of the whole filter that the segment has, as (first, end).
    #[getter]
    fn pages(&self) -> (u64, u64) {
        let pages = self.read().pages();
        (pages.start, pages.end)
    }

    /// The memory of the bits.
    #[getter]
    fn num_bytes(&self) -> u64 {
        self.read().num_bytes()
    }

    /// The number of distinct keys that the whole filter was created for.
    #[getter]
    fn expected_items(&self) -> u64 {
        self.read().params().expected_items()
    }

    /// The false-positive rate that was promised.
    #[getter]
    fn target_fpp(&self) -> f64 {
        self.read().params().target_fpp()
    }

    /// The options by which the command cuts keys out of lines for this filter; "" if lines are
    /// keys.
    #[getter]
    fn key_options(&self) -> &str {
        &self.key_options
    }

    fn __repr__(&self) -> String {
        let segment = self.read();
        let (first, last) = segment.digests().into_inner();
        format!(
            "<mayhap_bloom.Segment: digests {:#018x} to {:#018x}, {} bytes>",
            first.get(),
            last.get(),
            segment.num_bytes()
        )
    }
}

/// The digests of many keys, as computed by filters with this seed or secret key.
///
/// They are of the kind of the input: a list of int, an array of uint64, or a column; null for
/// null.
///
/// >>> digests(["a"])
/// [16629034431890738719]
#[pyfunction]
#[pyo3(signature = (keys, /, *, seed=0, secret_key=None))]
pub(crate) fn digests<'py>(
    keys: &Bound<'py, PyAny>,
    seed: u64,
    secret_key: Option<&Bound<'_, PyBytes>>,
) -> PyResult<Bound<'py, PyAny>> {
    let function = kinds::digest_function(seed, secret_key)?;
    let mut all: Vec<u64> = Vec::new();
    let mut sink = DigestSink::new(function, None, |chunk: &[Digest]| -> Result<(), Error> {
        all.extend_from_slice(bytemuck::cast_slice(chunk));
        Ok(())
    });
    let container = feed(keys, &mut sink)?;
    sink.finish()?;
    drop(sink);
    numbers_like(keys, container, all)
}

/// The first digest of each of ``count`` segments; the last one of each precedes that of the next.
///
/// >>> [hex(first) for first in segment_bounds(1_000_000, 0.01, 2)]
/// ['0x0', '0x7fe8be69042dc922']
#[pyfunction]
#[pyo3(signature = (expected_items, target_fpp, count))]
pub(crate) fn segment_bounds(
    expected_items: u64,
    target_fpp: f64,
    count: u64,
) -> PyResult<Vec<u64>> {
    let cut = Segments::new(&params(expected_items, target_fpp, None)?, count);
    let cut = cut.map_err(Error::from)?;
    let first = |index| Ok(cut.digests(index).map_err(Error::from)?.start().get());
    (0..count).map(first).collect()
}

/// Put the segments of a filter together, in any order: a file like that of a ``Bloom`` that was
/// filled at once and whose count was settled.
///
/// Raises ValueError if segments are missing or duplicated, IncompatibleError if they belong to
/// several filters, FormatError if a file is not a segment or is damaged; then nothing is written.
/// Raises FileExistsError if there is a file and ``replace`` is False.
#[pyfunction]
#[pyo3(signature = (paths, out, *, replace=true))]
pub(crate) fn assemble(
    py: Python<'_>,
    paths: Vec<PathBuf>,
    out: PathBuf,
    replace: bool,
) -> PyResult<()> {
    if paths.is_empty() {
        return Err(PyValueError::new_err("paths is empty; give the files of all segments"));
    }
    let write = || {
        let lock = FilterLock::take(&out, &mut LockOptions::new("assemble"))?;
        mayhap_store::assemble(&lock, &paths, replace, |_, _| {})
    };
    fork::detached(py, write).map_err(Error::from)?;
    Ok(())
}
