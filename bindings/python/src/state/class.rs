//! The class `State`.

use super::kept::Kept;
use super::set::StateSet;
use super::turns::{Turn, Turns, after, options};
use crate::error::Error;
use crate::filter::{Filter, OnFull};
use crate::held::{Held, is_of_time};
use crate::{cut, fork, open, secret};
use mayhap::SecretKey;
use mayhap::set::Set;
use mayhap_store::{Error as StoreError, Session};
use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyTuple};
use std::io;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

/// A filter that is kept in a file while it changes: added keys survive kill -9.
///
/// Every ``add`` is recorded in a log beside the file before it returns, and the file is written at
/// the end of the ``with`` block. Any number of processes and the command (``mayhap dedup
/// --state``, ``mayhap add``) may change one file at once: they take turns, and a key is new for
/// only one of them. ``in`` answers from the keys known to this process: after ``add`` or
/// ``refresh``, all of them.
///
/// ``create`` is the filter that a file begins with if there is none; without it, FileNotFoundError
/// is raised. ``lock_timeout`` is the number of seconds that a change waits for other processes
/// before it raises TimeoutError.
///
/// >>> with State("seen.mayhap", create=Scalable(1000, 1e-6)) as seen:
/// ...     seen.add("a"), seen.add("a")
/// (True, False)
/// >>> with State("seen.mayhap") as seen:
/// ...     "a" in seen, seen.add_many(["a", "b"])
/// (True, [False, True])
#[pyclass(frozen, extends = Filter, subclass, module = "mayhap_bloom")]
pub(crate) struct State {
    path: PathBuf,
}

/// The contents of a new file.
struct First {
    set: Box<dyn Set>,
    key_options: String,
}

/// Opens or creates a state; one attempt.
fn open_once(
    path: &Path,
    secret_key: Option<SecretKey>,
    first: Option<&First>,
) -> Result<(Kept, Session), Error> {
    let opening = match (Session::open(path, options()), first) {
        (Err(StoreError::Io { source, .. }), Some(first))
            if source.kind() == io::ErrorKind::NotFound =>
        {
            let mut kept = Kept::new(first.set.copy()?)?;
            return match Session::create(path, options(), &mut kept, &first.key_options) {
                Ok(session) => Ok((kept, session)),
                // Another process has just created it.
                Err(StoreError::Exists { .. }) => open_once(path, secret_key, None),
                Err(error) => Err(error.into()),
            };
        }
        (opening, _) => opening?,
    };
    let mut kept = Kept::load(opening.image(), secret_key)?;
    let (session, _) = opening.follow(&mut kept)?;
    Ok((kept, session))
}

/// An opened state.
struct Open {
    set: StateSet,
    path: PathBuf,
    key_options: String,
}

/// Repeats [`open_once`] while another process holds the lock.
fn open_patiently(
    py: Python<'_>,
    path: &Path,
    secret_key: Option<SecretKey>,
    first: Option<&First>,
    timeout: Duration,
) -> PyResult<Open> {
    let begun = Instant::now();
    let open = || {
        let (kept, session) = open_once(path, secret_key, first)?;
        let (path, key_options) = (session.path().to_owned(), session.key_options().to_owned());
        // Registered before the next fork, so that its child knows the files to close.
        let set = StateSet(Turns::begin(kept, session, timeout).map_err(PyErr::from)?);
        Ok::<_, Error>(Open { set, path, key_options })
    };
    loop {
        match fork::detached(py, open) {
            Err(Error::Store(error @ StoreError::Locked { .. })) => {
                let waited = begun.elapsed();
                if waited >= timeout {
                    return Err(Error::Store(after(error, waited)).into());
                }
                py.check_signals()?;
            }
            opened => return Ok(opened?),
        }
    }
}

/// A number of seconds to wait.
fn timeout_of(seconds: f64) -> PyResult<Duration> {
    Duration::try_from_secs_f64(seconds).map_err(|_| {
        PyValueError::new_err(format!("lock_timeout is {seconds}, must be 0 or more, and finite"))
    })
}

/// Time windows of unknown unit cannot be added to.
fn check_time(set: &dyn Set, key_options: &str) -> PyResult<()> {
    if is_of_time(set) && !cut::options(key_options)?.unix_ms {
        return Err(PyValueError::new_err(
            "the file is a time window with an unknown unit; create it with Window(seconds=...) \
             or with the command",
        ));
    }
    Ok(())
}

