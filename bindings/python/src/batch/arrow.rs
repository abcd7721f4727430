//! Keys in Arrow arrays, from any library with the Arrow `PyCapsule` interface.
#![expect(unsafe_code, reason = "arrays of other libraries come as pointers in capsules")]

use super::answers::glue;
use super::{Container, DETACH_FROM, Sink, no_digest};
use crate::error::Error;
use arrow_array::cast::AsArray;
use arrow_array::ffi::{FFI_ArrowArray, FFI_ArrowSchema, from_ffi};
use arrow_array::ffi_stream::FFI_ArrowArrayStream;
use arrow_array::types::{
    ArrowPrimitiveType, ByteArrayType, ByteViewType, Int8Type, Int16Type, Int32Type, Int64Type,
    UInt8Type, UInt16Type, UInt32Type, UInt64Type,
};
use arrow_array::{Array, ArrayRef, GenericByteArray, GenericByteViewArray, NullArray, make_array};
use arrow_buffer::NullBuffer;
use arrow_schema::{ArrowError, DataType};
use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyCapsule, PyTuple};
use std::ffi::CStr;
use std::sync::Arc;

/// Hands over the keys of an Arrow array or stream that are not null; `None` if `keys` is
/// neither.
pub(super) fn feed(keys: &Bound<'_, PyAny>, sink: &mut impl Sink) -> PyResult<Option<Container>> {
    let Some(chunks) = chunks_of(keys)? else { return Ok(None) };
    let chunks = chunks.into_iter().map(only_column).collect::<PyResult<Vec<_>>>()?;
    if chunks.iter().any(|chunk| *chunk.data_type() == DataType::FixedSizeBinary(8)) {
        glue(keys.py())?.call_method1("refuse_addresses", (keys,))?;
    }
    let len: usize = chunks.iter().map(Array::len).sum();
    let mut all = || chunks.iter().try_for_each(|chunk| feed_array(chunk, sink));
    if len < DETACH_FROM { all() } else { keys.py().detach(all) }?;
    Ok(Some(Container::Arrow(nulls_of(&chunks))))
}

/// The arrays in an object.
fn chunks_of(keys: &Bound<'_, PyAny>) -> PyResult<Option<Vec<ArrayRef>>> {
    if let Some(method) = keys.getattr_opt("__arrow_c_array__")? {
        let capsules = method.call0()?;
        let capsules = capsules.cast::<PyTuple>()?;
        let schema = capsules.get_item(0)?;
        let array = capsules.get_item(1)?;
        return Ok(Some(vec![import_array(schema.cast()?, array.cast()?)?]));
    }
    if let Some(method) = keys.getattr_opt("__arrow_c_stream__")? {
        let stream = match method.call0() {
            Ok(stream) => stream,
            // pandas has the method, and needs PyArrow for it.
            Err(error) if error.is_instance_of::<pyo3::exceptions::PyImportError>(keys.py()) => {
                return Ok(None);
            }
            Err(error) => return Err(error),
        };
        return import_stream(stream.cast()?).map(Some);
    }
    Ok(None)
}

fn failed(error: ArrowError) -> PyErr {
    PyValueError::new_err(format!("the Arrow array cannot be read: {error}"))
}

fn import_array(schema: &Bound<'_, PyCapsule>, array: &Bound<'_, PyCapsule>) -> PyResult<ArrayRef> {
    let schema = schema.pointer_checked(Some(c"arrow_schema"))?.cast::<FFI_ArrowSchema>();
    let array = array.pointer_checked(Some(c"arrow_array"))?.cast::<FFI_ArrowArray>();
    // SAFETY: a capsule of this name holds the structure of this name, by the PyCapsule interface,
    // and both capsules outlive this call.
    let (schema, is_released) = unsafe { (schema.as_ref(), array.as_ref().is_released()) };
    if is_released || schema.release().is_none() {
        return Err(PyValueError::new_err(
            "the Arrow array was used before: its capsules are for one consumer",
        ));
    }
    // SAFETY: as above. The array taken out of the capsule is marked as released there.
    let array = unsafe { FFI_ArrowArray::from_raw(array.as_ptr()) };
    // SAFETY: neither is released, and the schema is that of the array.
    unsafe { import(array, schema) }
}

/// The array of a structure, which is released with it.
///
/// # Safety
///
/// The array has the type given by the schema, and neither is released.
unsafe fn import(array: FFI_ArrowArray, schema: &FFI_ArrowSchema) -> PyResult<ArrayRef> {
    refuse_extension(schema)?;
    // Polars exports nulls with a buffer, which the specification does not have.
    let is_nulls = |schema: &FFI_ArrowSchema| schema.format() == "n";
    let is_column = schema.format() == "+s" && schema.children().count() == 1;
    if is_nulls(schema) || is_column && is_nulls(schema.child(0)) {
        return Ok(Arc::new(NullArray::new(array.len())));
    }
    // SAFETY: by the caller.
    let data = unsafe { from_ffi(array, schema) }.map_err(failed)?;
    if matches!(data.data_type(), DataType::Dictionary(..)) {
        // Its indices lead to other keys if they are beyond the values.
        data.validate_full().map_err(failed)?;
    }
    Ok(make_array(data))
}

