//! What a program should know though the work was done: said in Python's log.

use pyo3::prelude::*;

/// Says in the log `mayhap_bloom` what nobody has to act on.
///
/// # Errors
///
/// What a handler of the log raises.
pub(crate) fn log_warning(py: Python<'_>, text: String) -> PyResult<()> {
    let logger = py.import("logging")?.call_method1("getLogger", ("mayhap_bloom",))?;
    logger.call_method1("warning", ("%s", text)).map(drop)
}

/// Says what work with files has met since the last call, each once.
pub(crate) fn pass_on_notices(py: Python<'_>) {
    let mut texts = Vec::new();
    mayhap_store::notices(|notice| texts.push(notice.to_string()));
    for text in texts {
        // The work was done, and its result is not lost for what a handler raises.
        if let Err(error) = log_warning(py, text) {
            error.write_unraisable(py, None);
        }
    }
}
