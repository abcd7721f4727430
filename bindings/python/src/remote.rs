//! Filters on servers: Redis, Valkey, clusters of them, and `mayhap serve`.

use crate::batch::{Answers, Container, Keys, feed};
use crate::cut::Form;
use crate::error::{Error, ServerError};
use crate::foreign::Given;
use crate::log;
use mayhap::set::Repeats;
use mayhap::{Bitmap, SecretKey};
use mayhap_formats::{Format, KeyType};
use mayhap_redis::{
    BfOptions, Certificates, Error as RedisError, Found, NativeFilter, NativeOptions, find,
};
use mayhap_sets::TakesTexts;
use mayhap_sets::server::{
    self, Known, NativeSet, Opened, Origin, Plan, Reach, ServerSet, ServerUrl, wait,
};
use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::PyTuple;
use std::path::{Path, PathBuf};
use std::process;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// The number of keys that are sent to a server together; signals are handled in between.
const AT_ONCE: usize = 4096;

/// A filter on a server, opened by ``open`` or made by ``create``: one for many machines.
///
/// Every call is one round trip at least, so send many keys together. A key is new for only one of
/// all clients. Other threads of Python run while a call waits; they use this object in turns.
#[pyclass(frozen, module = "mayhap_bloom")]
pub(crate) struct Remote {
    set: Mutex<Box<dyn ServerSet>>,
    /// The URL, without the password.
    url: String,
    key_options: String,
    /// Their form of texts, if they have one.
    form: Option<Box<Form>>,
    /// Whether a number is hashed as its digits, as by systems whose keys have several types.
    numbers_are_text: bool,
    /// A child of this process has none of its threads.
    process: u32,
}

/// Facts about a filter on a server before it is opened.
///
/// # Errors
///
/// The errors of [`Given::known`]; `ValueError` for options that filters on servers do not have, or
/// record themselves.
fn known(given: &Given<'_>, secret_key: Option<SecretKey>) -> PyResult<Known> {
    if given.column.is_some() {
        let message = "column names one of a Parquet file; filters on servers have none";
        return Err(PyValueError::new_err(message));
    }
    let known = given.known()?;
    if known.shape.is_some() && !matches!(known.format, Some(Format::MagnusS | Format::MagnusRedis))
    {
        return Err(PyValueError::new_err(
            "num_bits and num_hashes are for a bitmap on a server, format=\"magnuss-redis\"; other \
             filters on servers record theirs",
        ));
    }
    Ok(Known { secret_key, ..known })
}

/// A number of seconds from an argument: a millisecond at least.
pub(crate) fn seconds_of(name: &str, seconds: f64) -> PyResult<Duration> {
    let span = Duration::try_from_secs_f64(seconds).ok();
    span.filter(|span| *span >= Duration::from_millis(1)).ok_or_else(|| {
        PyValueError::new_err(format!("{name} is {seconds}, must be at least 0.001 and finite"))
    })
}

/// The keywords that say how a server is reached.
pub(crate) struct Connecting {
    pub(crate) timeout: f64,
    pub(crate) tls_ca: Option<PathBuf>,
    pub(crate) tls_cert: Option<PathBuf>,
    pub(crate) tls_key: Option<PathBuf>,
}

impl Connecting {
    fn reach(&self) -> PyResult<Reach> {
        let timeout = seconds_of("timeout", self.timeout)?;
        if self.tls_cert.is_some() != self.tls_key.is_some() {
            let message = "tls_cert and tls_key are given together";
            return Err(PyValueError::new_err(message));
        }
        let client = self.tls_cert.as_deref().zip(self.tls_key.as_deref());
        let certificates = Certificates::open(self.tls_ca.as_deref(), client);
        let certificates = certificates.map_err(server::Error::Url).map_err(Error::from)?;
        Ok(Reach { timeout, certificates, ..Reach::default() })
    }
}

/// The server of a URL, and the name of the filter there.
fn connect(url: &str, reach: &Reach) -> Result<Origin, Error> {
    Ok(ServerUrl::of(Path::new(url))?.connect(reach)?)
}

/// The filter that a URL names.
fn attach(url: &str, known: &Known, reach: &Reach) -> Result<Opened, Error> {
    Ok(server::open(&connect(url, reach)?, known)?)
}

