//! Key options: how the command cuts keys out of lines, kept in a filter's file.
//!
//! A `str` is a value as in the input, and becomes a key in the form that the options give it:
//! lower case, a hash, the bytes of hexadecimal digits. Bytes and numbers are keys as they are. The
//! place of a value in a line (`--field`, `--csv`) does not affect its form.

use crate::error::Error;
use crate::key;
use mayhap::{Digest, DigestFunction};
use mayhap_keys::{Cutter, KeyOptions, LineEnd};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyString};
use std::sync::{Mutex, PoisonError};

/// The options in a header's text.
///
/// # Errors
///
/// `ValueError` for unknown options and values.
pub(crate) fn options(text: &str) -> PyResult<KeyOptions> {
    KeyOptions::from_header("key_options", text)
        .map_err(|error| PyValueError::new_err(error.to_string()))
}

/// The key of a line by these options; `None` if it has none. If a line has two possible keys,
/// since a filter may have been filled with either, it is the one with the carriage return if
/// `may_hold` finds it: then a query for the key covers both. A number is a key, not a line.
///
/// # Errors
///
/// The errors of [`options`], [`key::with_bytes`] and `may_hold`.
pub(crate) fn cut<'py>(
    line: &Bound<'py, PyAny>,
    text: &str,
    may_hold: impl FnOnce(&[u8]) -> PyResult<bool>,
) -> PyResult<Option<Bound<'py, PyBytes>>> {
    let py = line.py();
    if key::is_integer(line)? {
        return Ok(Some(PyBytes::new(py, &key::integer(line)?)));
    }
    let options = options(text)?;
    let key = key::with_bytes(line, |line| {
        let kept = options.with_cr_kept().filter(|_| line.ends_with(b"\r"));
        match kept.and_then(|kept| key_of(&kept, line)) {
            Some(key) if may_hold(&key)? => Ok::<_, PyErr>(Some(key)),
            _ => Ok(key_of(&options, line)),
        }
    })??;
    Ok(key.map(|key| PyBytes::new(py, &key)))
}

fn key_of(options: &KeyOptions, line: &[u8]) -> Option<Vec<u8>> {
    let Some(mut cutter) = Cutter::new(options) else {
        return Some(options.without_cr(line).to_vec());
    };
    let mut key = Vec::new();
    cutter.cut(line, &mut key).is_ok().then_some(key)
}

/// The form of a filter's keys, where it is not that of the values.
pub(crate) struct Form {
    /// The text in the header.
    text: String,
    options: KeyOptions,
    /// For single keys, which have the interpreter's lock.
    kept: Mutex<Option<Cutting>>,
}

impl Form {
    /// The form that the options of a header give keys; `None` if they leave values as they are, or
    /// are of a later version: then all keys are as they are, which the format allows.
    pub(crate) fn of(text: &str) -> Option<Box<Self>> {
        if text.is_empty() {
            return None;
        }
        // A value has no line end: a carriage return is part of it, unless the file records
        // otherwise.
        let value = KeyOptions { line_end: LineEnd::Lf, ..KeyOptions::default() };
        let options = options(text).ok()?.with_records_of("", &value).ok()?;
        Cutter::new(&options)?;
        Some(Box::new(Self { text: text.to_owned(), options, kept: Mutex::new(None) }))
    }

    /// Gives values the form of the filter's keys.
    ///
    /// # Errors
    ///
    /// [`Error::NoForm`].
    pub(crate) fn cutting(&self) -> Result<Cutting, Error> {
        // A query for a URL would be one for several keys.
        let cutter = Cutter::new(&self.options).filter(|_| !self.options.url_prefixes);
        let cutter = cutter.ok_or_else(|| Error::NoForm { key_options: self.text.clone() })?;
        Ok(Cutting { cutter, key: Vec::new(), text: self.text.clone() })
    }

    /// The digest of a key of a filter with this form.
    ///
    /// # Errors
    ///
    /// Same as [`key::digest`], [`Form::cutting`] and [`Cutting::cut`].
    #[cold]
    pub(crate) fn digest(
        &self,
        function: &DigestFunction,
        key: &Bound<'_, PyAny>,
    ) -> PyResult<Digest> {
        let Ok(value) = key.cast::<PyString>() else { return key::digest(function, key) };
        let mut kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        let cutting = match &mut *kept {
            Some(cutting) => cutting,
            none => none.insert(self.cutting()?),
        };
        Ok(function.digest(cutting.cut(value.to_str()?.as_bytes())?))
    }
}

/// Gives values their form, one after another.
pub(crate) struct Cutting {
    cutter: Cutter,
    key: Vec<u8>,
    text: String,
}

impl Cutting {
    /// The key of a value.
    ///
    /// # Errors
    ///
    /// [`Error::NoValue`]: it has none, as text that is no hexadecimal digits.
    pub(crate) fn cut(&mut self, value: &[u8]) -> Result<&[u8], Error> {
        self.key.clear();
        if self.cutter.cut(value, &mut self.key).is_err() {
            let value = String::from_utf8_lossy(value).into_owned();
            return Err(Error::NoValue { value, key_options: self.text.clone() });
        }
        Ok(&self.key)
    }
}
