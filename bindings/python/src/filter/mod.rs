//! `Filter`: the operations that filters of all kinds share in Python.
//!
//! `class.rs` is the class, `batches.rs` its batches, `access.rs` its fields and single keys,
//! `shared.rs` the locking of the inner filter, `method_o.rs` its most frequent method for one key,
//! `view.rs` its bits as a buffer.

mod access;
mod batches;
mod class;
mod method_o;
mod shared;
mod view;

pub(crate) use access::Filter;
pub(crate) use batches::Batch;
pub(crate) use method_o::install_add;

use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;

/// The treatment of keys beyond a filter's capacity.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum OnFull {
    /// They are inserted, with one warning.
    Warn,
    /// They are refused.
    Raise,
    /// The filter grows: it is a scalable one.
    Grow,
}

impl OnFull {
    /// The name in Python.
    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::Warn => "warn",
            Self::Raise => "raise",
            Self::Grow => "grow",
        }
    }
}

impl<'py> FromPyObject<'_, 'py> for OnFull {
    type Error = PyErr;

    fn extract(object: Borrowed<'_, 'py, PyAny>) -> PyResult<Self> {
        match object.extract::<&str>()? {
            "warn" => Ok(Self::Warn),
            "raise" => Ok(Self::Raise),
            "grow" => Ok(Self::Grow),
            other => Err(PyValueError::new_err(format!(
                "on_full is {other:?}, must be \"warn\", \"raise\" or \"grow\""
            ))),
        }
    }
}
