//! Batches of keys.

use super::{Filter, OnFull};
use crate::batch::{Answers, Container, DigestSink, feed};
use crate::cut::Cutting;
use crate::error::Error;
use crate::held::Held;
use mayhap::{Bitmap, Digest};
use pyo3::prelude::*;
use pyo3::types::{PyList, PyTuple};

/// The operation on the keys of a batch.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Batch {
    /// They are inserted.
    Insert,
    /// They are looked up.
    Contains,
}

impl Filter {
    /// Carries out a batch.
    ///
    /// # Errors
    ///
    /// The errors of the keys and of the filter; earlier keys are inserted then, but none if a full
    /// filter is to raise.
    pub(crate) fn batch(
        &self,
        keys: &Bound<'_, PyAny>,
        batch: Batch,
    ) -> PyResult<(Answers, Container)> {
        self.batch_of(keys, batch, false)
    }

    /// Like [`Filter::batch`], for digests.
    ///
    /// # Errors
    ///
    /// Same as [`Filter::batch`].
    pub(crate) fn digest_batch(
        &self,
        digests: &Bound<'_, PyAny>,
        batch: Batch,
    ) -> PyResult<(Answers, Container)> {
        self.batch_of(digests, batch, true)
    }

    fn batch_of(
        &self,
        keys: &Bound<'_, PyAny>,
        batch: Batch,
        are_digests: bool,
    ) -> PyResult<(Answers, Container)> {
        if batch == Batch::Insert && self.on_full == OnFull::Raise {
            let mut digests = Vec::new();
            let container = self.collect(keys, are_digests, &mut digests)?;
            return Ok((self.insert_whole(keys.py(), &digests)?, container));
        }
        let (mut answers, mut bitmap) = (Answers::default(), Bitmap::new());
        let detached = self.set.announce(keys.py());
        let consume = |digests: &[Digest]| -> Result<(), Error> {
            match batch {
                Batch::Insert => {
                    let insert = |held: &mut Held| self.insert_chunk(held, digests, &mut bitmap);
                    self.change_in_batch(&detached, insert)?;
                }
                Batch::Contains => {
                    let now = self.now();
                    detached.read(|held| held.contains_into(digests, now, &mut bitmap));
                }
            }
            answers.push(&bitmap);
            Ok(())
        };
        let mut sink = if are_digests {
            DigestSink::of_digests(consume)
        } else {
            DigestSink::new(self.function, self.cutting()?, consume)
        };
        let fed = feed(keys, &mut sink);
        // The keys before an invalid one are inserted, as in `set.update`.
        let finished = sink.finish();
        let container = fed?;
        finished?;
        drop(sink);
        drop(detached);
        match batch {
            Batch::Insert => self.warn_if_full(keys.py())?,
            Batch::Contains => self.read(keys.py(), |held| held.check(None))?,
        }
        Ok((answers, container))
    }

    /// Inserts the keys of several batches.
    ///
    /// # Errors
    ///
    /// Same as [`Filter::batch`].
    pub(super) fn update_all(&self, py: Python<'_>, batches: &Bound<'_, PyTuple>) -> PyResult<()> {
        if self.on_full != OnFull::Raise {
            return batches.iter().try_for_each(|keys| self.batch(&keys, Batch::Insert).map(drop));
        }
        let mut digests = Vec::new();
        for keys in batches {
            self.collect(&keys, false, &mut digests)?;
        }
        self.insert_whole(py, &digests).map(drop)
    }

    /// Appends the digests of a batch.
    fn collect(
        &self,
        keys: &Bound<'_, PyAny>,
        are_digests: bool,
        digests: &mut Vec<Digest>,
    ) -> PyResult<Container> {
        let consume = |chunk: &[Digest]| -> Result<(), Error> {
            digests.extend_from_slice(chunk);
            Ok(())
        };
        let mut sink = if are_digests {
            DigestSink::of_digests(consume)
        } else {
            DigestSink::new(self.function, self.cutting()?, consume)
        };
        let container = feed(keys, &mut sink)?;
        sink.finish()?;
        Ok(container)
    }

    /// Inserts all of these keys, or none if they are more than there is room for.
    fn insert_whole(&self, py: Python<'_>, digests: &[Digest]) -> PyResult<Answers> {
        let mut new = Bitmap::new();
        self.change_patiently(py, |held| self.insert_all_or_none(held, digests, &mut new))?;
        let mut answers = Answers::default();
        answers.push(&new);
        Ok(answers)
    }

    fn cutting(&self) -> Result<Option<Cutting>, Error> {
        self.form.as_ref().map(|form| form.cutting()).transpose()
    }

    /// The keys of a batch that may be in it, or surely are not, in the kind of the input.
    pub(super) fn select<'py>(
        &self,
        keys: &Bound<'py, PyAny>,
        is_there: bool,
    ) -> PyResult<Bound<'py, PyAny>> {
        let py = keys.py();
        // The keys of an iterator that can be consumed only once have to be kept.
        let is_iterator = keys.hasattr("__next__")?;
        let kept = is_iterator.then(|| py.get_type::<PyList>().call1((keys,))).transpose()?;
        let keys = kept.as_ref().unwrap_or(keys);
        let (answers, container) = self.batch(keys, Batch::Contains)?;
        if !matches!(container, Container::Objects) {
            let answers = answers.into_object(keys, container)?;
            let glue = py.import("mayhap_bloom._answers")?;
            return glue.call_method1("select", (keys, answers, is_there));
        }
        let selected = PyList::empty(py);
        for (key, found) in keys.try_iter()?.zip(answers.iter()) {
            if found == is_there {
                selected.append(key?)?;
            }
        }
        Ok(selected.into_any())
    }
}
