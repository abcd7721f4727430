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
/// `BufferError` for views to write to, and for filters whose bits are not one piece of memory.
///
/// # Safety
///
/// `view` is what the interpreter passes to `__getbuffer__`.
pub(super) unsafe fn fill(
    filter: &Bound<'_, Filter>,
    view: *mut ffi::Py_buffer,
    flags: c_int,
) -> PyResult<()> {
    let this = filter.get();
    let set = this.read(filter.py());
    let Some(bits) = set.bits() else {
        let message = match set.stats().kind {
            "bloom" => "a mapped filter has no buffer: its file can change",
            kind => &format!("the bits of a {kind} filter are not one piece of memory"),
        };
        return Err(PyBufferError::new_err(message.to_owned()));
    };
    // SAFETY: `view` is room for a buffer, by the caller. The memory is that of the filter, which
    // the view keeps alive by its reference; while there is a view nobody changes the filter or
    // moves its bits (`Error::Exported`).
    let code = unsafe {
        let len = bits.len() as ffi::Py_ssize_t;
        let start = bits.as_ptr().cast_mut().cast();
        ffi::PyBuffer_FillInfo(view, filter.as_ptr(), start, len, 1, flags)
    };
    if code == -1 {
        return Err(PyErr::fetch(filter.py()));
    }
    this.begin_view(&set);
    Ok(())
}
