//! The kinds of filters as classes: the constructor and the special methods of each.

use crate::amount::{Amount, Items};
use crate::error::Error;
use crate::filter::{Batch, Filter, OnFull};
use crate::frozen::{Fuse, Ribbon};
use crate::held::{Held, is_of_time, now};
use crate::secret;
use crate::sizes;
use mayhap::native::Kind;
use mayhap::set::Set;
use mayhap::{
    AnyFilter, CompactFilter, CounterBits, CountingBloomFilter, Digest, DigestFunction, Layout,
    OwnedBlocks, ScalableBloomFilter, WindowBloomFilter,
};
use mayhap_keys::KeyOptions;
use mayhap_store::MappedFilter;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyType};
use std::time::Duration;

/// A filter for a known number of keys.
///
/// ``expected_items`` is the number of distinct keys, ``target_fpp`` the false-positive rate with
/// all of them inserted. ``layout`` is "blocked" (fast, one cache line a key), "standard" (fewest
/// bits), or None for the better one. ``on_full`` determines what happens to further keys: "warn"
/// inserts them with one FilterFullWarning, "raise" raises FilterFullError, "grow" makes a filter
/// that grows. ``secret_key`` is 16 random bytes, for keys from untrusted sources; ``seed`` is for
/// the others.
///
/// Raises ValueError for numbers that no filter has, MemoryError for too large ones.
///
/// >>> seen = Bloom(1_000_000, 0.001)
/// >>> seen.add("https://example.org/")
/// True
/// >>> "https://example.org/" in seen, "https://example.org/other" in seen
/// (True, False)
#[pyclass(frozen, extends = Filter, subclass, module = "mayhap_bloom")]
pub(crate) struct Bloom;

/// A filter for an unknown number of keys: it grows, and keeps ``target_fpp`` overall.
///
/// ``first_items`` is the room that it begins with.
///
/// >>> seen = Scalable(100, 0.001)
/// >>> seen.update(range(10_000))
/// >>> len(seen) > 9_900, 9_999 in seen
/// (True, True)
#[pyclass(frozen, extends = Filter, subclass, module = "mayhap_bloom")]
pub(crate) struct Scalable;

/// A filter from which keys are removed again, in 9.4 bits a key at 1 %.
///
/// Every ``add`` stores a copy, up to 15: a key that was added twice is removed twice. ``on_full``
/// is "raise", since there is no room for more copies than ``expected_items``, or "grow".
///
/// >>> online = Compact(1000, 1e-6)
/// >>> online.add("ann"), online.add("ann"), online.estimated_count("ann")
/// (True, False, 2)
/// >>> online.remove("ann"), online.remove("ann"), "ann" in online
/// (True, True, False)
#[pyclass(frozen, extends = Filter, subclass, module = "mayhap_bloom")]
pub(crate) struct Compact;

/// A filter from which keys are removed again: counters.
///
/// ``counter_bits`` is 4 or 8: a counter that has reached its maximum stays there.
///
/// >>> cart = Counting(1000, 1e-6)
/// >>> cart.add("apple"), cart.remove("apple"), "apple" in cart
/// (True, True, False)
#[pyclass(frozen, extends = Filter, subclass, module = "mayhap_bloom")]
pub(crate) struct Counting;

/// A filter that forgets: the last ``items`` keys, or the keys of the last ``seconds``.
///
/// With ``seconds``, ``items`` is the number of keys expected in that time, by the clock.
///
/// >>> recent = Window(items=1000, target_fpp=1e-6)
/// >>> recent.update(range(2000))
/// >>> 1999 in recent, 0 in recent
/// (True, False)
#[pyclass(frozen, extends = Filter, subclass, module = "mayhap_bloom")]
pub(crate) struct Window;