/// The filter that a URL names, which is created unless it exists with the same numbers.
fn attach_or_create(
    url: &str,
    (expected_items, target_fpp): (u64, f64),
    (ttl, reach): (Option<Duration>, &Reach),
) -> Result<Opened, Error> {
    let origin = connect(url, reach)?;
    let (server, name) = (&origin.server, &*origin.name);
    let begun = Instant::now();
    let fail = |source| server::Error::Redis { url: origin.url.clone(), source };
    let filters_only = match wait(find(server, name, None))? {
        Ok(Found::Bf(_) | Found::Nothing { filters_only: true }) => true,
        // Creating it reports the right error for the name.
        Ok(_) | Err(RedisError::Filter(_)) => false,
        Err(error) => return Err(fail(error).into()),
    };
    if filters_only {
        let plan = Plan::Bf(BfOptions::new(expected_items, target_fpp));
        let (set, _) = server::create(&origin, plan, (ttl, false), &Known::default())?;
        return Ok((set, None));
    }
    let options = NativeOptions { ttl, ..NativeOptions::for_items(expected_items, target_fpp)? };
    let filter = wait(NativeFilter::create(server, name, &options))?.map_err(fail)?;
    let (set, key_options) = NativeSet::new(&origin, filter, begun.elapsed())?;
    Ok((Box::new(set), Some(key_options)))
}

/// Create a filter on a server, or open the existing one with the same numbers.
///
/// ``url`` is ``redis://host:port/database/name``, or ``redis+cluster://host:port,host:port/name``;
/// ``rediss://`` and ``rediss+cluster://`` are with TLS. On Redis and Valkey the filter is a plain
/// one of mayhap's own layout; on ``mayhap serve``, and where the name holds one of ``BF``
/// commands, it is the server's. ``ttl`` is the number of seconds until it expires; ``timeout`` the
/// number that a call may take. For ``rediss://``, ``tls_ca`` names the file of an authority to
/// trust instead of those of the machine, and ``tls_cert`` and ``tls_key`` those of the certificate
/// that the server requires, as PEM.
///
/// Raises ServerError if there is another filter of this name, or the server cannot be used.
#[pyfunction]
#[pyo3(signature = (url, expected_items, target_fpp=0.01, *, ttl=None, timeout=30.0,
                    tls_ca=None, tls_cert=None, tls_key=None))]
#[expect(clippy::too_many_arguments, reason = "keywords of Python")]
pub(crate) fn create<'py>(
    py: Python<'py>,
    url: &str,
    expected_items: u64,
    target_fpp: f64,
    ttl: Option<f64>,
    timeout: f64,
    tls_ca: Option<PathBuf>,
    tls_cert: Option<PathBuf>,
    tls_key: Option<PathBuf>,
) -> PyResult<Bound<'py, PyAny>> {
    let reach = Connecting { timeout, tls_ca, tls_cert, tls_key }.reach()?;
    let ttl = ttl.map(|seconds| seconds_of("ttl", seconds)).transpose()?;
    let numbers = (expected_items, target_fpp);
    let opened = py.detach(|| attach_or_create(url, numbers, (ttl, &reach)))?;
    Ok(Bound::new(py, Remote::new(opened))?.into_any())
}

