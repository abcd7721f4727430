//! The methods that filters of all kinds have.
#![expect(unsafe_code, reason = "the two methods of the buffer protocol are declared unsafe")]

use super::batches::Batch;
use super::{Filter, OnFull, view};
use crate::amount::Amount;
use crate::error::Error;
use crate::full::check_not_over;
use crate::held::{Held, unite};
use crate::{cut, kinds, open};
use mayhap::native::Kind;
use mayhap::set::Set;
use mayhap::sizing::Shrink;
use mayhap::{DigestFunction, Layout};
use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::ffi;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict, PyTuple};
use std::ffi::c_int;
use std::path::PathBuf;

#[pymethods]
impl Filter {
    fn __contains__(&self, key: &Bound<'_, PyAny>) -> PyResult<bool> {
        let digest = self.digest_of(key)?;
        Ok(self.contains(key.py(), digest)?)
    }

    /// Whether a key may be in the filter; the same as ``key in filter``.
    #[pyo3(signature = (key, /))]
    fn contains_key(&self, key: &Bound<'_, PyAny>) -> PyResult<bool> {
        self.__contains__(key)
    }

    /// Insert all keys of an iterable, array or column.
    #[pyo3(signature = (*keys))]
    fn update(&self, keys: &Bound<'_, PyTuple>) -> PyResult<()> {
        self.update_all(keys.py(), keys)
    }

