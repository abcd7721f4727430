//! Many keys at once: their sources and their sinks.
//!
//! `list.rs`, `buffer.rs` and `arrow.rs` take the bytes of keys out of Python's containers and hand
//! them to a [`Sink`]; `digests.rs` is the sink of our own filters, `keys.rs` the sink of filters
//! that hash keys elsewhere; `answers.rs` returns the answers in the kind of the input, for Arrow
//! through `export.rs`. Objects need the interpreter's lock; memory of NumPy and Arrow is read
//! without it.

mod answers;
mod arrow;
mod buffer;
mod digests;
mod export;
mod keys;
mod list;

pub(crate) use answers::{Answers, numbers_like};
pub(crate) use digests::DigestSink;
pub(crate) use export::ArrowAnswers;
pub(crate) use keys::Keys;

use crate::error::Error;
use arrow_buffer::NullBuffer;
use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use pyo3::types::{PyByteArray, PyBytes, PyList, PyString, PyTuple};

/// The batch size from which the interpreter's lock is released while keys are processed: below,
/// retaking it costs more than it saves.
pub(crate) const DETACH_FROM: usize = 16 << 10;

/// The number of digests collected before a filter is locked and queried.
pub(crate) const CHUNK: usize = 2048;

/// Takes the keys of a batch, in order.
pub(crate) trait Sink: Send {
    /// A key of these bytes.
    fn bytes(&mut self, key: &[u8]) -> Result<(), Error>;

    /// A text, in UTF-8: its bytes are the key, unless the filter's keys have another form.
    #[inline(always)]
    fn text(&mut self, text: &[u8]) -> Result<(), Error> {
        self.bytes(text)
    }

    /// Integer keys, sign-extended to 64 bits.
    fn integers(&mut self, keys: &[u64]) -> Result<(), Error>;

    /// Whether the integers are digests: unsigned ones of 64 bits, and nothing else.
    fn takes_digests(&self) -> bool {
        false
    }
}

/// The error for an object that is no digest.
fn no_digest(found: &str) -> Error {
    Error::Python(PyTypeError::new_err(format!(
        "digests are unsigned 64-bit integers, not {found}; mayhap_bloom.digests(keys) are those \
         of keys"
    )))
}

/// The container of a batch's keys, and so of its answers.
pub(crate) enum Container {
    /// A list, a tuple, or any other iterable: answers are a list.
    Objects,
    /// A buffer, as of NumPy: answers are an array of bool.
    Buffer,
    /// An Arrow array; where it has nulls, the answers have.
    Arrow(Option<NullBuffer>),
}

/// Hands all keys of `keys` to `sink`.
///
/// # Errors
///
/// `TypeError` for objects that hold no keys, and the errors of the sink; earlier keys were handed
/// over.
pub(crate) fn feed(keys: &Bound<'_, PyAny>, sink: &mut impl Sink) -> PyResult<Container> {
    if let Ok(list) = keys.cast::<PyList>() {
        list::feed(list.iter(), sink)?;
        return Ok(Container::Objects);
    }
    if let Ok(tuple) = keys.cast::<PyTuple>() {
        list::feed(tuple.iter(), sink)?;
        return Ok(Container::Objects);
    }
    let is_one_key = keys.is_instance_of::<PyString>()
        || keys.is_instance_of::<PyBytes>()
        || keys.is_instance_of::<PyByteArray>();
    if is_one_key {
        return Err(PyTypeError::new_err(
            "this is one key, and many were expected; put it in a list",
        ));
    }
    if let Some(container) = arrow::feed(keys, sink)? {
        return Ok(container);
    }
    if let Some(present) = unmasked(keys)? {
        if !buffer::feed(&present, sink)? {
            list::feed_iterable(&present, sink)?;
        }
        return Ok(Container::Buffer);
    }
    if buffer::feed(keys, sink)? {
        return Ok(Container::Buffer);
    }
    list::feed_iterable(keys, sink)?;
    Ok(Container::Objects)
}

/// The elements of a masked array of NumPy that are not masked; `None` for everything else.
fn unmasked<'py>(keys: &Bound<'py, PyAny>) -> PyResult<Option<Bound<'py, PyAny>>> {
    // Most objects have no such method, and are no Arrow data then.
    if !keys.hasattr("compressed")? {
        return Ok(None);
    }
    let present = answers::glue(keys.py())?.call_method1("unmasked", (keys,))?;
    Ok((!present.is_none()).then_some(present))
}
