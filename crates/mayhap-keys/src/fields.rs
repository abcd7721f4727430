//! Which fields of a record have the key, and how several become one.

use super::ValueError;
use std::fmt;
use std::num::NonZeroU32;

/// More than enough in practice, and few enough for a filter's header.
const MAX_FIELDS: usize = 32;

/// Between two fields of a key: the unit separator of ASCII, which hardly any text holds.
const SEPARATOR: u8 = 0x1F;

/// Precedes a separator, or another one of itself, inside a field: data link escape.
const ESCAPE: u8 = 0x10;

/// The numbers of one or more fields, counted from 1, in the order in which they make up the key.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Fields(Vec<NonZeroU32>);

impl Fields {
    /// One field.
    pub fn one(number: NonZeroU32) -> Self {
        Self(vec![number])
    }

    /// Reads `3` or `1,3`.
    ///
    /// # Errors
    ///
    /// [`ValueError::Field`] for anything but numbers from 1 on, [`ValueError::ManyFields`] for
    /// more than 32 of them.
    ///
    /// ```
    /// use mayhap_keys::Fields;
    /// assert_eq!(Fields::parse("3,1").unwrap().to_string(), "3,1");
    /// assert!(Fields::parse("1-3").is_err() && Fields::parse("1,").is_err());
    /// ```
    pub fn parse(text: &str) -> Result<Self, ValueError> {
        let found = text.split(',').count();
        if found > MAX_FIELDS {
            return Err(ValueError::ManyFields { limit: MAX_FIELDS, found });
        }
        text.split(',').map(parse_number).collect::<Result<_, _>>().map(Self)
    }

    /// The numbers; at least one.
    pub fn numbers(&self) -> &[NonZeroU32] {
        &self.0
    }

    /// Whether the key is more than one field.
    pub fn are_several(&self) -> bool {
        self.0.len() > 1
    }
}

impl fmt::Display for Fields {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (i, number) in self.0.iter().enumerate() {
            write!(f, "{}{number}", if i > 0 { "," } else { "" })?;
        }
        Ok(())
    }
}

fn parse_number(text: &str) -> Result<NonZeroU32, ValueError> {
    let is_number = text.bytes().all(|byte| byte.is_ascii_digit());
    text.parse().ok().filter(|_| is_number).ok_or(ValueError::Field)
}

/// Appends the separator of two fields.
pub(super) fn push_separator(keys: &mut Vec<u8>) {
    keys.push(SEPARATOR);
}

/// Escapes the field that begins at `start`, so that no two lists of fields are one key.
pub(super) fn escape_field(keys: &mut Vec<u8>, start: usize) {
    let Some(first) = memchr::memchr2(SEPARATOR, ESCAPE, &keys[start..]) else { return };
    let rest = keys.split_off(start + first);
    for byte in rest {
        if matches!(byte, SEPARATOR | ESCAPE) {
            keys.push(ESCAPE);
        }
        keys.push(byte);
    }
}

/// The bytes between two delimiters, counted from 1; a line without delimiters is one field.
pub(super) fn nth_field(line: &[u8], delim: u8, field: NonZeroU32) -> Option<&[u8]> {
    let mut delims = memchr::memchr_iter(delim, line);
    let start = match field.get() as usize - 1 {
        0 => 0,
        before => delims.nth(before - 1)? + 1,
    };
    Some(&line[start..delims.next().unwrap_or(line.len())])
}
