//! Binary and JSON; `gob.rs` wraps the binary form.

use super::filter::BitsAndBloomsFilter;
use super::gob;
use crate::{Bits, Error, ForeignFilter, Limits, Reader};
use base64::Engine;
use base64::engine::general_purpose::{GeneralPurpose, STANDARD, URL_SAFE};
use serde::{Deserialize, Serialize};
use std::borrow::Cow;

/// The three forms that the library writes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum BitsAndBloomsForm {
    /// `WriteTo`, `MarshalBinary`.
    Binary,
    /// `json.Marshal`.
    Json,
    /// `gob.Encoder.Encode`.
    Gob,
}

impl BitsAndBloomsForm {
    /// The name in JSON.
    pub fn name(self) -> &'static str {
        match self {
            Self::Binary => "binary",
            Self::Json => "json",
            Self::Gob => "gob",
        }
    }
}

/// The form in which a filter was read and is written back.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Form {
    Binary,
    Json { standard_alphabet: bool },
    Gob(gob::Envelope),
}

#[derive(Serialize, Deserialize)]
struct Json<'a> {
    m: u64,
    k: u64,
    #[serde(borrow)]
    b: Cow<'a, str>,
}

impl BitsAndBloomsFilter {
    /// Reads a file in one of the three forms; it is written back in the same.
    ///
    /// JSON starts with a brace, gob with the length and the negative number of a type; everything
    /// else is binary.
    ///
    /// # Errors
    ///
    /// [`Error::BadField`], [`Error::Zero`], [`Error::TooLarge`], [`Error::Truncated`] before
    /// anything is allocated; [`Error::TrailingBytes`], [`Error::OutOfMemory`].
    pub fn decode(bytes: &[u8], limits: &Limits) -> Result<Self, Error> {
        if bytes.trim_ascii_start().starts_with(b"{") {
            return Self::decode_json(bytes, limits);
        }
        if let Some((envelope, value)) = gob::open(bytes)? {
            return Ok(Self { form: Form::Gob(envelope), ..Self::decode_binary(value, limits)? });
        }
        Self::decode_binary(bytes, limits)
    }

    fn decode_binary(bytes: &[u8], limits: &Limits) -> Result<Self, Error> {
        let mut reader = Reader::new(bytes);
        let (m, k) = (reader.u64_be("m")?, reader.u64_be("k")?);
        let filter = Self::decode_bits(m, k, reader, Form::Binary, limits)?;
        Ok(filter)
    }

    fn decode_bits(
        m: u64,
        k: u64,
        mut reader: Reader<'_>,
        form: Form,
        limits: &Limits,
    ) -> Result<Self, Error> {
        let num_hashes = limits.check_hashes("k", k)?;
        let length = reader.u64_be("length of the bit set")?;
        // The library trusts this number and then reads past the end.
        if length != m {
            return Err(Error::bad("length of the bit set", "m", length));
        }
        let bits = Bits::read_be_words(&mut reader, m, limits)?;
        reader.finish()?;
        Ok(Self::of(num_hashes, bits, form))
    }

    fn decode_json(bytes: &[u8], limits: &Limits) -> Result<Self, Error> {
        let json: Json<'_> = serde_json::from_slice(bytes)
            .map_err(|error| Error::bad("JSON", "m, k and b of bits-and-blooms", error))?;
        limits.check_bits("m", json.m)?;
        let standard_alphabet = json.b.contains(['+', '/']);
        let set = base64(standard_alphabet)
            .decode(json.b.as_bytes())
            .map_err(|error| Error::bad("b", "base64", error))?;
        let form = Form::Json { standard_alphabet };
        Self::decode_bits(json.m, json.k, Reader::new(&set), form, limits)
    }

    /// The form of the file.
    pub fn form(&self) -> BitsAndBloomsForm {
        match self.form {
            Form::Binary => BitsAndBloomsForm::Binary,
            Form::Json { .. } => BitsAndBloomsForm::Json,
            Form::Gob(_) => BitsAndBloomsForm::Gob,
        }
    }

    /// Sets another form for writing.
    pub fn set_form(&mut self, form: BitsAndBloomsForm) {
        if form != self.form() {
            self.form = match form {
                BitsAndBloomsForm::Binary => Form::Binary,
                BitsAndBloomsForm::Json => Form::Json { standard_alphabet: false },
                BitsAndBloomsForm::Gob => Form::Gob(gob::Envelope::default()),
            };
        }
    }

    fn to_bit_set(&self) -> Vec<u8> {
        let bits = &self.inner.bits;
        let mut out = Vec::with_capacity(8 + bits.words().len() * 8);
        out.extend(bits.num_bits().to_be_bytes());
        bits.write_be_words(&mut out);
        out
    }

    fn to_binary(&self) -> Vec<u8> {
        let mut out = Vec::with_capacity(24 + self.inner.bits.words().len() * 8);
        out.extend(self.num_bits().to_be_bytes());
        out.extend(u64::from(self.num_hashes()).to_be_bytes());
        out.extend(self.to_bit_set());
        out
    }

    pub(super) fn to_file(&self) -> Vec<u8> {
        match &self.form {
            Form::Binary => self.to_binary(),
            Form::Gob(envelope) => envelope.around(&self.to_binary()),
            Form::Json { standard_alphabet } => {
                let b = base64(*standard_alphabet).encode(self.to_bit_set());
                // As written by Go: no spaces, in this order.
                let (m, k) = (self.num_bits(), self.num_hashes());
                format!(r#"{{"m":{m},"k":{k},"b":"{b}"}}"#).into_bytes()
            }
        }
    }
}

fn base64(standard_alphabet: bool) -> &'static GeneralPurpose {
    if standard_alphabet { &STANDARD } else { &URL_SAFE }
}

/// Whether bytes begin as Go writes the JSON.
pub(crate) fn is_json(bytes: &[u8]) -> bool {
    bytes.starts_with(br#"{"m":"#)
}
