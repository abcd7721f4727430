//! Errors of the library as exceptions of Python.

use crate::hints;
use pyo3::exceptions::{
    PyBufferError, PyFileNotFoundError, PyMemoryError, PyOSError, PyTimeoutError, PyTypeError,
    PyValueError,
};
use pyo3::prelude::*;
use std::path::PathBuf;

// Classes of Python, since some have two bases.
pyo3::import_exception!(mayhap_bloom._errors, FilterFullError);
pyo3::import_exception!(mayhap_bloom._errors, FilterFullWarning);
pyo3::import_exception!(mayhap_bloom._errors, FormatError);
pyo3::import_exception!(mayhap_bloom._errors, IncompatibleError);
pyo3::import_exception!(mayhap_bloom._errors, NumberError);
pyo3::import_exception!(mayhap_bloom._errors, ReadOnlyError);
pyo3::import_exception!(mayhap_bloom._errors, ServerError);

/// The reason why an operation of a filter failed.
#[derive(Debug)]
pub(crate) enum Error {
    /// The library refused.
    Filter(mayhap::Error),
    /// A file could not be read, written or trusted.
    Store(mayhap_store::Error),
    /// A filter of another system refused.
    Format(mayhap_formats::Error),
    /// A new key for a filter that is full.
    Full {
        /// The number of keys that the filter was created for.
        expected_items: u64,
    },
    /// New keys for a filter of another system that is full.
    FullForeign {
        /// The reason why it counts as full.
        why: String,
    },
    /// A filter that cannot be changed.
    ReadOnly {
        /// The reason.
        reason: &'static str,
    },
    /// Two filters of unlike kinds.
    UnlikeKinds {
        /// The kind of the filter on the left.
        left: &'static str,
        /// The kind of the other one.
        right: &'static str,
    },
    /// A change while memoryviews of the bits exist.
    Exported {
        /// Their number.
        views: usize,
    },
    /// A table was opened without the name of a column.
    NoColumn {
        /// The file.
        name: String,
        /// Its columns that have filters.
        columns: Vec<String>,
    },
    /// A file of another system is not sound.
    FormatOf {
        /// The file.
        name: String,
        /// The defect found.
        source: mayhap_formats::Error,
    },
    /// A file of another system cannot be used.
    Foreign(String),
    /// No format of another system was recognised, or more than one.
    UnknownFormat {
        /// The file.
        path: PathBuf,
        /// The formats that it may be of.
        candidates: Vec<&'static str>,
    },
    /// A filter on a server could not be used.
    Server(Box<mayhap_sets::server::Error>),
    /// A set of keys refused.
    Refused(String),
    /// A text is no key of the type that a system hashes.
    NotAKey {
        /// The text.
        key: String,
        /// The type.
        key_type: &'static str,
    },
    /// A text has no key in the form of a filter's keys.
    NoValue {
        /// The text.
        value: String,
        /// The form, as in the header.
        key_options: String,
    },
    /// Texts have no key in the form of a filter's keys that is known here.
    NoForm {
        /// The form, as in the header.
        key_options: String,
    },
    /// Another process holds the lock of a state: the call has changed nothing, and is repeated.
    Waiting,
    /// Python raised it.
    Python(PyErr),
}

impl From<mayhap::Error> for Error {
    fn from(error: mayhap::Error) -> Self {
        Self::Filter(error)
    }
}

impl From<mayhap_store::Error> for Error {
    fn from(error: mayhap_store::Error) -> Self {
        Self::Store(error)
    }
}

impl From<mayhap_formats::Error> for Error {
    fn from(error: mayhap_formats::Error) -> Self {
        Self::Format(error)
    }
}

impl From<mayhap_sets::file::Error> for Error {
    fn from(error: mayhap_sets::file::Error) -> Self {
        use mayhap_sets::file::Error as E;
        match error {
            E::Store(error) => Self::Store(error),
            E::Io { source, .. } => Self::Python(source.into()),
            E::IsColumn { .. } => Self::ReadOnly {
                reason: "the filter is that of a column, and belongs to the rows of its file",
            },
            E::NoColumnNamed { name, columns } => Self::NoColumn { name, columns },
            E::Ambiguous { name, candidates } => Self::UnknownFormat {
                path: name.into(),
                candidates: candidates.iter().map(|it| it.format.name()).collect(),
            },
            E::Format { name, source } => Self::FormatOf { name, source },
            error => Self::Foreign(hints::with(error.to_string(), hints::of_file(&error))),
        }
    }
}

