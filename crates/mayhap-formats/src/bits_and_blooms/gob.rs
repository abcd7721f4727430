//! The two messages of a gob stream with one value of a type that encodes itself.
//!
//! | bytes | field |
//! |---|---|
//! | uint | length of the first message |
//! | int | minus the number of the type |
//! | 05 … | the type: one with `GobEncode`; its name and number are kept as they are |
//! | uint | length of the second message |
//! | int | the number of the type |
//! | 00 | a value that is not a struct |
//! | uint, bytes | length of the value, the value |
//!
//! A uint below 128 is one byte; others are a byte `-n` and n bytes, most significant first. An int
//! is a uint shifted left, complemented if negative (`encoding/gob`, "Encoding Details").

use crate::{Error, Reader};

/// A type definition is some tens of bytes.
const MAX_TYPE_BYTES: u64 = 255;

/// The declared type, so that it is written back with its number.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Envelope {
    /// The first message without its length.
    declaration: Vec<u8>,
    type_number: u64,
}

impl Default for Envelope {
    /// The messages of a program whose first gob value is the filter.
    fn default() -> Self {
        let declaration = b"\xFF\x81\x05\x01\x02\xFF\x84\x00\x00\x00".to_vec();
        Self { declaration, type_number: 65 }
    }
}

impl Envelope {
    /// The stream of a value.
    pub(super) fn around(&self, value: &[u8]) -> Vec<u8> {
        let mut message = Vec::with_capacity(value.len() + 20);
        put_uint(&mut message, self.type_number << 1);
        message.push(0);
        put_uint(&mut message, value.len() as u64);
        message.extend(value);
        let mut out = Vec::with_capacity(message.len() + 20);
        put_uint(&mut out, self.declaration.len() as u64);
        out.extend(&self.declaration);
        put_uint(&mut out, message.len() as u64);
        out.extend(message);
        out
    }
}

/// The envelope and the value in it; `None` if the bytes do not begin like a gob stream.
pub(super) fn open(bytes: &[u8]) -> Result<Option<(Envelope, &[u8])>, Error> {
    let mut reader = Reader::new(bytes);
    let Some(type_number) = declared_type(&mut reader.clone()) else { return Ok(None) };
    let len = uint(&mut reader)?;
    let declaration = reader.take("type of a gob", len)?.to_vec();
    let len = uint(&mut reader)?;
    let mut message = Reader::new(reader.take("value of a gob", len)?);
    reader.finish()?;
    let value_type = uint(&mut message)?;
    let is_it = value_type == type_number << 1;
    Error::check(is_it, "type of the gob's value", "the one declared", value_type >> 1)?;
    let delta = message.u8("value of a gob")?;
    Error::check(delta == 0, "delta of the gob's value", "0", delta)?;
    let len = uint(&mut message)?;
    let value = message.take("value of a gob", len)?;
    message.finish()?;
    Ok(Some((Envelope { declaration, type_number }, value)))
}

/// The number of the type if a declaration of one with `GobEncode` is here. The binary form never
/// looks like that: its first byte would make m larger than any limit.
fn declared_type(reader: &mut Reader<'_>) -> Option<u64> {
    let len = uint(reader).ok().filter(|len| (4..=MAX_TYPE_BYTES).contains(len))?;
    let mut declaration = Reader::new(reader.take("type of a gob", len).ok()?);
    let number = uint(&mut declaration).ok()?;
    let negative = number & 1 == 1;
    let type_number = (number >> 1) + 1;
    let encodes_itself = declaration.u8("type of a gob").ok()? == 5;
    (negative && encodes_itself && type_number < 1 << 31).then_some(type_number)
}

/// Whether bytes begin with the declaration of a type with `GobEncode`.
pub(crate) fn is_gob(bytes: &[u8]) -> bool {
    declared_type(&mut Reader::new(bytes)).is_some()
}

/// A number in its shortest form.
fn uint(reader: &mut Reader<'_>) -> Result<u64, Error> {
    let first = reader.u8("number of a gob")?;
    if first < 128 {
        return Ok(u64::from(first));
    }
    let len = u64::from(first.wrapping_neg());
    let bytes = reader.take("number of a gob", len)?;
    let shortest = bytes.first().is_some_and(|&byte| byte != 0) && !matches!(bytes, [0..128]);
    let allowed = "1 to 8 bytes in the shortest form";
    Error::check(len <= 8 && shortest, "number of a gob", allowed, len)?;
    Ok(bytes.iter().fold(0, |number, &byte| number << 8 | u64::from(byte)))
}

fn put_uint(out: &mut Vec<u8>, number: u64) {
    if number < 128 {
        out.push(number as u8);
        return;
    }
    let bytes = number.to_be_bytes();
    let zeros = number.leading_zeros() as usize / 8;
    out.push(((8 - zeros) as u8).wrapping_neg());
    out.extend(&bytes[zeros..]);
}
