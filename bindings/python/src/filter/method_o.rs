//! `add` as a method of exactly one argument.
//!
//! `PyO3` gives methods the calling convention for many arguments, which costs as much as the
//! insertion itself. This adds a method with the convention `METH_O` to the class: the interpreter
//! calls it with the object and the key, and has checked the object.
#![expect(unsafe_code, reason = "a method of a calling convention that PyO3 does not offer")]

use super::Filter;
use crate::key;
use pyo3::exceptions::PyRuntimeError;
use pyo3::ffi;
use pyo3::prelude::*;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::ptr;

/// The definition of a method, which the class refers to forever.
struct Definition(ffi::PyMethodDef);

// SAFETY: it is never written to.
unsafe impl Sync for Definition {}

static ADD: Definition = Definition(ffi::PyMethodDef {
    ml_name: c"add".as_ptr(),
    ml_meth: ffi::PyMethodDefPointer { PyCFunction: add },
    ml_flags: ffi::METH_O,
    ml_doc: c"add($self, key, /)\n--\n\n\
        Insert a key; True if it is new: surely not in the filter before.\n\n\
        False means that it was inserted before, or is one of the false positives.\n\
        Raises TypeError for what is no key, FilterFullError with on_full=\"raise\".\n\n\
        >>> seen = Bloom(1000, 1e-6)\n\
        >>> seen.add(\"a\"), seen.add(\"a\")\n\
        (True, False)\n"
        .as_ptr(),
});

/// Adds `add` to the class.
///
/// # Errors
///
/// The errors of the interpreter.
pub(crate) fn install_add(py: Python<'_>) -> PyResult<()> {
    let class = py.get_type::<Filter>();
    // SAFETY: the class is alive, and the definition is forever; the interpreter only reads it.
    let method = unsafe {
        let definition = (&raw const ADD.0).cast_mut();
        let method = ffi::PyDescr_NewMethod(class.as_ptr().cast(), definition);
        Bound::from_owned_ptr_or_err(py, method)?
    };
    class.setattr("add", method)
}

/// The function that the interpreter calls for `filter.add(key)`.
unsafe extern "C" fn add(
    filter: *mut ffi::PyObject,
    key: *mut ffi::PyObject,
) -> *mut ffi::PyObject {
    // SAFETY: the interpreter calls its methods with itself attached to the thread.
    let py = unsafe { Python::assume_attached() };
    // SAFETY: both are objects that the caller holds until this returns; the descriptor of the
    // method has checked that the first one is a `Filter`.
    let (filter, key) = unsafe {
        let filter = Borrowed::from_ptr(py, filter).cast_unchecked::<Filter>();
        (filter, Borrowed::from_ptr(py, key))
    };
    match catch_unwind(AssertUnwindSafe(|| add_key(py, filter.get(), &key))) {
        // SAFETY: both objects live as long as the interpreter.
        Ok(Some(new)) => unsafe {
            let answer = if new { ffi::Py_True() } else { ffi::Py_False() };
            ffi::Py_INCREF(answer);
            answer
        },
        Ok(None) => ptr::null_mut(),
        Err(_) => {
            raise(PyRuntimeError::new_err("a bug in mayhap_bloom: add panicked"));
            ptr::null_mut()
        }
    }
}

/// Whether the key was new; `None` after setting an error in the interpreter, since a returned
/// error would be copied with every answer.
///
/// Nothing here creates or drops an object: `PyO3` does not know that this thread has the
/// interpreter, and would keep dropped objects until a method of its own is called.
#[inline(always)]
fn add_key(py: Python<'_>, filter: &Filter, key: &Bound<'_, PyAny>) -> Option<bool> {
    let plain = if filter.is_plain() { key::plain_digest(&filter.function, key) } else { None };
    match plain {
        Some(digest) => match filter.insert(py, digest) {
            Ok(new) => Some(new),
            Err(error) => raise(error),
        },
        None => add_any_key(filter, key),
    }
}

/// Like [`add_key`], for any object and filter.
#[cold]
fn add_any_key(filter: &Filter, key: &Bound<'_, PyAny>) -> Option<bool> {
    Python::attach(|py| match filter.digest_of(key).and_then(|digest| filter.insert(py, digest)) {
        Ok(new) => Some(new),
        Err(error) => raise(error),
    })
}

#[cold]
fn raise(error: PyErr) -> Option<bool> {
    Python::attach(|py| error.restore(py));
    None
}
