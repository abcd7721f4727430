//! Which of many sets hold a key.

use crate::amount::Amount;
use crate::cut::{self, Form};
use crate::error::Error;
use crate::fork;
use crate::{batch, key, kinds};
use mayhap::native;
use mayhap::{Bitmap, BloomMatrix, Digest, Sets};
use pyo3::exceptions::PyIndexError;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyTuple};
use std::path::PathBuf;
use std::sync::{PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard};

/// Many sets in one filter: which of them may hold a key costs as much as one lookup.
///
/// ``num_sets`` sets of ``expected_items`` keys each, numbered from 0. ``names`` are their names,
/// in order, as the command names them after its lists; answers are still numbers.
///
/// >>> shards = Matrix(3, 1000, 1e-6)
/// >>> shards.add(2, "key")
/// True
/// >>> shards.which("key"), shards.which("other")
/// ([2], [])
#[pyclass(frozen, module = "mayhap_bloom")]
pub(crate) struct Matrix {
    function: mayhap::DigestFunction,
    /// The form that the options give texts, if any.
    form: Option<Box<Form>>,
    key_options: String,
    sets: RwLock<BloomMatrix>,
}

impl Matrix {
    /// The class around a matrix.
    pub(crate) fn wrap(
        py: Python<'_>,
        matrix: BloomMatrix,
        key_options: String,
    ) -> PyResult<Bound<'_, PyAny>> {
        let function = *matrix.digest_function();
        let (form, sets) = (Form::of(&key_options), RwLock::new(matrix));
        Ok(Bound::new(py, Self { function, form, key_options, sets })?.into_any())
    }

    // No thread holds the lock while waiting for the interpreter.
    fn read(&self) -> RwLockReadGuard<'_, BloomMatrix> {
        self.sets.read().unwrap_or_else(PoisonError::into_inner)
    }

    fn write(&self) -> RwLockWriteGuard<'_, BloomMatrix> {
        self.sets.write().unwrap_or_else(PoisonError::into_inner)
    }

    fn check(&self, set: usize) -> PyResult<()> {
        match self.read().num_sets() {
            sets if set < sets => Ok(()),
            sets => Err(PyIndexError::new_err(format!("set {set} of a matrix of {sets} sets"))),
        }
    }

    /// The bytes of its file.
    fn encoded(&self, py: Python<'_>) -> Vec<u8> {
        fork::detached(py, || native::encode(&*self.read(), &self.key_options))
    }

    fn digest(&self, key: &Bound<'_, PyAny>) -> PyResult<Digest> {
        match &self.form {
            None => key::digest(&self.function, key),
            Some(form) => form.digest(&self.function, key),
        }
    }

    fn digests(&self, keys: &Bound<'_, PyAny>) -> PyResult<Vec<Digest>> {
        let mut digests = Vec::new();
        let consume = |chunk: &[Digest]| -> Result<(), Error> {
            digests.extend_from_slice(chunk);
            Ok(())
        };
        let cutting = self.form.as_ref().map(|form| form.cutting()).transpose()?;
        let mut sink = batch::DigestSink::new(self.function, cutting, consume);
        batch::feed(keys, &mut sink)?;
        sink.finish()?;
        drop(sink);
        Ok(digests)
    }
}

