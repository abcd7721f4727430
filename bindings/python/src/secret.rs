//! Secret keys: 16 bytes that are in no file.

use mayhap::SecretKey;
use pyo3::exceptions::{PyOSError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::PyBytes;

/// Bytes in a secret key.
const SECRET_BYTES: usize = 16;

/// The key of these bytes.
///
/// # Errors
///
/// `ValueError` for another number of bytes.
pub(crate) fn parse(bytes: &Bound<'_, PyBytes>) -> PyResult<SecretKey> {
    let bytes = bytes.as_bytes();
    match bytes.try_into() {
        Ok(bytes) => Ok(SecretKey::new(bytes)),
        Err(_) => Err(PyValueError::new_err(format!(
            "a secret key has {SECRET_BYTES} bytes, not {}; new_secret_key() gives one",
            bytes.len()
        ))),
    }
}

/// Sixteen random bytes of the system, for ``secret_key``.
///
/// Store them separately from the filter: files do not contain them.
#[pyfunction]
pub(crate) fn new_secret_key(py: Python<'_>) -> PyResult<Bound<'_, PyBytes>> {
    let mut key = [0; SECRET_BYTES];
    getrandom::fill(&mut key).map_err(|error| PyOSError::new_err(error.to_string()))?;
    Ok(PyBytes::new(py, &key))
}
