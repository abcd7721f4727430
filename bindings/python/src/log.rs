//! Warnings about work that succeeded, written to Python's log.

use pyo3::prelude::*;

/// Logs a warning to the logger `mayhap_bloom`.
///
/// # Errors
///
/// The errors of the log's handlers.
pub(crate) fn log_warning(py: Python<'_>, text: String) -> PyResult<()> {
    let logger = py.import("logging")?.call_method1("getLogger", ("mayhap_bloom",))?;
    logger.call_method1("warning", ("%s", text)).map(drop)
}

/// Logs the notices of work with files since the last call, each once.
pub(crate) fn pass_on_notices(py: Python<'_>) {
    let mut texts = Vec::new();
    mayhap_store::notices(|notice| texts.push(notice.to_string()));
    for text in texts {
        // The work was done, and its result must not be lost to an error of a handler.
        if let Err(error) = log_warning(py, text) {
            error.write_unraisable(py, None);
        }
    }
}