/// Wraps a filter in the class of its kind, which is read from a file.
pub(crate) fn of_kind(py: Python<'_>, kind: Kind, filter: Filter) -> PyResult<Py<PyAny>> {
    let filter = PyClassInitializer::from(filter);
    Ok(match kind {
        Kind::Scalable => Py::new(py, filter.add_subclass(Scalable))?.into_any(),
        Kind::Compact => Py::new(py, filter.add_subclass(Compact))?.into_any(),
        Kind::Counting => Py::new(py, filter.add_subclass(Counting))?.into_any(),
        Kind::Window => Py::new(py, filter.add_subclass(Window))?.into_any(),
        Kind::Fuse => Py::new(py, filter.add_subclass(Fuse))?.into_any(),
        Kind::Ribbon => Py::new(py, filter.add_subclass(Ribbon))?.into_any(),
        _ => Py::new(py, filter.add_subclass(Bloom))?.into_any(),
    })
}

/// For a subclass, our class that it derives from, and the name of its first argument; `None` for
/// our own classes, and for objects that no class can restore.
pub(crate) fn base_of<'py>(
    class: &Bound<'py, PyType>,
) -> PyResult<Option<(Bound<'py, PyType>, &'static str)>> {
    let py = class.py();
    for (base, first) in [
        (py.get_type::<Bloom>(), "expected_items"),
        (py.get_type::<Scalable>(), "first_items"),
        (py.get_type::<Compact>(), "expected_items"),
        (py.get_type::<Counting>(), "expected_items"),
        (py.get_type::<Window>(), "items"),
        (py.get_type::<Fuse>(), "keys"),
        (py.get_type::<Ribbon>(), "keys"),
    ] {
        if class.is_subclass(&base)? {
            return Ok((!class.is(&base)).then_some((base, first)));
        }
    }
    Ok(None)
}

/// The digest function of a seed or a secret key.
pub(crate) fn digest_function(
    seed: u64,
    secret_key: Option<&Bound<'_, PyBytes>>,
) -> PyResult<DigestFunction> {
    match secret_key {
        None => Ok(DigestFunction::xxh3(seed)),
        Some(_) if seed != 0 => {
            Err(PyValueError::new_err("seed and secret_key exclude each other"))
        }
        Some(key) => Ok(DigestFunction::sip13(secret::parse(key)?)),
    }
}

fn layout_of(name: Option<&str>) -> PyResult<Option<Layout>> {
    match name {
        None => Ok(None),
        Some("blocked") => Ok(Some(Layout::Blocked)),
        Some("standard") => Ok(Some(Layout::Standard)),
        Some(other) => Err(PyValueError::new_err(format!(
            "layout is {other:?}, must be \"blocked\", \"standard\" or None for the better one"
        ))),
    }
}

/// The base of a class.
pub(crate) fn base(set: impl Set + 'static, on_full: OnFull) -> PyClassInitializer<Filter> {
    let held = Held::Memory(Box::new(set));
    PyClassInitializer::from(Filter::new(held, on_full, String::new()))
}

