//! Batches of keys.

use super::Filter;
use crate::batch::{Answers, Container, DigestSink, feed};
use crate::error::Error;
use crate::set::Set;
use mayhap::{Bitmap, Digest};
use pyo3::prelude::*;
use pyo3::types::PyList;

/// What is done with the keys of a batch.
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
    /// Those of the keys, and of the filter; the keys of chunks before are inserted then.
    pub(crate) fn batch(
        &self,
        keys: &Bound<'_, PyAny>,
        batch: Batch,
    ) -> PyResult<(Answers, Container)> {
        self.batch_of(keys, batch, false)
    }

    /// [`Filter::batch`] of digests.
    ///
    /// # Errors
    ///
    /// As there.
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
        let (mut answers, mut bitmap) = (Answers::default(), Bitmap::new());
        let detached = self.set.announce(keys.py());
        let consume = |digests: &[Digest]| -> Result<(), Error> {
            match batch {
                Batch::Insert => {
                    let insert = |set: &mut dyn Set| self.insert_chunk(set, digests, &mut bitmap);
                    self.change_in_batch(&detached, insert)?;
                }
                Batch::Contains => {
                    detached.read(|set| set.contains_digests_into(digests, &mut bitmap));
                }
            }
            answers.push(&bitmap);
            Ok(())
        };
        let mut sink = if are_digests {
            DigestSink::of_digests(consume)
        } else {
            DigestSink::new(self.function, consume)
        };
        let fed = feed(keys, &mut sink);
        // The keys before one that is none are inserted, as `set.update` does it.
        let finished = sink.finish();
        let container = fed?;
        finished?;
        drop(sink);
        drop(detached);
        match batch {
            Batch::Insert => self.warn_if_full(keys.py())?,
            Batch::Contains => self.read(keys.py(), |set| set.check(None))?,
        }
        Ok((answers, container))
    }

    /// The keys of a batch that may be in it, or surely are not, in the kind of the input.
    pub(super) fn select<'py>(
        &self,
        keys: &Bound<'py, PyAny>,
        is_there: bool,
    ) -> PyResult<Bound<'py, PyAny>> {
        let py = keys.py();
        // What can be iterated once has to be kept.
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