    /// Insert many keys; for each, in order, whether it was new.
    ///
    /// The answers are of the kind of the input: a list for lists and iterators, an array of bool
    /// for arrays, a column for columns; null for null.
    #[pyo3(signature = (keys, /))]
    fn add_many<'py>(&self, keys: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
        let (answers, container) = self.batch(keys, Batch::Insert)?;
        answers.into_object(keys, container)
    }

    /// For each of many keys, in order, whether it may be in the filter.
    ///
    /// The answers are of the kind of the input, as for ``add_many``.
    #[pyo3(signature = (keys, /))]
    fn contains_many<'py>(&self, keys: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
        let (answers, container) = self.batch(keys, Batch::Contains)?;
        answers.into_object(keys, container)
    }

    /// The number of keys that may be in the filter.
    #[pyo3(signature = (keys, /))]
    fn count_many(&self, keys: &Bound<'_, PyAny>) -> PyResult<usize> {
        Ok(self.batch(keys, Batch::Contains)?.0.count())
    }

    /// The keys that may be in the filter, or with ``absent=True`` the keys that surely are not.
    #[pyo3(signature = (keys, /, *, absent=false))]
    fn filter_many<'py>(
        &self,
        keys: &Bound<'py, PyAny>,
        absent: bool,
    ) -> PyResult<Bound<'py, PyAny>> {
        self.select(keys, !absent)
    }

    fn __len__(&self, py: Python<'_>) -> usize {
        usize::try_from(self.read(py, Held::inserted_items)).unwrap_or(usize::MAX)
    }

    fn __bool__(&self, py: Python<'_>) -> bool {
        self.read(py, Held::inserted_items) > 0
    }

    /// Insertions that were answered "new": slightly fewer than the distinct keys added.
    #[getter]
    fn count(&self, py: Python<'_>) -> u64 {
        self.read(py, Held::inserted_items)
    }

    /// An estimate of the distinct keys added.
    #[getter]
    fn distinct(&self, py: Python<'_>) -> PyResult<f64> {
        self.read_long(py, |held| held.by_bits().distinct_items.items)
    }

    /// The kind: "bloom", "scalable", "compact", "counting", "window", "fuse" or
    /// "ribbon".
    #[getter]
    fn kind(&self, py: Python<'_>) -> &'static str {
        self.read(py, Held::kind).name()
    }

    /// The layout of the bits, "blocked" or "standard"; None for kinds that have only one.
    #[getter]
    fn layout(&self, py: Python<'_>) -> Option<&'static str> {
        let (kind, fields) = self.read(py, |held| (held.kind(), held.fields()));
        Layout::from_id(fields.layout).filter(|_| kind == Kind::Bloom).map(Layout::name)
    }

    /// The number of distinct keys that it was created for.
    #[getter]
    fn expected_items(&self, py: Python<'_>) -> u64 {
        self.read(py, Held::fields).expected_items
    }

    /// The false-positive rate that was promised.
    #[getter]
    fn target_fpp(&self, py: Python<'_>) -> f64 {
        self.read(py, Held::fields).target_fpp
    }

    /// The false-positive rate by the bits as they are now. Reads all of them.
    #[getter]
    fn fpp(&self, py: Python<'_>) -> PyResult<f64> {
        self.read_long(py, |held| held.by_bits().estimated_fpp)
    }

    /// The false-positive rate predicted from the number of keys added.
    #[getter]
    fn expected_fpp(&self, py: Python<'_>) -> f64 {
        self.read(py, Held::numbers).expected_fpp
    }

    /// The share of bits that are set. Reads all of them.
    #[getter]
    fn fill(&self, py: Python<'_>) -> PyResult<f64> {
        self.read_long(py, |held| held.by_bits().fill_ratio)
    }

    /// "ok", "near capacity" from 80 % on, or "over capacity". Reads all bits.
    #[getter]
    fn health(&self, py: Python<'_>) -> PyResult<&'static str> {
        self.read_long(py, |held| held.by_bits().health.name())
    }

    /// The number of bits, m.
    #[getter]
    fn num_bits(&self, py: Python<'_>) -> u64 {
        self.read(py, Held::numbers).num_bits
    }

    /// Bits per key, k.
    #[getter]
    fn num_hashes(&self, py: Python<'_>) -> u32 {
        self.read(py, Held::numbers).num_hashes
    }

    /// The memory of the bits.
    #[getter]
    fn num_bytes(&self, py: Python<'_>) -> u64 {
        self.read(py, Held::numbers).num_bytes
    }

    /// How keys become digests: "xxh3" or "sip13".
    #[getter]
    fn digest(&self) -> &'static str {
        self.function.name()
    }

    /// The seed of xxh3; None for sip13.
    #[getter]
    fn seed(&self) -> Option<u64> {
        match self.function {
            DigestFunction::Xxh3 { seed } => Some(seed),
            _ => None,
        }
    }

    /// What happens to keys beyond capacity: "warn", "raise" or "grow".
    #[getter]
    fn on_full(&self) -> &'static str {
        self.on_full.name()
    }

    /// The options by which the command cuts keys out of lines for this filter; "" if lines are
    /// keys.
    #[getter]
    fn key_options(&self) -> &str {
        &self.key_options
    }

    /// Forget all keys.
    fn clear(&self, py: Python<'_>) -> PyResult<()> {
        self.change_patiently(py, |held| held.change(|set| Ok(set.clear()?)))
    }

    /// A copy in memory of its own, of the same class.
    fn copy<'py>(slf: &Bound<'py, Self>) -> PyResult<Bound<'py, PyAny>> {
        let (py, this) = (slf.py(), slf.get());
        let copy = Held::Memory(this.native_copy(py)?);
        let filter = Self::new(copy, this.on_full, this.key_options.clone());
        open::again(&slf.get_type(), filter)
    }

    /// A copy at a smaller size, without its keys: the filter built at that size, bit for bit.
    ///
    /// It has the smallest size that keeps ``target_fpp`` (by default the rate that this filter
    /// promises) for ``expected_items`` keys (by default those in it), or 1 ``factor``-th of this
    /// size. If no smaller size keeps the rate it is as large as this one, and promises what is
    /// requested. For "bloom" and "scalable" filters.
    ///
    /// Raises ValueError if this size does not keep the rate, or is no multiple of the factor;
    /// TypeError for kinds that do not fold.
    ///
    /// >>> from mayhap_bloom import Bloom
    /// >>> large = Bloom(1_000_000, 0.01)
    /// >>> large.update(range(1000))
    /// >>> small = large.shrink()
    /// >>> small.num_bytes * 100 < large.num_bytes, 999 in small
    /// (True, True)
    #[pyo3(signature = (*, expected_items=None, target_fpp=None, factor=None),
           text_signature = "($self, *, expected_items=None, target_fpp=None, factor=None)")]
    fn shrink<'py>(
        slf: &Bound<'py, Self>,
        expected_items: Option<Amount>,
        target_fpp: Option<f64>,
        factor: Option<Amount>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let items = expected_items.map(|Amount(items)| items);
        let how = match factor {
            None => Shrink::To { items, target_fpp },
            Some(Amount(factor)) if (items, target_fpp) == (None, None) => Shrink::By(factor),
            Some(_) => {
                let text = "give either factor, or expected_items and target_fpp";
                return Err(PyValueError::new_err(text));
            }
        };
        let (py, this) = (slf.py(), slf.get());
        let shrunk = |set: &dyn Set| set.shrunk(how)?.map_or_else(|| set.copy(), Ok);
        let small = this.read_long(py, |held| held.whole(shrunk))??.map_err(Error::from)?;
        let filter = Self::new(Held::Memory(small), this.on_full, this.key_options.clone());
        open::again(&slf.get_type(), filter)
    }

    fn __copy__<'py>(slf: &Bound<'py, Self>) -> PyResult<Bound<'py, PyAny>> {
        let copy = Self::copy(slf)?;
        if let Some(state) = attributes(slf)? {
            subclasses(slf.py())?.call_method1("set_state", (&copy, state))?;
        }
        Ok(copy)
    }

    fn __deepcopy__<'py>(
        slf: &Bound<'py, Self>,
        memo: &Bound<'py, PyDict>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let copy = Self::copy(slf)?;
        // An attribute may lead back here.
        memo.set_item(slf.as_ptr() as usize, &copy)?;
        if let Some(state) = attributes(slf)? {
            subclasses(slf.py())?.call_method1("set_state", (&copy, state, memo))?;
        }
        Ok(copy)
    }

    /// The filter in few bytes, for ``from_bytes``; ``bytes(filter)`` is the file as it is saved.
    ///
    /// They are a short file, 72 bytes and the bits, of a filter that fits into 4,095 bytes (see
    /// ``save``), or, if that is smaller, the packed form of the file, without its zeros, up to a
    /// file of 1 MiB.
    fn to_bytes<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyBytes>> {
        let packed = self.read_long(py, |held| held.pack(&self.key_options))??;
        Ok(PyBytes::new(py, &packed))
    }

    fn __bytes__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyBytes>> {
        let file = self.read_long(py, |held| held.encode(&self.key_options))??;
        Ok(PyBytes::new(py, &file))
    }

    /// Save the filter: at any moment the path holds the old file or the new one, whole.
    ///
    /// ``key_options`` records for the command how the keys were cut out of lines: "hex=decode" and
    /// a line feed for keys that are hexadecimal digits in lists. Raises FileExistsError if there
    /// is a file and ``replace`` is False, OSError if it cannot be written.
    ///
    /// With ``short=True`` it is a short file, of at most 4,095 bytes: 200 for 100 keys at 1 %, and
    /// 8,200 without. Raises ValueError for a filter that is too large for one or not of the kinds
    /// "blocked" and "standard"; older releases do not open it.
    #[pyo3(signature = (path, *, replace=true, key_options=None, short=false))]
    fn save(
        &self,
        py: Python<'_>,
        path: PathBuf,
        replace: bool,
        key_options: Option<&str>,
        short: bool,
    ) -> PyResult<()> {
        let mut options = cut::options(key_options.unwrap_or(&self.key_options))?;
        // The unit of a time window is not one of its lines.
        options.unix_ms |= cut::options(&self.key_options)?.unix_ms;
        let key_options = options.to_header();
        let save = if short { Held::save_short } else { Held::save };
        self.read_long(py, |held| save(held, &path, &key_options, replace))??;
        Ok(())
    }

    /// The key that the command cuts out of a line for this filter; None if it has none.
    ///
    /// A carriage return at the end is part of the key where ``key_options`` has "crlf=keep"; and
    /// where it is not recorded, if the filter has that key. Numbers are keys, not lines.
    #[pyo3(signature = (line, /))]
    fn cut<'py>(&self, line: &Bound<'py, PyAny>) -> PyResult<Option<Bound<'py, PyBytes>>> {
        let may_hold = |key: &[u8]| Ok(self.contains(line.py(), self.function.digest(key))?);
        cut::cut(line, &self.key_options, may_hold)
    }

    fn __reduce__<'py>(slf: &Bound<'py, Self>) -> PyResult<Bound<'py, PyTuple>> {
        let (py, this) = (slf.py(), slf.get());
        if matches!(this.function, DigestFunction::Sip13 { .. }) {
            return Err(PyTypeError::new_err(
                "a filter with a secret key is not pickled, as its key would be; send \
                 to_bytes() and open it with from_bytes(data, secret_key=...)",
            ));
        }
        let restore = py.import("mayhap_bloom._mayhap")?.getattr("_restore")?;
        let (data, on_full) = (this.to_bytes(py)?, this.on_full.name());
        let class = slf.get_type();
        if kinds::base_of(&class)?.is_none() {
            return (restore, (data, on_full)).into_pyobject(py);
        }
        (restore, (data, on_full, class), attributes(slf)?).into_pyobject(py)
    }

    fn __eq__(slf: &Bound<'_, Self>, other: &Bound<'_, PyAny>) -> PyResult<Py<PyAny>> {
        let py = slf.py();
        let Ok(other) = other.cast::<Self>() else { return Ok(py.NotImplemented()) };
        let equal = slf.is(other) || slf.get().equals(py, other.get())?;
        Ok(equal.into_pyobject(py)?.to_owned().into_any().unbind())
    }

    fn __or__<'py>(
        slf: &Bound<'py, Self>,
        other: &Bound<'py, PyAny>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let Ok(other) = other.cast::<Self>() else {
            return Ok(slf.py().NotImplemented().into_bound(slf.py()));
        };
        let union = Self::copy(slf)?;
        union.cast::<Self>()?.get().unite(slf.py(), other.get())?;
        Ok(union)
    }

    fn __ior__(slf: &Bound<'_, Self>, other: &Bound<'_, PyAny>) -> PyResult<()> {
        match other.cast::<Self>() {
            Ok(other) => slf.get().unite(slf.py(), other.get()),
            Err(_) => Err(PyTypeError::new_err(
                "only a filter of the same kind is united with |=; use update(keys) for keys",
            )),
        }
    }

    fn __and__(&self, other: &Bound<'_, PyAny>) -> PyResult<()> {
        let _ = other;
        Err(PyTypeError::new_err(
            "filters are not intersected: the bits that two filters share are more than those of \
             the keys that they share, so the rate is that of neither; query both",
        ))
    }

    fn __repr__(slf: &Bound<'_, Self>) -> PyResult<String> {
        let this = slf.get();
        let read = |held: &Held| (held.numbers(), held.by_bits().estimated_fpp);
        let (numbers, fpp) = this.read_long(slf.py(), read)?;
        Ok(format!(
            "<mayhap_bloom.{}: {} of {} keys, fpp {fpp:.3e} now, {:e} promised, {} bytes>",
            slf.get_type().name()?,
            numbers.inserted_items,
            numbers.expected_items,
            numbers.target_fpp,
            numbers.num_bytes
        ))
    }

    unsafe fn __getbuffer__(
        slf: Bound<'_, Self>,
        view: *mut ffi::Py_buffer,
        flags: c_int,
    ) -> PyResult<()> {
        // SAFETY: `view` was passed by the interpreter.
        unsafe { view::fill(&slf, view, flags) }
    }

    unsafe fn __releasebuffer__(&self, view: *mut ffi::Py_buffer) {
        let _ = view;
        self.set.end_view();
    }
}