#[pymethods]
impl Bloom {
    #[new]
    #[pyo3(signature = (expected_items, target_fpp=0.01, *, layout=None, seed=Amount(0),
                        secret_key=None, on_full=OnFull::Warn, max_bytes=None),
           text_signature = "(expected_items, target_fpp=0.01, *, layout=None, seed=0, \
                             secret_key=None, on_full=\"warn\", max_bytes=None)")]
    fn new(
        expected_items: Items,
        target_fpp: f64,
        layout: Option<&str>,
        seed: Amount,
        secret_key: Option<&Bound<'_, PyBytes>>,
        on_full: OnFull,
        max_bytes: Option<Amount>,
    ) -> PyResult<PyClassInitializer<Self>> {
        let expected_items = match expected_items {
            Items::New(expected_items) => expected_items,
            Items::Again(filter) => return Ok(PyClassInitializer::from(filter).add_subclass(Self)),
        };
        let max_bytes = max_bytes.map_or(u64::MAX, |bytes| bytes.0);
        let function = digest_function(seed.0, secret_key)?;
        let layout = layout_of(layout)?;
        if on_full == OnFull::Grow {
            if layout.is_some() {
                let message = "a filter that grows chooses its layouts itself; leave layout out";
                return Err(PyValueError::new_err(message));
            }
            let set = growing(expected_items, target_fpp, function, max_bytes)?;
            return Ok(base(set, on_full).add_subclass(Self));
        }
        let (params, full) = sizes::of(expected_items, target_fpp, layout, max_bytes)?;
        let blocks = OwnedBlocks::zeroed(params.num_blocks()).map_err(Error::from)?;
        let set = AnyFilter::from_parts(params, function, blocks, 0).map_err(Error::from)?;
        let held = Held::Memory(Box::new(set));
        let filter = Filter::with_limit(held, on_full, String::new(), full);
        Ok(PyClassInitializer::from(filter).add_subclass(Self))
    }

    /// Insert keys by their digests, as ``digests`` gives them: an array or column of unsigned
    /// 64-bit integers, or an iterable of int.
    #[pyo3(signature = (digests, /))]
    fn insert_digests(slf: &Bound<'_, Self>, digests: &Bound<'_, PyAny>) -> PyResult<()> {
        slf.as_super().get().digest_batch(digests, Batch::Insert)?;
        Ok(())
    }

    /// For each of many digests, in order, whether its key may be in the filter.
    ///
    /// The answers are of the kind of the input, as for ``contains_many``.
    #[pyo3(signature = (digests, /))]
    fn contains_digests<'py>(
        slf: &Bound<'py, Self>,
        digests: &Bound<'py, PyAny>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let (answers, container) = slf.as_super().get().digest_batch(digests, Batch::Contains)?;
        answers.into_object(digests, container)
    }

    /// Derive ``count`` from the bits, as a union does: then it depends on the keys alone and not
    /// on their order, and the file equals that of ``assemble``. Reads all bits.
    fn settle_count(slf: &Bound<'_, Self>) -> PyResult<()> {
        let settle = |set: &mut dyn Set| {
            let not_plain = not_of_kind("count to settle here", set.kind());
            let filter = set.as_any_mut().downcast_mut::<AnyFilter>().ok_or(not_plain)?;
            filter.settle_inserted_items();
            Ok(())
        };
        slf.as_super().get().change_patiently(slf.py(), |held| held.change(settle))
    }
}

fn growing(
    first_items: u64,
    target_fpp: f64,
    function: DigestFunction,
    max_bytes: u64,
) -> Result<ScalableBloomFilter, Error> {
    let mut set = ScalableBloomFilter::new(first_items, target_fpp, function)?;
    set.set_max_bytes(max_bytes);
    Ok(set)
}

#[pymethods]
impl Scalable {
    #[new]
    #[pyo3(signature = (first_items=Items::New(10_000), target_fpp=0.01, *, seed=Amount(0),
                        secret_key=None, max_bytes=None),
           text_signature = "(first_items=10_000, target_fpp=0.01, *, seed=0, secret_key=None, \
                             max_bytes=None)")]
    fn new(
        first_items: Items,
        target_fpp: f64,
        seed: Amount,
        secret_key: Option<&Bound<'_, PyBytes>>,
        max_bytes: Option<Amount>,
    ) -> PyResult<PyClassInitializer<Self>> {
        let first_items = match first_items {
            Items::New(first_items) => first_items,
            Items::Again(filter) => return Ok(PyClassInitializer::from(filter).add_subclass(Self)),
        };
        let max_bytes = max_bytes.map_or(u64::MAX, |bytes| bytes.0);
        let function = digest_function(seed.0, secret_key)?;
        let set = growing(first_items, target_fpp, function, max_bytes)?;
        Ok(base(set, OnFull::Grow).add_subclass(Self))
    }
}