/// Refuses types that other libraries have wrapped around Arrow's: the stored value is not the
/// logical value, as the number of months of a period, or the address of an object.
fn refuse_extension(schema: &FFI_ArrowSchema) -> PyResult<()> {
    let metadata = schema.metadata().map_err(failed)?;
    let child =
        (schema.format() == "+s" && schema.children().count() == 1).then(|| schema.child(0));
    match metadata.get("ARROW:extension:name").map(String::as_str) {
        // A UUID is its 16 bytes, a document its text.
        None | Some("arrow.uuid" | "arrow.json") => child.map_or(Ok(()), refuse_extension),
        Some(name) => Err(PyTypeError::new_err(format!(
            "keys in Arrow arrays are texts, bytes or integers, not the extension type {name}; \
             convert the column, as to text"
        ))),
    }
}

fn import_stream(capsule: &Bound<'_, PyCapsule>) -> PyResult<Vec<ArrayRef>> {
    let stream = capsule.pointer_checked(Some(c"arrow_array_stream"))?;
    // SAFETY: a capsule of this name holds a stream, by the PyCapsule interface; it is marked as
    // released there, so that this one is the only owner.
    let mut stream = unsafe { FFI_ArrowArrayStream::from_raw(stream.cast().as_ptr()) };
    let (Some(get_schema), Some(get_next)) = (stream.get_schema(), stream.get_next()) else {
        return Err(PyValueError::new_err("the Arrow stream was used before"));
    };
    let mut schema = FFI_ArrowSchema::empty();
    // SAFETY: the stream is not released, and `schema` has room for its output.
    let code = unsafe { get_schema(&raw mut stream, &raw mut schema) };
    check(code, &mut stream)?;
    let mut arrays = Vec::new();
    loop {
        let mut array = FFI_ArrowArray::empty();
        // SAFETY: as above.
        let code = unsafe { get_next(&raw mut stream, &raw mut array) };
        check(code, &mut stream)?;
        if array.is_released() {
            return Ok(arrays);
        }
        // SAFETY: the array was returned by the stream and has the type given by its schema.
        arrays.push(unsafe { import(array, &schema) }?);
    }
}

/// Turns the code of a call of a stream into an error.
fn check(code: i32, stream: &mut FFI_ArrowArrayStream) -> PyResult<()> {
    if code == 0 {
        return Ok(());
    }
    let text = stream.get_last_error().map(|get_last_error| {
        // SAFETY: the stream is not released, and has just reported an error.
        unsafe { get_last_error(stream) }
    });
    let text = text.filter(|text| !text.is_null()).map(|text| {
        // SAFETY: not null, and so a text that is valid until the next call.
        unsafe { CStr::from_ptr(text) }.to_string_lossy().into_owned()
    });
    let text = text.unwrap_or_else(|| format!("error {code}"));
    Err(PyValueError::new_err(format!("the Arrow stream failed: {text}")))
}

/// A table of one column is that column.
fn only_column(array: ArrayRef) -> PyResult<ArrayRef> {
    let Some(table) = array.as_struct_opt() else { return Ok(array) };
    match table.columns() {
        [column] if table.null_count() == 0 => Ok(column.clone()),
        [_] => Err(PyTypeError::new_err("rows of the table are null; select its column")),
        columns => Err(PyTypeError::new_err(format!(
            "keys are one column, and this has {}; select one",
            columns.len()
        ))),
    }
}

/// The nulls of the chunks, one after another.
fn nulls_of(chunks: &[ArrayRef]) -> Option<NullBuffer> {
    let each: Vec<_> = chunks.iter().map(Array::logical_nulls).collect();
    if each.iter().flatten().all(|nulls| nulls.null_count() == 0) {
        return None;
    }
    let valid = chunks.iter().zip(&each).flat_map(|(chunk, nulls)| {
        (0..chunk.len()).map(move |i| nulls.as_ref().is_none_or(|nulls| nulls.is_valid(i)))
    });
    Some(valid.collect())
}