impl Remote {
    /// Opens the filter that a URL names.
    pub(crate) fn open<'py>(
        py: Python<'py>,
        url: &str,
        given: &Given<'_>,
        secret_key: Option<SecretKey>,
        connecting: &Connecting,
    ) -> PyResult<Bound<'py, PyAny>> {
        let (known, reach) = (known(given, secret_key)?, connecting.reach()?);
        let opened = py.detach(|| attach(url, &known, &reach))?;
        let types = opened.0.texts().map(TakesTexts::key_types);
        if let Some(types) = types.filter(|types| types.is_guess) {
            let (taken, others) = (types.taken, types.others.join(", "));
            let text = format!(
                "{}: its keys are taken to be of type {taken}, and may be of {others}: name it, as \
                 key_type=\"{taken}\"",
                opened.0.url()
            );
            log::log_warning(py, text)?;
        }
        Ok(Bound::new(py, Self::new(opened))?.into_any())
    }

    fn new((set, options): Opened) -> Self {
        let types = set.texts().map(TakesTexts::key_types);
        let key_options = options.unwrap_or_default().to_header();
        Self {
            url: set.url().to_owned(),
            form: Form::of(&key_options),
            key_options,
            numbers_are_text: types.is_some_and(|it| it.taken != KeyType::Bytes.name()),
            process: process::id(),
            set: Mutex::new(set),
        }
    }

    /// Calls `call` with the set, without the interpreter's lock.
    fn with<R: Send>(
        &self,
        py: Python<'_>,
        call: impl FnOnce(&mut dyn ServerSet) -> Result<R, Error> + Send,
    ) -> PyResult<R> {
        if self.process != process::id() {
            return Err(ServerError::new_err(
                "the filter belongs to the process that opened it; open it again after fork()",
            ));
        }
        Ok(py.detach(|| call(&mut **self.lock()))?)
    }

    fn lock(&self) -> MutexGuard<'_, Box<dyn ServerSet>> {
        self.set.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Calls `call` with parts of the keys.
    fn in_parts(
        &self,
        py: Python<'_>,
        keys: &Keys,
        mut call: impl FnMut(&mut dyn ServerSet, &[&[u8]], &mut Bitmap) -> Result<(), Error> + Send,
    ) -> PyResult<Answers> {
        let (all, mut answers) = (keys.iter().collect::<Vec<_>>(), Answers::default());
        let mut bitmap = Bitmap::new();
        for part in all.chunks(AT_ONCE) {
            self.with(py, |set| {
                call(set, part, &mut bitmap)?;
                check_keys(set, part)
            })?;
            answers.push(&bitmap);
            py.check_signals()?;
        }
        Ok(answers)
    }

    fn insert_all(&self, py: Python<'_>, keys: &Keys) -> PyResult<Answers> {
        self.in_parts(py, keys, |set, part, new| {
            Ok(set.insert_into(part.into(), Repeats::Renew, new)?)
        })
    }

    fn query_all(&self, py: Python<'_>, keys: &Keys) -> PyResult<Answers> {
        self.in_parts(py, keys, |set, part, found| Ok(set.contains_into(part.into(), found)?))
    }

    /// One key as the bytes that are sent.
    fn one(&self, key: &Bound<'_, PyAny>) -> PyResult<Keys> {
        let mut keys = self.no_keys()?;
        keys.push(key)?;
        Ok(keys)
    }

    fn no_keys(&self) -> Result<Keys, Error> {
        let cutting = self.form.as_ref().map(|form| form.cutting()).transpose()?;
        Ok(Keys::new(self.numbers_are_text, cutting))
    }

    fn many(&self, keys: &Bound<'_, PyAny>) -> PyResult<(Keys, Container)> {
        let mut sink = self.no_keys()?;
        let container = feed(keys, &mut sink)?;
        Ok((sink, container))
    }
}

/// Refuses texts that are no keys of the type that the system hashes.
fn check_keys(set: &dyn ServerSet, part: &[&[u8]]) -> Result<(), Error> {
    let Some(texts) = set.texts() else { return Ok(()) };
    match texts.not_keys().first() {
        Some(&first) => Err(Error::NotAKey {
            key: String::from_utf8_lossy(part[first]).into_owned(),
            key_type: texts.key_types().taken,
        }),
        None => Ok(()),
    }
}

#[pymethods]
impl Remote {
    fn __contains__(&self, key: &Bound<'_, PyAny>) -> PyResult<bool> {
        Ok(self.query_all(key.py(), &self.one(key)?)?.count() == 1)
    }

    /// Insert a key; True if it is new: surely not in the filter before.
    ///
    /// A key that was resent after a lost reply counts as new: ``unsure`` has their number. Raises
    /// ServerError if the server cannot be used; the key may be in it then.
    #[pyo3(signature = (key, /))]
    fn add(&self, key: &Bound<'_, PyAny>) -> PyResult<bool> {
        Ok(self.insert_all(key.py(), &self.one(key)?)?.count() == 1)
    }

    /// Insert all keys of an iterable, array or column.
    #[pyo3(signature = (*keys))]
    fn update(&self, keys: &Bound<'_, PyTuple>) -> PyResult<()> {
        keys.iter().try_for_each(|keys| {
            let (many, _) = self.many(&keys)?;
            self.insert_all(keys.py(), &many).map(|_| ())
        })
    }