impl State {
    /// Calls `call` with the state inside, and again while it waits for other processes.
    fn with<R: Send>(
        slf: &Bound<'_, Self>,
        mut call: impl FnMut(&StateSet) -> Result<R, Error> + Send,
    ) -> PyResult<R> {
        slf.as_super().get().change_patiently(slf.py(), |held| match held {
            Held::State(state) => call(state),
            held => {
                let kind = held.kind().name();
                Err(mayhap::Error::NotOfKind { operation: "state", kind }.into())
            }
        })
    }

    /// Like [`State::with`], for changes.
    fn change<R: Send>(
        slf: &Bound<'_, Self>,
        mut change: impl FnMut(&mut Turn) -> Result<R, Error> + Send,
    ) -> PyResult<R> {
        Self::with(slf, |state| state.change(&mut change))
    }
}

#[pymethods]
impl State {
    #[new]
    #[pyo3(signature = (path, *, create=None, secret_key=None, on_full=OnFull::Warn,
                        lock_timeout=60.0),
           text_signature = "(path, *, create=None, secret_key=None, on_full=\"warn\", \
                             lock_timeout=60.0)")]
    fn new(
        py: Python<'_>,
        path: PathBuf,
        create: Option<&Bound<'_, Filter>>,
        secret_key: Option<&Bound<'_, PyBytes>>,
        on_full: OnFull,
        lock_timeout: f64,
    ) -> PyResult<PyClassInitializer<Self>> {
        let secret_key = secret_key.map(secret::parse).transpose()?;
        let timeout = timeout_of(lock_timeout)?;
        let first = create.map(|filter| -> PyResult<First> {
            let key_options = filter.get().key_options.clone();
            Ok(First { set: filter.get().native_copy(py)?, key_options })
        });
        let first = first.transpose()?;
        let open = open_patiently(py, &path, secret_key, first.as_ref(), timeout)?;
        let Open { set, path, key_options } = open;
        set.read(|set| check_time(set, &key_options))?;
        let on_full = set.read(|set| open::on_full_of(set, on_full))?;
        let filter = Filter::new(Held::State(set), on_full, key_options);
        Ok(PyClassInitializer::from(filter).add_subclass(Self { path }))
    }

    fn __enter__(slf: Bound<'_, Self>) -> Bound<'_, Self> {
        slf
    }

    #[pyo3(signature = (exc_type, exc_value, traceback, /))]
    fn __exit__(
        slf: &Bound<'_, Self>,
        exc_type: &Bound<'_, PyAny>,
        exc_value: &Bound<'_, PyAny>,
        traceback: &Bound<'_, PyAny>,
    ) -> PyResult<()> {
        let _ = (exc_type, exc_value, traceback);
        Self::close(slf)
    }

    /// Write the file in place of its log, unless other processes continue with the log.
    ///
    /// Afterwards nothing can be added. ``with`` calls it at its end.
    fn close(slf: &Bound<'_, Self>) -> PyResult<()> {
        Self::with(slf, |state| state.close())
    }

    /// Write the file in place of its log, safe from power cuts.
    fn checkpoint(slf: &Bound<'_, Self>) -> PyResult<()> {
        Self::change(slf, Turn::checkpoint)
    }

    /// Make added keys survive a power cut; they survive kill -9 in any case.
    fn sync(slf: &Bound<'_, Self>) -> PyResult<()> {
        Self::change(slf, Turn::sync)
    }

    /// Load keys added by other processes, for ``in``; ``add`` does it anyway.
    fn refresh(slf: &Bound<'_, Self>) -> PyResult<()> {
        Self::change(slf, |_| Ok(()))
    }

    /// Remove a key from a state of the kind "compact" or "counting"; False if it surely is not
    /// there.
    #[pyo3(signature = (key, /))]
    fn remove(slf: &Bound<'_, Self>, key: &Bound<'_, PyAny>) -> PyResult<bool> {
        let digest = slf.as_super().get().digest_of(key)?;
        Self::change(slf, |turn| turn.remove(digest))
    }

    /// The file, with symbolic links followed.
    #[getter]
    fn path(&self) -> PathBuf {
        self.path.clone()
    }

    fn __reduce__<'py>(slf: &Bound<'py, Self>) -> PyResult<Bound<'py, PyTuple>> {
        let _ = slf;
        Err(PyTypeError::new_err(
            "a state is not pickled: open it by its path in the other process, or send a copy()",
        ))
    }
}