impl From<mayhap_sets::server::Error> for Error {
    fn from(error: mayhap_sets::server::Error) -> Self {
        Self::Server(Box::new(error))
    }
}

impl From<mayhap_sets::Error> for Error {
    fn from(error: mayhap_sets::Error) -> Self {
        use mayhap_sets::Error as E;
        match error {
            E::Filter(error) => Self::Filter(error),
            E::Store(error) => Self::Store(error),
            E::Foreign(error) => (*error).into(),
            E::Server(error) => Self::Server(error),
            error => Self::Refused(error.to_string()),
        }
    }
}

/// Errors of single keys are boxed: at their size, they would be copied with every answer.
impl From<Box<Error>> for Error {
    fn from(error: Box<Error>) -> Self {
        *error
    }
}

impl From<Box<Error>> for PyErr {
    #[cold]
    fn from(error: Box<Error>) -> Self {
        Self::from(*error)
    }
}

impl From<PyErr> for Error {
    fn from(error: PyErr) -> Self {
        Self::Python(error)
    }
}

impl From<Error> for PyErr {
    fn from(error: Error) -> Self {
        match error {
            Error::Python(error) => error,
            Error::Filter(error) => of_filter(&error),
            Error::Store(error) => of_store(error),
            Error::Format(error) => of_format(&error, error.to_string()),
            Error::FormatOf { name, source } => of_format(&source, format!("{name}: {source}")),
            Error::Full { expected_items } => FilterFullError::new_err(format!(
                "the filter is full: it was created for {expected_items} keys; create a larger \
                 one, or use on_full=\"grow\" or on_full=\"warn\""
            )),
            Error::FullForeign { why } => FilterFullError::new_err(format!(
                "the filter is full: {why}; create a larger one, or open it with on_full=\"warn\""
            )),
            Error::ReadOnly { reason } => ReadOnlyError::new_err(reason),
            Error::UnlikeKinds { left, right } => IncompatibleError::new_err(format!(
                "a {left} filter and a {right} filter cannot be united"
            )),
            Error::Server(error) => of_server(&error),
            Error::Refused(message) => ServerError::new_err(message),
            Error::NotAKey { key, key_type } => {
                PyValueError::new_err(format!("{key:?} is no key of the type {key_type}"))
            }
            Error::NoValue { value, key_options } => PyValueError::new_err(format!(
                "{value:?} has no key in this filter, whose keys are cut by {}",
                key_options.trim_end().replace('\n', ", ")
            )),
            Error::NoForm { key_options } => PyValueError::new_err(format!(
                "the keys of this filter are cut by {}, which a str is not; query bytes, as \
                 cut(line) gives them",
                key_options.trim_end().replace('\n', ", ")
            )),
            Error::Waiting => PyTimeoutError::new_err("another process is changing the state"),
            Error::Exported { views } => PyBufferError::new_err(format!(
                "the filter cannot change while {views} memoryviews of its bits exist; release \
                 them first"
            )),
            Error::NoColumn { name, columns } => FormatError::new_err(format!(
                "{name} is a table: name a column, as column={:?}; there are {}",
                columns.first().map_or("id", String::as_str),
                columns.join(", ")
            )),
            Error::Foreign(message) => FormatError::new_err(message),
            Error::UnknownFormat { path, candidates } if candidates.is_empty() => {
                FormatError::new_err(format!(
                    "{}: neither a mayhap filter nor one of a system that is recognised; name \
                     the format, as format=\"guava\"",
                    path.display()
                ))
            }
            Error::UnknownFormat { path, candidates } => FormatError::new_err(format!(
                "{}: may be of several systems ({}); name the format",
                path.display(),
                candidates.join(", ")
            )),
        }
    }
}

