//! Keys: Python objects as the bytes that are hashed.
//!
//! | object | bytes |
//! |---|---|
//! | `str` | UTF-8 |
//! | `bytes`, `bytearray`, `memoryview`, other buffers of bytes | as they are |
//! | `int`, `bool`, whatever has `__index__` | 8 bytes, little-endian, two's complement |
//!
//! Everything else is refused, since it has no bytes that all languages agree on.

use mayhap::{Digest, DigestFunction};
use pyo3::buffer::PyUntypedBuffer;
use pyo3::exceptions::{PyOverflowError, PyTypeError};
use pyo3::intern;
use pyo3::prelude::*;
use pyo3::types::{PyByteArray, PyBytes, PyFloat, PyInt, PyString};

/// Calls `use_bytes` with the bytes of a key.
///
/// # Errors
///
/// `TypeError` for objects that are no keys, `OverflowError` for integers beyond 64 bits,
/// `UnicodeEncodeError` for half characters.
#[inline(always)]
pub(crate) fn with_bytes<R>(
    key: &Bound<'_, PyAny>,
    use_bytes: impl FnOnce(&[u8]) -> R,
) -> PyResult<R> {
    if let Ok(text) = key.cast_exact::<PyString>() {
        Ok(use_bytes(text.to_str()?.as_bytes()))
    } else if let Ok(bytes) = key.cast_exact::<PyBytes>() {
        Ok(use_bytes(bytes.as_bytes()))
    } else if let Ok(number) = key.cast_exact::<PyInt>() {
        Ok(use_bytes(&integer(number)?))
    } else {
        other(key, use_bytes)
    }
}

/// The digest of a key that is a text, bytes or a number of 63 bits; `None` for all others, and for
/// texts with half characters. It makes no object of Python, and drops none.
#[inline(always)]
pub(crate) fn plain_digest(function: &DigestFunction, key: &Bound<'_, PyAny>) -> Option<Digest> {
    if let Ok(text) = key.cast_exact::<PyString>() {
        // The error of the interpreter is the one of the next attempt.
        text.to_str().ok().map(|text| function.digest(text.as_bytes()))
    } else if let Ok(bytes) = key.cast_exact::<PyBytes>() {
        Some(function.digest(bytes.as_bytes()))
    } else if let Ok(number) = key.cast_exact::<PyInt>() {
        number.extract::<i64>().ok().map(|number| function.digest(number.to_le_bytes().as_slice()))
    } else {
        None
    }
}

/// The digest of a key.
///
/// # Errors
///
/// Same as [`with_bytes`].
#[inline(always)]
pub(crate) fn digest(function: &DigestFunction, key: &Bound<'_, PyAny>) -> PyResult<Digest> {
    with_bytes(key, |bytes| function.digest(bytes))
}

/// Subclasses, buffers and objects with `__index__`.
#[cold]
fn other<R>(key: &Bound<'_, PyAny>, use_bytes: impl FnOnce(&[u8]) -> R) -> PyResult<R> {
    if let Ok(text) = key.cast::<PyString>() {
        return Ok(use_bytes(text.to_str()?.as_bytes()));
    }
    if let Ok(bytes) = key.cast::<PyBytes>() {
        return Ok(use_bytes(bytes.as_bytes()));
    }
    if let Ok(bytes) = key.cast::<PyByteArray>() {
        return Ok(use_bytes(&bytes.to_vec()));
    }
    // A float of NumPy is a buffer too, and one of eight bytes.
    if key.is_instance_of::<PyFloat>() {
        return Err(refusal(key));
    }
    if is_integer(key)? {
        return Ok(use_bytes(&integer(key)?));
    }
    match bytes_of_buffer(key) {
        Some(bytes) => Ok(use_bytes(&bytes?)),
        None => Err(refusal(key)),
    }
}

/// Whether an object is a number, by its type or its `__index__`.
///
/// # Errors
///
/// The errors of looking it up.
pub(crate) fn is_integer(key: &Bound<'_, PyAny>) -> PyResult<bool> {
    // Looks it up in the type, as the interpreter does: the class `int` is no number.
    Ok(key.is_instance_of::<PyInt>() || key.get_type().hasattr(intern!(key.py(), "__index__"))?)
}

/// A 64-bit integer, signed or not, as eight bytes, least significant first.
///
/// # Errors
///
/// `OverflowError` for larger ones, `TypeError` for other objects, and the errors of `__index__`.
pub(crate) fn integer(number: &Bound<'_, PyAny>) -> PyResult<[u8; 8]> {
    let Ok(number) = number.cast::<PyInt>() else {
        let py = number.py();
        let index = number.call_method0(intern!(py, "__index__")).map_err(|error| {
            // For example an array of several numbers, which has `__index__` but refuses it.
            if !error.is_instance_of::<PyTypeError>(py) {
                return error;
            }
            let refused = refusal(number);
            refused.set_cause(py, Some(error));
            refused
        })?;
        return integer_of(index.cast::<PyInt>()?);
    };
    integer_of(number)
}

fn integer_of(number: &Bound<'_, PyInt>) -> PyResult<[u8; 8]> {
    if let Ok(signed) = number.extract::<i64>() {
        return Ok(signed.to_le_bytes());
    }
    let unsigned = number.extract::<u64>().map_err(|_| {
        PyOverflowError::new_err(
            "integer keys are from -2**63 to 2**64 - 1; encode larger ones, as \
             key.to_bytes(16, \"little\", signed=True)",
        )
    });
    Ok(unsigned?.to_le_bytes())
}

/// The bytes of a contiguous buffer of bytes; `None` for buffers of anything else.
fn bytes_of_buffer(key: &Bound<'_, PyAny>) -> Option<PyResult<Vec<u8>>> {
    let buffer = PyUntypedBuffer::get(key).ok()?;
    let is_bytes = matches!(buffer.format().to_bytes(), b"B" | b"b" | b"c");
    if !is_bytes || !buffer.is_c_contiguous() {
        return None;
    }
    let buffer = buffer.into_typed::<u8>().ok()?;
    Some(buffer.to_vec(key.py()))
}

#[cold]
fn refusal(key: &Bound<'_, PyAny>) -> PyErr {
    let name = key.get_type().name().map_or_else(|_| "object".into(), |name| name.to_string());
    // Python's own is a number; NumPy's has no `__index__`.
    let name = if name == "bool" { "numpy.bool".into() } else { name };
    let hint = match name.as_str() {
        "numpy.bool" => "use bool(key)",
        "float" | "float64" | "float32" => "encode it, as struct.pack(\"<d\", key) or repr(key)",
        "tuple" | "list" => "join its parts to one str, with a separator that is in none of them",
        "NoneType" => "leave it out, or choose a str for it",
        "UUID" => "use key.bytes or str(key)",
        _ => "encode it as str or bytes, always in the same way",
    };
    PyTypeError::new_err(format!("keys are str, bytes-like or int, not {name}; {hint}"))
}
