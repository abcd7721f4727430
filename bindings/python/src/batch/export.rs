//! Answers and digests as an Arrow array that other libraries take without copying it.

use super::answers::spread;
use arrow_array::ffi::{FFI_ArrowArray, FFI_ArrowSchema};
use arrow_array::{Array, ArrayRef, BooleanArray, UInt64Array};
use arrow_buffer::{BooleanBuffer, Buffer, NullBuffer};
use arrow_schema::ArrowError;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::PyCapsule;
use std::sync::Arc;

/// An Arrow array of bool or of digests, for `pyarrow.array(...)`, `polars.Series(...)` and
/// whatever else takes `__arrow_c_array__`.
#[pyclass(frozen, module = "mayhap_bloom")]
pub(crate) struct ArrowAnswers {
    answers: ArrayRef,
}

impl ArrowAnswers {
    /// Builds it from bits for the keys that are not null.
    pub(super) fn new(words: Vec<u64>, len: usize, nulls: Option<NullBuffer>) -> Self {
        let (words, len) = match &nulls {
            Some(nulls) => (spread(&words, nulls), nulls.len()),
            None => (words, len),
        };
        let bits = BooleanBuffer::new(Buffer::from_vec(words), 0, len);
        Self { answers: Arc::new(BooleanArray::new(bits, nulls)) }
    }

    /// Builds it from the digests of the keys that are not null.
    pub(super) fn of_digests(digests: Vec<u64>, nulls: Option<NullBuffer>) -> Self {
        let digests = match &nulls {
            None => digests,
            Some(nulls) => {
                let mut spread = vec![0; nulls.len()];
                for (key, digest) in nulls.valid_indices().zip(digests) {
                    spread[key] = digest;
                }
                spread
            }
        };
        Self { answers: Arc::new(UInt64Array::new(digests.into(), nulls)) }
    }
}

#[pymethods]
impl ArrowAnswers {
    fn __len__(&self) -> usize {
        self.answers.len()
    }

    /// The array by the Arrow `PyCapsule` interface.
    #[pyo3(signature = (requested_schema=None))]
    fn __arrow_c_array__<'py>(
        &self,
        py: Python<'py>,
        requested_schema: Option<Bound<'py, PyAny>>,
    ) -> PyResult<(Bound<'py, PyCapsule>, Bound<'py, PyCapsule>)> {
        // The interface lets producers ignore a schema that they cannot give.
        drop(requested_schema);
        let failed = |error: ArrowError| PyValueError::new_err(error.to_string());
        let schema = FFI_ArrowSchema::try_from(self.answers.data_type()).map_err(failed)?;
        let array = FFI_ArrowArray::new(&self.answers.to_data());
        Ok((
            PyCapsule::new_with_value(py, schema, c"arrow_schema")?,
            PyCapsule::new_with_value(py, array, c"arrow_array")?,
        ))
    }
}