fn feed_array(array: &ArrayRef, sink: &mut impl Sink) -> Result<(), Error> {
    match array.data_type() {
        DataType::UInt64 => feed_numbers::<UInt64Type>(array, sink, |n| n),
        DataType::Null => Ok(()),
        other if sink.takes_digests() => Err(no_digest(&other.to_string())),
        DataType::Utf8 => feed_bytes(array.as_string::<i32>(), |key| sink.text(key)),
        DataType::LargeUtf8 => feed_bytes(array.as_string::<i64>(), |key| sink.text(key)),
        DataType::Binary => feed_bytes(array.as_binary::<i32>(), |key| sink.bytes(key)),
        DataType::LargeBinary => feed_bytes(array.as_binary::<i64>(), |key| sink.bytes(key)),
        DataType::Utf8View => feed_views(array.as_string_view(), |key| sink.text(key)),
        DataType::BinaryView => feed_views(array.as_binary_view(), |key| sink.bytes(key)),
        DataType::FixedSizeBinary(_) => {
            let array = array.as_fixed_size_binary();
            array.iter().flatten().try_for_each(|key| sink.bytes(key))
        }
        DataType::Int8 => feed_numbers::<Int8Type>(array, sink, |n| i64::from(n) as u64),
        DataType::Int16 => feed_numbers::<Int16Type>(array, sink, |n| i64::from(n) as u64),
        DataType::Int32 => feed_numbers::<Int32Type>(array, sink, |n| i64::from(n) as u64),
        DataType::Int64 => feed_numbers::<Int64Type>(array, sink, i64::cast_unsigned),
        DataType::UInt8 => feed_numbers::<UInt8Type>(array, sink, u64::from),
        DataType::UInt16 => feed_numbers::<UInt16Type>(array, sink, u64::from),
        DataType::UInt32 => feed_numbers::<UInt32Type>(array, sink, u64::from),
        DataType::Dictionary(_, _) => feed_dictionary(array, sink),
        other => Err(Error::Python(PyTypeError::new_err(format!(
            "keys in Arrow arrays are texts, bytes or integers, not {other}; cast the column"
        )))),
    }
}

fn feed_bytes<T: ByteArrayType>(
    array: &GenericByteArray<T>,
    mut hand_over: impl FnMut(&[u8]) -> Result<(), Error>,
) -> Result<(), Error> {
    if array.null_count() > 0 {
        return array.iter().flatten().try_for_each(|key| hand_over(key.as_ref()));
    }
    (0..array.len()).try_for_each(|i| hand_over(array.value(i).as_ref()))
}

fn feed_views<T: ByteViewType + ?Sized>(
    array: &GenericByteViewArray<T>,
    mut hand_over: impl FnMut(&[u8]) -> Result<(), Error>,
) -> Result<(), Error> {
    array.iter().flatten().try_for_each(|key| hand_over(key.as_ref()))
}

fn feed_numbers<T: ArrowPrimitiveType>(
    array: &ArrayRef,
    sink: &mut impl Sink,
    widen: impl Fn(T::Native) -> u64,
) -> Result<(), Error> {
    const AT_ONCE: usize = 512;
    let array = array.as_primitive::<T>();
    if array.null_count() > 0 {
        return array.iter().flatten().try_for_each(|key| sink.integers(&[widen(key)]));
    }
    let mut keys = [0; AT_ONCE];
    for values in array.values().chunks(AT_ONCE) {
        for (key, &value) in keys.iter_mut().zip(values) {
            *key = widen(value);
        }
        sink.integers(&keys[..values.len()])?;
    }
    Ok(())
}

/// Hands over the value that each key of a dictionary names.
fn feed_dictionary(array: &ArrayRef, sink: &mut impl Sink) -> Result<(), Error> {
    let array = array.as_any_dictionary();
    let values = Recorded::of(array.values())?;
    let places = array.normalized_keys();
    let nulls = array.logical_nulls();
    for (i, &place) in places.iter().enumerate() {
        if nulls.as_ref().is_none_or(|nulls| nulls.is_valid(i)) {
            values.replay(place, sink)?;
        }
    }
    Ok(())
}

/// The keys of an array, to be handed over in another order.
struct Recorded {
    bytes: Vec<u8>,
    /// Where each ends.
    ends: Vec<usize>,
    /// Whether the keys are texts.
    are_texts: bool,
    /// The key at each place of the array; any key for a null.
    places: Vec<usize>,
}

impl Recorded {
    fn of(array: &ArrayRef) -> Result<Self, Error> {
        let (bytes, ends, places) = (Vec::new(), Vec::new(), Vec::new());
        let mut recorded = Self { bytes, ends, are_texts: false, places };
        feed_array(array, &mut recorded)?;
        let nulls = array.logical_nulls();
        let mut next = 0;
        for i in 0..array.len() {
            recorded.places.push(next);
            next += usize::from(nulls.as_ref().is_none_or(|nulls| nulls.is_valid(i)));
        }
        Ok(recorded)
    }

    fn replay(&self, place: usize, sink: &mut impl Sink) -> Result<(), Error> {
        let key = self.places[place];
        let start = if key == 0 { 0 } else { self.ends[key - 1] };
        let bytes = &self.bytes[start..self.ends[key]];
        if self.are_texts { sink.text(bytes) } else { sink.bytes(bytes) }
    }
}

impl Sink for Recorded {
    fn bytes(&mut self, key: &[u8]) -> Result<(), Error> {
        self.bytes.extend_from_slice(key);
        self.ends.push(self.bytes.len());
        Ok(())
    }

    fn text(&mut self, text: &[u8]) -> Result<(), Error> {
        self.are_texts = true;
        self.bytes(text)
    }

    fn integers(&mut self, keys: &[u64]) -> Result<(), Error> {
        keys.iter().try_for_each(|key| self.bytes(&key.to_le_bytes()))
    }
}
