//! Options in a JSON body, whose errors name them.

use super::Failure;
use serde::de::{IgnoredAny, MapAccess, SeqAccess, Visitor};
use serde::{Deserialize, Deserializer};
use std::fmt;

/// A JSON value as far as an option can have it: lists and objects are not kept.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Scalar {
    Flag(bool),
    Count(u64),
    Real(f64),
    Text(String),
    /// None of these.
    Other,
}

impl Scalar {
    /// A whole number that is not negative.
    pub(super) const fn count(&self) -> Option<u64> {
        if let Self::Count(number) = self { Some(*number) } else { None }
    }

    /// A number.
    pub(super) const fn real(&self) -> Option<f64> {
        match self {
            Self::Count(number) => Some(*number as f64),
            Self::Real(number) => Some(*number),
            _ => None,
        }
    }

    pub(super) const fn flag(&self) -> Option<bool> {
        if let Self::Flag(flag) = self { Some(*flag) } else { None }
    }

    pub(super) const fn text(&self) -> Option<&str> {
        if let Self::Text(text) = self { Some(text.as_str()) } else { None }
    }
}

/// The value of an option, if it is given.
///
/// # Errors
///
/// 400 with the allowed values of this option.
pub(super) fn read<T>(
    name: &str,
    value: Option<&Scalar>,
    expected: &str,
    read: impl FnOnce(&Scalar) -> Option<T>,
) -> Result<Option<T>, Failure> {
    let Some(value) = value else { return Ok(None) };
    read(value).map(Some).ok_or_else(|| Failure::bad(format!("{name} must be {expected}")))
}

impl<'de> Deserialize<'de> for Scalar {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(AnyValue)
    }
}

struct AnyValue;

impl<'de> Visitor<'de> for AnyValue {
    type Value = Scalar;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a value")
    }

    fn visit_bool<E>(self, flag: bool) -> Result<Scalar, E> {
        Ok(Scalar::Flag(flag))
    }

    fn visit_u64<E>(self, number: u64) -> Result<Scalar, E> {
        Ok(Scalar::Count(number))
    }

    fn visit_i64<E>(self, number: i64) -> Result<Scalar, E> {
        Ok(u64::try_from(number).map_or(Scalar::Real(number as f64), Scalar::Count))
    }

    fn visit_f64<E>(self, number: f64) -> Result<Scalar, E> {
        // `1000.0` and `1e3` are whole numbers, as in JSON Schema.
        let is_count = number >= 0.0 && number < u64::MAX as f64 && number.fract() == 0.0;
        Ok(if is_count { Scalar::Count(number as u64) } else { Scalar::Real(number) })
    }

    fn visit_str<E>(self, text: &str) -> Result<Scalar, E> {
        Ok(Scalar::Text(text.to_owned()))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<Scalar, A::Error> {
        while list.next_element::<IgnoredAny>()?.is_some() {}
        Ok(Scalar::Other)
    }

    fn visit_map<A: MapAccess<'de>>(self, mut object: A) -> Result<Scalar, A::Error> {
        while object.next_entry::<IgnoredAny, IgnoredAny>()?.is_some() {}
        Ok(Scalar::Other)
    }
}