#[pymethods]
impl Compact {
    #[new]
    #[pyo3(signature = (expected_items, target_fpp=0.01, *, seed=Amount(0), secret_key=None,
                        on_full=OnFull::Raise, max_bytes=None),
           text_signature = "(expected_items, target_fpp=0.01, *, seed=0, secret_key=None, \
                             on_full=\"raise\", max_bytes=None)")]
    fn new(
        expected_items: Items,
        target_fpp: f64,
        seed: Amount,
        secret_key: Option<&Bound<'_, PyBytes>>,
        on_full: OnFull,
        max_bytes: Option<Amount>,
    ) -> PyResult<PyClassInitializer<Self>> {
        let expected_items = match expected_items {
            Items::New(expected_items) => expected_items,
            Items::Again(filter) => return Ok(PyClassInitializer::from(filter).add_subclass(Self)),
        };
        if on_full == OnFull::Warn {
            let message = "a compact filter has no room for more keys than it was created for; \
                           on_full is \"raise\" or \"grow\"";
            return Err(PyValueError::new_err(message));
        }
        let set = CompactFilter::builder()
            .expected_items(expected_items)
            .target_fpp(target_fpp)
            .grows(on_full == OnFull::Grow)
            .max_bytes(max_bytes.map_or(u64::MAX, |bytes| bytes.0))
            .digest_function(digest_function(seed.0, secret_key)?)
            .build()
            .map_err(Error::from)?;
        Ok(base(set, on_full).add_subclass(Self))
    }

    /// Remove a copy of a key that was added before; False, changing nothing, if it is surely
    /// absent, or stays (`key in filter` is then still True) since it has 15 copies or more.
    ///
    /// Removing a key that was never added can remove another one.
    #[pyo3(signature = (key, /))]
    fn remove(slf: &Bound<'_, Self>, key: &Bound<'_, PyAny>) -> PyResult<bool> {
        remove_from(slf.as_super(), key, "copies", CompactFilter::remove_digest)
    }

    /// The copies of a key: never too few, and 15 for that many or more.
    #[pyo3(signature = (key, /))]
    fn estimated_count(slf: &Bound<'_, Self>, key: &Bound<'_, PyAny>) -> PyResult<u32> {
        count_in(slf.as_super(), key, "copies", CompactFilter::count_digest)
    }
}

#[pymethods]
impl Counting {
    #[new]
    #[pyo3(signature = (expected_items, target_fpp=0.01, *, counter_bits=4, seed=Amount(0),
                        secret_key=None, on_full=OnFull::Warn),
           text_signature = "(expected_items, target_fpp=0.01, *, counter_bits=4, seed=0, \
                             secret_key=None, on_full=\"warn\")")]
    fn new(
        expected_items: Items,
        target_fpp: f64,
        counter_bits: u32,
        seed: Amount,
        secret_key: Option<&Bound<'_, PyBytes>>,
        on_full: OnFull,
    ) -> PyResult<PyClassInitializer<Self>> {
        let expected_items = match expected_items {
            Items::New(expected_items) => expected_items,
            Items::Again(filter) => return Ok(PyClassInitializer::from(filter).add_subclass(Self)),
        };
        if on_full == OnFull::Grow {
            let message = "a counting filter does not grow; on_full is \"warn\" or \"raise\"";
            return Err(PyValueError::new_err(message));
        }
        let function = digest_function(seed.0, secret_key)?;
        let set = CountingBloomFilter::builder()
            .expected_items(expected_items)
            .target_fpp(target_fpp)
            .counter_bits(CounterBits::new(counter_bits).map_err(Error::from)?)
            .digest_function(function)
            .build()
            .map_err(Error::from)?;
        Ok(base(set, on_full).add_subclass(Self))
    }

    /// Remove a key that was inserted before; False, changing nothing, if it is surely absent, or
    /// stays (`key in filter` is then still True): saturated counters are never lowered.
    ///
    /// Removing a key that was never inserted can remove others.
    #[pyo3(signature = (key, /))]
    fn remove(slf: &Bound<'_, Self>, key: &Bound<'_, PyAny>) -> PyResult<bool> {
        remove_from(slf.as_super(), key, "counters", CountingBloomFilter::remove_digest)
    }

    /// The number of insertions of a key: never too low, up to the maximum of the counters.
    #[pyo3(signature = (key, /))]
    fn estimated_count(slf: &Bound<'_, Self>, key: &Bound<'_, PyAny>) -> PyResult<u32> {
        count_in(slf.as_super(), key, "counters", CountingBloomFilter::estimated_count_digest)
    }
}