#[pymethods]
impl Matrix {
    #[new]
    #[pyo3(signature = (num_sets, expected_items, target_fpp=0.01, *, names=None,
                        seed=Amount(0), secret_key=None),
           text_signature = "(num_sets, expected_items, target_fpp=0.01, *, names=None, seed=0, \
                             secret_key=None)")]
    fn new(
        num_sets: usize,
        expected_items: Amount,
        target_fpp: f64,
        names: Option<Vec<String>>,
        seed: Amount,
        secret_key: Option<&Bound<'_, PyBytes>>,
    ) -> PyResult<Self> {
        let function = kinds::digest_function(seed.0, secret_key)?;
        let mut matrix = BloomMatrix::builder()
            .num_sets(num_sets)
            .expected_items(expected_items.0)
            .target_fpp(target_fpp)
            .digest_function(function)
            .build()
            .map_err(Error::from)?;
        matrix.set_names(&names.unwrap_or_default()).map_err(Error::from)?;
        let (key_options, sets) = (String::new(), RwLock::new(matrix));
        Ok(Self { function, form: None, key_options, sets })
    }

    /// Insert a key into a set; True if it is new there. Raises IndexError for no set of it.
    #[pyo3(signature = (set, key, /))]
    fn add(&self, set: usize, key: &Bound<'_, PyAny>) -> PyResult<bool> {
        let digest = self.digest(key)?;
        self.check(set)?;
        Ok(self.write().insert_digest(set, digest))
    }

    /// Insert many keys into a set.
    #[pyo3(signature = (set, keys, /))]
    fn update(&self, set: usize, keys: &Bound<'_, PyAny>) -> PyResult<()> {
        self.check(set)?;
        let digests = self.digests(keys)?;
        let mut new = Bitmap::new();
        fork::detached(keys.py(), || self.write().insert_digests_into(set, &digests, &mut new));
        Ok(())
    }

    /// The sets that may hold a key, in order.
    #[pyo3(signature = (key, /))]
    fn which(&self, key: &Bound<'_, PyAny>) -> PyResult<Vec<usize>> {
        let digest = self.digest(key)?;
        let mut sets = Sets::new();
        self.read().which_digest_into(digest, &mut sets);
        Ok(sets.iter().collect())
    }

    /// For each of many keys the sets that may hold it.
    #[pyo3(signature = (keys, /))]
    fn which_many(&self, keys: &Bound<'_, PyAny>) -> PyResult<Vec<Vec<usize>>> {
        let digests = self.digests(keys)?;
        Ok(fork::detached(keys.py(), || {
            let mut all = vec![Vec::new(); digests.len()];
            self.read().which_digests(&digests, |key, sets| all[key] = sets.iter().collect());
            all
        }))
    }

    /// Whether any set may hold the key.
    fn __contains__(&self, key: &Bound<'_, PyAny>) -> PyResult<bool> {
        Ok(!self.which(key)?.is_empty())
    }

    /// Insertions into a set that were answered "new".
    #[pyo3(signature = (set, /))]
    fn count(&self, set: usize) -> PyResult<u64> {
        self.check(set)?;
        Ok(self.read().inserted_items(set))
    }

    /// The number of sets.
    fn __len__(&self) -> usize {
        self.read().num_sets()
    }

    /// The names of the sets, in order; none if they have none.
    #[getter]
    fn names(&self) -> Vec<String> {
        let matrix = self.read();
        (0..matrix.num_sets()).filter_map(|set| matrix.name(set).map(str::to_owned)).collect()
    }

    /// The kind: "matrix".
    #[getter]
    fn kind(&self) -> &'static str {
        "matrix"
    }

    /// The keys that each set was created for.
    #[getter]
    fn expected_items(&self) -> u64 {
        self.read().expected_items()
    }

    /// The rate that was promised for each set.
    #[getter]
    fn target_fpp(&self) -> f64 {
        self.read().target_fpp()
    }

    /// The memory of the bits.
    #[getter]
    fn num_bytes(&self) -> u64 {
        self.read().num_bytes()
    }

    /// The options by which the command cuts keys out of lines for this filter; "" if lines are
    /// keys.
    #[getter]
    fn key_options(&self) -> &str {
        &self.key_options
    }

    /// The key that the command cuts out of a line for this filter; None if it has none.
    ///
    /// A carriage return at the end is treated as by the other filters: where ``key_options`` does
    /// not record it, it is part of the key if a set may hold that.
    #[pyo3(signature = (line, /))]
    fn cut<'py>(&self, line: &Bound<'py, PyAny>) -> PyResult<Option<Bound<'py, PyBytes>>> {
        cut::cut(line, &self.key_options, |key| {
            let mut sets = Sets::new();
            self.read().which_digest_into(self.function.digest(key), &mut sets);
            Ok(sets.iter().next().is_some())
        })
    }

    /// The filter in packed form, for ``from_bytes``; ``bytes(filter)`` is the file as it is saved.
    fn to_bytes<'py>(&self, py: Python<'py>) -> Bound<'py, PyBytes> {
        let file = self.encoded(py);
        PyBytes::new(py, native::pack(&file).as_deref().unwrap_or(&file))
    }

    fn __bytes__<'py>(&self, py: Python<'py>) -> Bound<'py, PyBytes> {
        PyBytes::new(py, &self.encoded(py))
    }

    /// Save the filter: at any moment the path holds the old file or the new one, whole.
    #[pyo3(signature = (path, *, replace=true))]
    fn save(&self, py: Python<'_>, path: PathBuf, replace: bool) -> PyResult<()> {
        let save = if replace {
            mayhap_store::save::<BloomMatrix>
        } else {
            mayhap_store::save_new::<BloomMatrix>
        };
        let saved = fork::detached(py, || save(&path, &self.read(), &self.key_options));
        Ok(saved.map_err(Error::from)?)
    }

    fn __reduce__<'py>(slf: &Bound<'py, Self>) -> PyResult<Bound<'py, PyTuple>> {
        let py = slf.py();
        if matches!(slf.get().function, mayhap::DigestFunction::Sip13 { .. }) {
            return Err(pyo3::exceptions::PyTypeError::new_err(
                "a filter with a secret key is not pickled; send to_bytes()",
            ));
        }
        let restore = py.import("mayhap_bloom._mayhap")?.getattr("_restore")?;
        (restore, (slf.get().to_bytes(py), "warn")).into_pyobject(py)
    }

    fn __repr__(&self) -> String {
        let matrix = self.read();
        format!(
            "<mayhap_bloom.Matrix: {} sets of {} keys, {:e} promised, {} bytes>",
            matrix.num_sets(),
            matrix.expected_items(),
            matrix.target_fpp(),
            matrix.num_bytes()
        )
    }
}
