//! The bits of a filter as a read-only buffer.
#![expect(unsafe_code, reason = "the buffer protocol hands out a pointer")]

use super::Filter;
use pyo3::exceptions::PyBufferError;
use pyo3::ffi;
use pyo3::prelude::*;
use std::ffi::c_int;

/// Fills `view` with the bits of `filter`.
///
/// # Errors
///
/// `BufferError` for writable views, and for filters whose bits are not one piece of memory.
///
/// # Safety
///
/// `view` is the argument that the interpreter passes to `__getbuffer__`.
pub(super) unsafe fn fill(
    filter: &Bound<'_, Filter>,
    view: *mut ffi::Py_buffer,
    flags: c_int,
) -> PyResult<()> {
    let this = filter.get();
    let py = filter.py();
    let bits = this.read(py, |held| {
        let bits = held.bits().map(|bits| (bits.as_ptr(), bits.len()));
        if bits.is_some() {
            this.set.begin_view();
        }
        bits.ok_or(held.kind().name())
    });
    let (start, len) = bits.map_err(|kind| match kind {
        "bloom" => PyBufferError::new_err(
            "a mapped filter, or a state, has no buffer: its file can change",
        ),
        _ => PyBufferError::new_err(format!("the bits of a {kind} filter are in pieces")),
    })?;
    // SAFETY: `view` is room for a buffer, by the caller. The memory belongs to the filter, which
    // the view keeps alive by its reference; while there is a view the filter is not changed and
    // its bits are not moved (`Error::Exported`).
    let code = unsafe {
        let len = len as ffi::Py_ssize_t;
        ffi::PyBuffer_FillInfo(view, filter.as_ptr(), start.cast_mut().cast(), len, 1, flags)
    };
    if code == -1 {
        this.set.end_view();
        return Err(PyErr::fetch(py));
    }
    Ok(())
}
