//! Numbers that are arguments.

use crate::error::NumberError;
use crate::filter::Filter;
use crate::open::Contents;
use pyo3::exceptions::PyOverflowError;
use pyo3::prelude::*;

/// A number from 0 to 2^64 - 1: `ValueError` beyond, as for all numbers that no filter has.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Amount(pub u64);

impl<'py> FromPyObject<'_, 'py> for Amount {
    type Error = PyErr;

    fn extract(object: Borrowed<'_, 'py, PyAny>) -> PyResult<Self> {
        object.extract::<u64>().map(Self).map_err(|error| {
            if error.is_instance_of::<PyOverflowError>(object.py()) {
                return NumberError::new_err(format!("{} is not from 0 to 2**64 - 1", *object));
            }
            error
        })
    }
}

/// The number of keys for a new filter; or the contents of a filter that is restored.
pub(crate) enum Items {
    /// The amount for this many keys.
    New(u64),
    /// The restored filter.
    Again(Filter),
}

impl<'py> FromPyObject<'_, 'py> for Items {
    type Error = PyErr;

    fn extract(object: Borrowed<'_, 'py, PyAny>) -> PyResult<Self> {
        match Contents::of(&object) {
            Some(filter) => Ok(Self::Again(filter)),
            None => Ok(Self::New(object.extract::<Amount>()?.0)),
        }
    }
}
