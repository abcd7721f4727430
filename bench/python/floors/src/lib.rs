//! Classes that do less than a filter: the difference is the filter's own cost.
//!
//! `Returns` answers at once, `Hashes` after it has hashed the key. Their `in` is the same slot as
//! that of the filters, their `add` a method of the same calling convention.

use pyo3::ffi;
use pyo3::prelude::*;
use pyo3::types::PyString;
use std::hint::black_box;
use xxhash_rust::xxh3::xxh3_64;

/// A container that answers at once.
#[pyclass(frozen)]
struct Returns;

/// A container that hashes the key and answers.
#[pyclass(frozen)]
struct Hashes;

#[pymethods]
impl Returns {
    #[new]
    fn new() -> Self {
        Self
    }

    fn __contains__(&self, key: &Bound<'_, PyAny>) -> bool {
        black_box(key);
        true
    }
}

#[pymethods]
impl Hashes {
    #[new]
    fn new() -> Self {
        Self
    }

    fn __contains__(&self, key: &Bound<'_, PyAny>) -> PyResult<bool> {
        hash(key)
    }
}

#[inline(always)]
fn hash(key: &Bound<'_, PyAny>) -> PyResult<bool> {
    black_box(xxh3_64(key.cast_exact::<PyString>()?.to_str()?.as_bytes()));
    Ok(true)
}

struct Definition(ffi::PyMethodDef);

// SAFETY: it is never written to.
unsafe impl Sync for Definition {}

static RETURNS: Definition = definition(returns);
static HASHES: Definition = definition(hashes);

const fn definition(call: ffi::PyCFunction) -> Definition {
    Definition(ffi::PyMethodDef {
        ml_name: c"add".as_ptr(),
        ml_meth: ffi::PyMethodDefPointer { PyCFunction: call },
        ml_flags: ffi::METH_O,
        ml_doc: c"".as_ptr(),
    })
}

unsafe extern "C" fn returns(_: *mut ffi::PyObject, _: *mut ffi::PyObject) -> *mut ffi::PyObject {
    // SAFETY: the interpreter is attached during the call; the object lives as long as the
    // interpreter.
    unsafe {
        let answer = ffi::Py_True();
        ffi::Py_INCREF(answer);
        answer
    }
}

unsafe extern "C" fn hashes(
    object: *mut ffi::PyObject,
    key: *mut ffi::PyObject,
) -> *mut ffi::PyObject {
    // SAFETY: as above; the caller holds the key.
    unsafe {
        let py = Python::assume_attached();
        let _ = hash(&Borrowed::from_ptr(py, key));
        returns(object, key)
    }
}

/// The module.
#[pymodule]
mod floors {
    use super::{HASHES, Hashes, RETURNS, Returns};
    use pyo3::ffi;
    use pyo3::prelude::*;

    #[pymodule_init]
    fn init(module: &Bound<'_, PyModule>) -> PyResult<()> {
        module.add_class::<Returns>()?;
        module.add_class::<Hashes>()?;
        for (name, definition) in [("Returns", &RETURNS), ("Hashes", &HASHES)] {
            let class = module.getattr(name)?;
            // SAFETY: the class is alive, the definition forever, and never written to.
            let method = unsafe {
                let definition = (&raw const definition.0).cast_mut();
                let method = ffi::PyDescr_NewMethod(class.as_ptr().cast(), definition);
                Bound::from_owned_ptr_or_err(module.py(), method)?
            };
            class.setattr("add", method)?;
        }
        Ok(())
    }
}