fn of_server(error: &mayhap_sets::server::Error) -> PyErr {
    use mayhap_sets::server::Error as E;
    match error {
        E::Redis { url, .. } if error.is_not_found() => PyFileNotFoundError::new_err(format!(
            "{url}: there is no filter of this name; create() makes one"
        )),
        E::NotText { .. } | E::NotAUrl { .. } | E::Url(_) | E::NoName { .. } => {
            PyValueError::new_err(hints::with(error.to_string(), hints::of_server(error)))
        }
        _ => ServerError::new_err(hints::with(error.to_string(), hints::of_server(error))),
    }
}

fn of_filter(error: &mayhap::Error) -> PyErr {
    use mayhap::Error as E;
    let message = hints::with(error.to_string(), hints::of_filter(error));
    match error {
        E::NotOfKind {
            operation: "insert" | "clear" | "union" | "shrink",
            kind: kind @ ("fuse" | "ribbon"),
        } => {
            let text = format!("a {kind} filter never changes; build one from all keys");
            ReadOnlyError::new_err(text)
        }
        E::NotOfKind { operation: "union", kind: "window" } => {
            PyTypeError::new_err("a window filter has no union: its keys have an order")
        }
        E::NotOfKind { operation, kind } => {
            PyTypeError::new_err(format!("a {kind} filter has no {operation}"))
        }
        E::OutOfMemory { .. } => PyMemoryError::new_err(message),
        E::Full { expected_items, .. } => FilterFullError::new_err(format!(
            "the filter is full: it was created for {expected_items} copies of keys; create a \
             larger one, or use on_full=\"grow\""
        )),
        E::Incompatible { .. } => IncompatibleError::new_err(message),
        E::NotAFilter
        | E::NewerVersion { .. }
        | E::WrongLength { .. }
        | E::HeaderDamaged
        | E::PackedDamaged
        | E::ShortDamaged
        | E::IdentityDamaged
        | E::BadField { .. }
        | E::PageDamaged { .. }
        | E::WrongKind { .. }
        | E::NotKeyed
        | E::WrongKey { .. } => FormatError::new_err(message),
        _ => PyValueError::new_err(message),
    }
}

fn of_store(error: mayhap_store::Error) -> PyErr {
    use mayhap_store::Error as E;
    let message = hints::with(error.to_string(), hints::of_store(&error));
    match error {
        // The exception of the system's own error: FileNotFoundError, PermissionError and so on.
        E::Io { action, ref path, ref source, .. } => match source.raw_os_error() {
            Some(code) => {
                // Python adds the path and the code.
                let text = source.to_string();
                let text = text.split(" (os error").next().unwrap_or_default().to_owned();
                let text = format!("cannot {action}: {text}");
                PyOSError::new_err((code, text, path.as_os_str().to_owned()))
            }
            None => PyOSError::new_err(message),
        },
        E::Format { ref source, .. } if matches!(source, mayhap::Error::OutOfMemory { .. }) => {
            PyMemoryError::new_err(message)
        }
        E::Format { .. } | E::Foreign { .. } | E::LogDamaged { .. } | E::DigestsDamaged { .. } => {
            FormatError::new_err(message)
        }
        E::SegmentsUnlike { .. } => IncompatibleError::new_err(message),
        E::SegmentsMissing { .. } | E::SegmentsOverlap { .. } => PyValueError::new_err(message),
        E::Locked { .. } => PyTimeoutError::new_err(message),
        E::Exists { .. } => pyo3::exceptions::PyFileExistsError::new_err(message),
        _ => PyOSError::new_err(message),
    }
}

fn of_format(error: &mayhap_formats::Error, message: String) -> PyErr {
    use mayhap_formats::Error as E;
    let message = hints::with(message, hints::of_format(error));
    match error {
        E::Incompatible { .. } => IncompatibleError::new_err(message),
        E::OutOfMemory { .. } => PyMemoryError::new_err(message),
        E::Io { .. } => PyOSError::new_err(message),
        E::BadKey { .. } | E::Refused { .. } | E::WrongKeyType { .. } => {
            PyValueError::new_err(message)
        }
        _ => FormatError::new_err(message),
    }
}
