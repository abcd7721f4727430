//! Keys as bytes, for filters that hash them elsewhere: of other systems, and on servers.

use super::Sink;
use crate::cut::Cutting;
use crate::error::Error;
use crate::key;
use pyo3::prelude::*;
use pyo3::types::PyString;

/// The bytes of keys, in one piece of memory.
pub(crate) struct Keys {
    bytes: Vec<u8>,
    ends: Vec<usize>,
    /// Whether a number is hashed as the text of its digits.
    numbers_are_text: bool,
    /// The keys that are signed texts of numbers, and may be unsigned numbers.
    signed: Vec<usize>,
    /// Gives texts the form of the filter's keys, where it differs.
    cutting: Option<Cutting>,
}

impl Keys {
    /// None yet.
    pub(crate) fn new(numbers_are_text: bool, cutting: Option<Cutting>) -> Self {
        let (bytes, ends, signed) = (Vec::new(), Vec::new(), Vec::new());
        Self { bytes, ends, numbers_are_text, signed, cutting }
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
    /// `TypeError` for objects that are no keys.
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

    /// The keys in another form, given by `encode`; a signed number that it refuses is tried as
    /// unsigned.
    ///
    /// # Errors
    ///
    /// The first of `encode`.
    pub(crate) fn map(
        &self,
        encode: impl Fn(&[u8], &mut Vec<u8>) -> Result<Vec<u8>, Error>,
    ) -> Result<Self, Error> {
        let (mut mapped, mut scratch) = (Self::new(false, None), Vec::new());
        let mut signed = self.signed.iter().copied().peekable();
        for (i, key) in self.iter().enumerate() {
            let is_signed = signed.next_if_eq(&i).is_some();
            scratch.clear();
            let encoded = encode(key, &mut scratch).or_else(|error| {
                let number = is_signed.then(|| std::str::from_utf8(key).ok()?.parse::<i64>().ok());
                let number = number.flatten().ok_or(error)?;
                scratch.clear();
                encode(number.cast_unsigned().to_string().as_bytes(), &mut scratch)
            })?;
            mapped.bytes(&encoded)?;
        }
        Ok(mapped)
    }
}

impl Sink for Keys {
    fn bytes(&mut self, key: &[u8]) -> Result<(), Error> {
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
            if !self.numbers_are_text {
                self.bytes(&key.to_le_bytes())?;
                continue;
            }
            // Other systems have signed numbers; most of them no others.
            let number = key.cast_signed();
            if number < 0 {
                self.signed.push(self.ends.len());
            }
            self.bytes(number.to_string().as_bytes())?;
        }
        Ok(())
    }
}