/// The attributes of an object of a subclass, as `pickle` keeps them.
fn attributes<'py>(filter: &Bound<'py, Filter>) -> PyResult<Option<Bound<'py, PyAny>>> {
    if kinds::base_of(&filter.get_type())?.is_none() {
        return Ok(None);
    }
    let state = filter.call_method0("__getstate__")?;
    Ok((!state.is_none()).then_some(state))
}

/// The part of the package that knows how `pickle` and `copy` set attributes.
fn subclasses(py: Python<'_>) -> PyResult<Bound<'_, PyModule>> {
    py.import("mayhap_bloom._subclasses")
}

impl Filter {
    /// Whether both give the same answer for every key.
    fn equals(&self, py: Python<'_>, other: &Self) -> PyResult<bool> {
        let other = other.native_copy(py)?;
        Ok(self.read_long(py, |held| held.whole(|set| set.same(&*other)))??)
    }

    /// Adds the keys of `other`.
    fn unite(&self, py: Python<'_>, other: &Self) -> PyResult<()> {
        if std::ptr::eq(self, other) {
            return Ok(());
        }
        if self.function != other.function {
            let (left, right) = (self.function, other.function);
            let error = mayhap::Error::Incompatible {
                parameter: "digest function, seed or key",
                left: left.parameter(),
                right: right.parameter(),
            };
            return Err(Error::from(error).into());
        }
        // A copy, so that never two locks are held: a |= b and b |= a at once would wait forever.
        let theirs = other.native_copy(py)?;
        self.change_patiently(py, |held| {
            held.ready()?;
            if self.on_full == OnFull::Raise {
                let mut united = held.copy()?;
                unite(&mut *united, &*theirs)?;
                check_not_over(&*united, self.limit_of(held))?;
            }
            held.change(|set| unite(set, &*theirs))
        })?;
        self.warn_if_full(py)
    }

    /// A copy of the filter in memory, even if it is mapped or a state.
    pub(crate) fn native_copy(&self, py: Python<'_>) -> PyResult<Box<dyn Set>> {
        Ok(self.read_long(py, Held::copy)??)
    }
}