/// Removes a key from a filter of this kind, which has what is named.
fn remove_from<F: 'static>(
    filter: &Bound<'_, Filter>,
    key: &Bound<'_, PyAny>,
    has: &'static str,
    remove: fn(&mut F, Digest) -> bool,
) -> PyResult<bool> {
    let (py, filter) = (filter.py(), filter.get());
    let digest = filter.digest_of(key)?;
    let remove = |set: &mut dyn Set| {
        let other_kind = not_of_kind(has, set.kind());
        Ok(remove(set.as_any_mut().downcast_mut().ok_or(other_kind)?, digest))
    };
    Ok(filter.change(py, |held| held.change(remove))??)
}

/// The count of a key in a filter of this kind, which has what is named.
fn count_in<F: 'static>(
    filter: &Bound<'_, Filter>,
    key: &Bound<'_, PyAny>,
    has: &'static str,
    count: fn(&F, Digest) -> u32,
) -> PyResult<u32> {
    let (py, filter) = (filter.py(), filter.get());
    let digest = filter.digest_of(key)?;
    let count = |set: &dyn Set| {
        let one = set.as_any().downcast_ref().map(|filter| count(filter, digest));
        one.ok_or(not_of_kind(has, set.kind()))
    };
    let mapped = |_: &MappedFilter| Err(not_of_kind(has, Kind::Bloom));
    Ok(filter.read(py, |held| held.read(count, mapped))?)
}

fn not_of_kind(operation: &'static str, kind: Kind) -> Error {
    mayhap::Error::NotOfKind { operation, kind: kind.name() }.into()
}

#[pymethods]
impl Window {
    #[new]
    #[pyo3(signature = (*, items, target_fpp=0.01, seconds=None, seed=Amount(0), secret_key=None),
           text_signature = "(*, items, target_fpp=0.01, seconds=None, seed=0, secret_key=None)")]
    fn new(
        items: Items,
        target_fpp: f64,
        seconds: Option<f64>,
        seed: Amount,
        secret_key: Option<&Bound<'_, PyBytes>>,
    ) -> PyResult<PyClassInitializer<Self>> {
        let items = match items {
            Items::New(items) => items,
            Items::Again(filter) => return Ok(PyClassInitializer::from(filter).add_subclass(Self)),
        };
        let function = digest_function(seed.0, secret_key)?;
        let builder = WindowBloomFilter::builder().target_fpp(target_fpp).digest_function(function);
        let builder = match seconds {
            None => builder.window_items(items),
            Some(seconds) => builder.window_time(millis_of(seconds)?, items),
        };
        let set = builder.build().map_err(Error::from)?;
        // The command adds to a time window only if it knows the unit.
        let options = KeyOptions { unix_ms: seconds.is_some(), ..KeyOptions::default() };
        let held = Held::Memory(Box::new(set));
        let filter = Filter::new(held, OnFull::Warn, options.to_header());
        Ok(PyClassInitializer::from(filter).add_subclass(Self))
    }

    /// How old a key is, as (least, most): insertions ago, or seconds ago in time windows; None if
    /// it is surely not remembered.
    #[pyo3(signature = (key, /))]
    fn age(slf: &Bound<'_, Self>, key: &Bound<'_, PyAny>) -> PyResult<Option<(f64, f64)>> {
        let filter = slf.as_super().get();
        let digest = filter.digest_of(key)?;
        let age = |set: &dyn Set| {
            let (time, unit) = if is_of_time(set) { (now(), 1e-3) } else { (set.now(), 1.0) };
            let age = set.age(digest, time)?;
            Some((age.at_least as f64 * unit, age.at_most as f64 * unit))
        };
        Ok(filter.read(slf.py(), |held| held.read(age, |_| None)))
    }
}

/// A span in milliseconds, the unit of time windows.
fn millis_of(seconds: f64) -> PyResult<u64> {
    let span = Duration::try_from_secs_f64(seconds).ok();
    let millis = span.and_then(|span| u64::try_from(span.as_millis()).ok());
    millis.filter(|&millis| millis > 0).ok_or_else(|| {
        PyValueError::new_err(format!("seconds is {seconds}, must be at least 0.001 and finite"))
    })
}
