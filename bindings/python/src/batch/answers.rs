//! The answers of a batch, in the kind of the input.

use super::{ArrowAnswers, CHUNK, Container};
use arrow_buffer::NullBuffer;
use mayhap::Bitmap;
use pyo3::prelude::*;
use pyo3::types::{PyByteArray, PyList};

/// One bit per key, as chunks arrive.
#[derive(Debug, Default)]
pub(crate) struct Answers {
    words: Vec<u64>,
    len: usize,
    count: usize,
}

impl Answers {
    /// Appends the answers of a chunk. Every chunk but the last has [`CHUNK`] answers.
    pub(crate) fn push(&mut self, answers: &Bitmap) {
        debug_assert!(self.len.is_multiple_of(CHUNK), "only the last chunk may be short");
        self.words.extend_from_slice(answers.as_words());
        self.len += answers.len();
        self.count += answers.count_ones();
    }

    /// The number of "yes" answers.
    pub(crate) fn count(&self) -> usize {
        self.count
    }

    /// The answers, in order.
    pub(crate) fn iter(&self) -> impl Iterator<Item = bool> + '_ {
        (0..self.len).map(|i| self.words[i / 64] >> (i % 64) & 1 == 1)
    }

    /// The answers as an object like `keys`, which they were fed from.
    ///
    /// # Errors
    ///
    /// The errors of the library that makes the object.
    pub(crate) fn into_object<'py>(
        self,
        keys: &Bound<'py, PyAny>,
        container: Container,
    ) -> PyResult<Bound<'py, PyAny>> {
        let py = keys.py();
        match container {
            Container::Objects => Ok(PyList::new(py, ExactLen(self.iter(), self.len))?.into_any()),
            Container::Buffer => {
                let bytes = PyByteArray::new(py, &self.to_bytes());
                glue(py)?.call_method1("like_buffer", (keys, bytes))
            }
            Container::Arrow(nulls) => {
                let answers = ArrowAnswers::new(self.words, self.len, nulls);
                glue(py)?.call_method1("like_arrow", (keys, answers))
            }
        }
    }

    /// A byte of 0 or 1 per answer.
    fn to_bytes(&self) -> Vec<u8> {
        let mut bytes = vec![0; self.words.len() * 64];
        for (word, bytes) in self.words.iter().zip(bytes.chunks_exact_mut(64)) {
            for (i, byte) in bytes.iter_mut().enumerate() {
                *byte = (word >> i & 1) as u8;
            }
        }
        bytes.truncate(self.len);
        bytes
    }
}

/// The digests of keys as an object like `keys`, which they were fed from.
///
/// # Errors
///
/// The errors of the library that makes the object.
pub(crate) fn numbers_like<'py>(
    keys: &Bound<'py, PyAny>,
    container: Container,
    digests: Vec<u64>,
) -> PyResult<Bound<'py, PyAny>> {
    let py = keys.py();
    match container {
        Container::Objects => Ok(PyList::new(py, digests)?.into_any()),
        Container::Buffer => {
            let bytes = PyByteArray::new(py, bytemuck::cast_slice(&digests));
            glue(py)?.call_method1("digests_like_buffer", (keys, bytes))
        }
        Container::Arrow(nulls) => {
            let digests = ArrowAnswers::of_digests(digests, nulls);
            glue(py)?.call_method1("like_arrow", (keys, digests))
        }
    }
}

/// The part of the package that knows other libraries.
pub(super) fn glue(py: Python<'_>) -> PyResult<Bound<'_, PyModule>> {
    py.import("mayhap_bloom._answers")
}

/// An iterator that knows its length.
struct ExactLen<I>(I, usize);

impl<I: Iterator> Iterator for ExactLen<I> {
    type Item = I::Item;

    #[inline]
    fn next(&mut self) -> Option<I::Item> {
        self.1 = self.1.saturating_sub(1);
        self.0.next()
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        (self.1, Some(self.1))
    }
}

impl<I: Iterator> ExactSizeIterator for ExactLen<I> {}

/// Puts the answers at the positions of the keys that are not null, and "no" at the nulls.
pub(super) fn spread(words: &[u64], nulls: &NullBuffer) -> Vec<u64> {
    let mut spread = vec![0; nulls.len().div_ceil(64)];
    for (answer, key) in nulls.valid_indices().enumerate() {
        spread[key / 64] |= (words[answer / 64] >> (answer % 64) & 1) << (key % 64);
    }
    spread
}
