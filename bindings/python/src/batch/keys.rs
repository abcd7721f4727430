//! Keys as bytes, for filters that hash them elsewhere: of other systems, and on servers.

use super::Sink;
use crate::cut::Cutting;
use crate::error::Error;
use crate::key;
use mayhap_formats::KeyType;
use pyo3::prelude::*;
use pyo3::types::PyString;

/// The bytes of keys, in one piece of memory.
pub(crate) struct Keys {
    bytes: Vec<u8>,
    ends: Vec<usize>,
    /// How the texts of keys are encoded.
    key_type: Option<KeyType>,
    /// Whether a number is the text of its digits.
    numbers_are_text: bool,
    /// What gives texts the form of the filter's keys, if it is not theirs.
    cutting: Option<Cutting>,
    scratch: Vec<u8>,
}

impl Keys {
    /// None yet. With a key type, texts are encoded by it, and so are the digits of numbers.
    pub(crate) fn new(
        key_type: Option<KeyType>,
        numbers_are_text: bool,
        cutting: Option<Cutting>,
    ) -> Self {
        let (bytes, ends, scratch) = (Vec::new(), Vec::new(), Vec::new());
        Self { bytes, ends, key_type, numbers_are_text, cutting, scratch }
    }

    /// The keys, in order.
    pub(crate) fn iter(&self) -> impl Iterator<Item = &[u8]> {
        let starts = std::iter::once(0).chain(self.ends.iter().copied());
        starts.zip(&self.ends).map(|(start, &end)| &self.bytes[start..end])
    }

    /// Takes one more.
    ///
    /// # Errors
    ///
    /// `TypeError` for what is no key, those of its type.
    pub(crate) fn push(&mut self, key: &Bound<'_, PyAny>) -> PyResult<()> {
        if let Ok(text) = key.cast::<PyString>() {
            return Ok(self.text(text.to_str()?.as_bytes())?);
        }
        if key::is_integer(key)? {
            let number = u64::from_le_bytes(key::integer(key)?);
            return Ok(self.integers(&[number])?);
        }
        Ok(key::with_bytes(key, |bytes| self.bytes(bytes))??)
    }
}

impl Sink for Keys {
    fn bytes(&mut self, key: &[u8]) -> Result<(), Error> {
        let key = match self.key_type {
            Some(key_type) => key_type.encode(key, &mut self.scratch)?,
            None => key,
        };
        self.bytes.extend_from_slice(key);
        self.ends.push(self.bytes.len());
        Ok(())
    }

    fn text(&mut self, text: &[u8]) -> Result<(), Error> {
        let Some(mut cutting) = self.cutting.take() else { return self.bytes(text) };
        let pushed = cutting.cut(text).and_then(|key| self.bytes(key));
        self.cutting = Some(cutting);
        pushed
    }

    fn integers(&mut self, keys: &[u64]) -> Result<(), Error> {
        for &key in keys {
            if self.numbers_are_text {
                self.bytes(digits(key).as_bytes())?;
            } else {
                self.bytes(&key.to_le_bytes())?;
            }
        }
        Ok(())
    }
}

/// A number as text; other systems have signed ones.
fn digits(number: u64) -> String {
    number.cast_signed().to_string()
}
