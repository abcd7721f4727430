//! Binary and JSON; `gob.rs` wraps the binary form.

use super::gob;
use crate::names::named;
use crate::{Bits, Error, Limits, Reader};
use base64::Engine;
use base64::engine::general_purpose::{GeneralPurpose, STANDARD, URL_SAFE};
use serde::{Deserialize, Serialize};
use std::borrow::Cow;

named! {
    /// The three forms that the library writes.
    #[derive(Debug, Clone, Copy, PartialEq, Eq)]
    pub enum BitsAndBloomsForm {
        /// `WriteTo`, `MarshalBinary`.
        Binary = "binary",
        /// `json.Marshal`.
        Json = "json",
        /// `gob.Encoder.Encode`.
        Gob = "gob",
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

/// The contents of a file: k, the bits, and the form.
pub(super) type Parsed = (u32, Bits, Form);

/// Reads a file in one of the three forms.
///
/// JSON starts with a brace, gob with the length and the negative number of a type; everything else
/// is binary.
pub(super) fn read(bytes: &[u8], limits: &Limits) -> Result<Parsed, Error> {
    if bytes.trim_ascii_start().starts_with(b"{") {
        return read_json(bytes, limits);
    }
    match gob::open(bytes)? {
        Some((envelope, value)) => read_binary(value, Form::Gob(envelope), limits),
        None => read_binary(bytes, Form::Binary, limits),
    }
}

fn read_binary(bytes: &[u8], form: Form, limits: &Limits) -> Result<Parsed, Error> {
    let mut reader = Reader::new(bytes);
    let (m, k) = (reader.u64_be("m")?, reader.u64_be("k")?);
    read_bits(m, k, reader, form, limits)
}

fn read_bits(
    m: u64,
    k: u64,
    mut reader: Reader<'_>,
    form: Form,
    limits: &Limits,
) -> Result<Parsed, Error> {
    let num_hashes = limits.check_hashes("k", k)?;
    let length = reader.u64_be("length of the bit set")?;
    // The library trusts this number and then reads past the end.
    Error::check(length == m, "length of the bit set", "m", length)?;
    let bits = Bits::read_be_words(&mut reader, m, limits)?;
    reader.finish()?;
    Ok((num_hashes, bits, form))
}

fn read_json(bytes: &[u8], limits: &Limits) -> Result<Parsed, Error> {
    let json: Json<'_> = serde_json::from_slice(bytes)
        .map_err(|error| Error::bad("JSON", "m, k and b of bits-and-blooms", error))?;
    limits.check_bits("m", json.m)?;
    let standard_alphabet = json.b.contains(['+', '/']);
    let set = base64(standard_alphabet)
        .decode(json.b.as_bytes())
        .map_err(|error| Error::bad("b", "base64", error))?;
    read_bits(json.m, json.k, Reader::new(&set), Form::Json { standard_alphabet }, limits)
}

impl Form {
    /// Its name for users.
    pub(super) fn public(&self) -> BitsAndBloomsForm {
        match self {
            Self::Binary => BitsAndBloomsForm::Binary,
            Self::Json { .. } => BitsAndBloomsForm::Json,
            Self::Gob(_) => BitsAndBloomsForm::Gob,
        }
    }

    /// The form in which Go writes a new filter.
    pub(super) fn of_new(form: BitsAndBloomsForm) -> Self {
        match form {
            BitsAndBloomsForm::Binary => Self::Binary,
            BitsAndBloomsForm::Json => Self::Json { standard_alphabet: false },
            BitsAndBloomsForm::Gob => Self::Gob(gob::Envelope::default()),
        }
    }

    /// The file of a filter.
    pub(super) fn encode(&self, k: u32, bits: &Bits) -> Vec<u8> {
        let m = bits.num_bits();
        let mut set = m.to_be_bytes().to_vec();
        set.reserve_exact(bits.words().len() * 8);
        bits.write_be_words(&mut set);
        let binary = || [&m.to_be_bytes()[..], &u64::from(k).to_be_bytes(), &set].concat();
        match self {
            Self::Binary => binary(),
            Self::Gob(envelope) => envelope.around(&binary()),
            Self::Json { standard_alphabet } => {
                let b = base64(*standard_alphabet).encode(&set);
                // As written by Go: no spaces, in this order.
                format!(r#"{{"m":{m},"k":{k},"b":"{b}"}}"#).into_bytes()
            }
        }
    }
}

fn base64(standard_alphabet: bool) -> &'static GeneralPurpose {
    if standard_alphabet { &STANDARD } else { &URL_SAFE }
}

/// Whether bytes begin like JSON written by Go.
pub(crate) fn is_json(bytes: &[u8]) -> bool {
    bytes.starts_with(br#"{"m":"#)
}