    /// Insert many keys; for each, in order, whether it was new, in the kind of the input.
    #[pyo3(signature = (keys, /))]
    fn add_many<'py>(&self, keys: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
        let (many, container) = self.many(keys)?;
        self.insert_all(keys.py(), &many)?.into_object(keys, container)
    }

    /// For each of many keys, in order, whether it may be in the filter, in the kind of the input.
    #[pyo3(signature = (keys, /))]
    fn contains_many<'py>(&self, keys: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
        let (many, container) = self.many(keys)?;
        self.query_all(keys.py(), &many)?.into_object(keys, container)
    }

    /// The number of keys that may be in the filter.
    #[pyo3(signature = (keys, /))]
    fn count_many(&self, keys: &Bound<'_, PyAny>) -> PyResult<usize> {
        Ok(self.query_all(keys.py(), &self.many(keys)?.0)?.count())
    }

    /// Remove a key, where the filter counts: one of kind compact or counting on ``mayhap serve``.
    #[pyo3(signature = (key, /))]
    fn remove(&self, key: &Bound<'_, PyAny>) -> PyResult<bool> {
        let keys = self.one(key)?;
        let removed = self.in_parts(key.py(), &keys, |set, part, removed| {
            if !set.capabilities().removes {
                let kind = set.scheme();
                return Err(mayhap::Error::NotOfKind { operation: "counters", kind }.into());
            }
            Ok(set.remove_into(part.into(), removed)?)
        })?;
        Ok(removed.count() == 1)
    }

    /// Forget all keys; the parameters and the time to live stay.
    fn clear(&self, py: Python<'_>) -> PyResult<()> {
        self.with(py, |set| Ok(set.clear()?))
    }

    /// Delete the filter on the server; True if it still existed.
    fn delete(&self, py: Python<'_>) -> PyResult<bool> {
        self.with(py, |set| Ok(set.delete()?))
    }

    /// Let the filter expire this many seconds from now; None: never.
    #[pyo3(signature = (seconds, /))]
    fn expire(&self, py: Python<'_>, seconds: Option<f64>) -> PyResult<()> {
        let after = seconds.map(|seconds| seconds_of("seconds", seconds)).transpose()?;
        self.with(py, |set| Ok(set.expire(after)?))
    }

    /// The kind: "remote".
    #[getter]
    fn kind(&self) -> &'static str {
        "remote"
    }

    /// The URL, without the password.
    #[getter]
    fn url(&self) -> &str {
        &self.url
    }

    /// The system that the filter belongs to: "mayhap", "bf", "redisson" or "magnuss-redis".
    #[getter]
    fn scheme(&self, py: Python<'_>) -> PyResult<&'static str> {
        self.with(py, |set| Ok(set.scheme()))
    }

    /// The keys in it: counted by the server, or estimated from its bits, which it counts.
    #[getter]
    fn count(&self, py: Python<'_>) -> PyResult<u64> {
        self.with(py, |set| {
            set.refresh()?;
            Ok(set.items())
        })
    }

    /// The rate now, by the bits on the server.
    #[getter]
    fn fpp(&self, py: Python<'_>) -> PyResult<f64> {
        self.with(py, |set| {
            set.refresh()?;
            Ok(set.state().estimated_fpp)
        })
    }

    /// The number of distinct keys that it was created for; None if it grows, or does not report
    /// it.
    #[getter]
    fn expected_items(&self, py: Python<'_>) -> PyResult<Option<u64>> {
        self.with(py, |set| Ok(set.numbers(Repeats::Renew).capacity))
    }

    /// The false-positive rate that was promised; NaN if the server does not report it.
    #[getter]
    fn target_fpp(&self, py: Python<'_>) -> PyResult<f64> {
        self.with(py, |set| Ok(set.numbers(Repeats::Renew).target_fpp))
    }

    /// "ok", "near capacity" or "over capacity".
    #[getter]
    fn health(&self, py: Python<'_>) -> PyResult<&'static str> {
        self.with(py, |set| {
            set.refresh()?;
            Ok(set.state().health.name())
        })
    }

    /// The memory of the bits on the server.
    #[getter]
    fn num_bytes(&self, py: Python<'_>) -> PyResult<u64> {
        self.with(py, |set| Ok(set.numbers(Repeats::Renew).num_bytes))
    }

    /// Seconds until it expires, as of the last look-up; None if it does not.
    #[getter]
    fn ttl(&self, py: Python<'_>) -> PyResult<Option<f64>> {
        self.with(py, |set| {
            set.refresh()?;
            Ok(set.seen().ttl_ms.map(|millis| millis as f64 / 1000.0))
        })
    }

    /// Keys that were resent after a lost reply, and so count as new.
    #[getter]
    fn unsure(&self, py: Python<'_>) -> PyResult<u64> {
        self.with(py, |set| Ok(set.remote().map_or(0, |remote| remote.unsure_keys)))
    }

    /// Keys that went into a filter that another client has replaced since (``push --force``,
    /// ``clear``): they are in the new one only if it was made with them. The keys of one call are
    /// always in one filter.
    #[getter]
    fn replaced(&self, py: Python<'_>) -> PyResult<u64> {
        self.with(py, |set| {
            set.refresh()?;
            Ok(set.remote().map_or(0, |remote| remote.replaced_keys))
        })
    }

    /// The options by which the command cuts keys out of lines for this filter; "" if lines are
    /// keys.
    #[getter]
    fn key_options(&self) -> &str {
        &self.key_options
    }

    fn __reduce__<'py>(slf: &Bound<'py, Self>) -> PyResult<Bound<'py, PyTuple>> {
        let _ = slf;
        Err(PyTypeError::new_err(
            "a filter on a server is not pickled: open it by its URL in the other process",
        ))
    }

    fn __repr__(&self) -> String {
        format!("<mayhap_bloom.Remote: {}>", self.url)
    }
}
