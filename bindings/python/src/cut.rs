//! Key options: how the command cuts keys out of lines, kept in a filter's file.

use mayhap_keys::{Cutter, KeyOptions};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::PyBytes;

/// The options in a header's text.
///
/// # Errors
///
/// `ValueError` for unknown options and values.
pub(crate) fn options(text: &str) -> PyResult<KeyOptions> {
    KeyOptions::from_header("key_options", text)
        .map_err(|error| PyValueError::new_err(error.to_string()))
}

/// The key of a line by these options; `None` if it has none.
///
/// # Errors
///
/// As [`options`].
pub(crate) fn cut<'py>(
    py: Python<'py>,
    text: &str,
    line: &[u8],
) -> PyResult<Option<Bound<'py, PyBytes>>> {
    let options = options(text)?;
    let Some(mut cutter) = Cutter::new(&options) else {
        return Ok(Some(PyBytes::new(py, options.without_cr(line))));
    };
    let mut key = Vec::new();
    Ok(cutter.cut(line, &mut key).is_ok().then(|| PyBytes::new(py, &key)))
}
