//! One value out of a line of JSON, by its pointer.

use super::error::ValueError;
use super::escape::escape;
use super::keyless::NoKey;
use serde::Deserialize;
use serde::de::{DeserializeSeed, Deserializer, IgnoredAny, MapAccess, SeqAccess, Visitor};
use serde_json::value::RawValue;
use std::fmt;

/// The most names in a pointer: the JSON reader follows 127 levels.
const MAX_TOKENS: usize = 100;

/// The most bytes of a pointer in a header, where all options together have 2048.
const MAX_BYTES: usize = 1800;

/// A path into a JSON value: `/user/id`, `/items/0` (RFC 6901).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct JsonPointer {
    text: String,
    tokens: Vec<Token>,
}

/// One step.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Token {
    /// The name of a member.
    name: String,
    /// The same as the number of an element, if it is one.
    index: Option<usize>,
}

impl JsonPointer {
    /// Reads a pointer: nothing for the whole value, else a `/` before each name; `~1` is a `/`
    /// in a name, `~0` a `~`.
    ///
    /// # Errors
    ///
    /// [`ValueError::RelativePointer`], [`ValueError::Tilde`]; [`ValueError::DeepPointer`] for more
    /// than 100 names, and [`ValueError::LongPointer`] for more than 1800 bytes.
    ///
    /// ```
    /// use mayhap_keys::{JsonPointer, ValueError};
    /// assert!(JsonPointer::parse("/user/id").is_ok());
    /// let error = JsonPointer::parse("user").unwrap_err();
    /// assert_eq!(error, ValueError::RelativePointer("user".into()));
    /// assert_eq!(error.to_string(), "it must begin with /: /user");
    /// ```
    pub fn parse(text: &str) -> Result<Self, ValueError> {
        let found = escape(text.as_bytes()).len();
        if found > MAX_BYTES {
            return Err(ValueError::LongPointer { limit: MAX_BYTES, found });
        }
        let mut names = text.split('/');
        if names.next().is_some_and(|before| !before.is_empty()) {
            return Err(ValueError::RelativePointer(escape(text.as_bytes())));
        }
        let tokens = names.map(Token::parse).collect::<Result<Vec<_>, _>>()?;
        if tokens.len() > MAX_TOKENS {
            return Err(ValueError::DeepPointer { limit: MAX_TOKENS, found: tokens.len() });
        }
        Ok(Self { text: text.into(), tokens })
    }

    /// The text that was parsed.
    pub fn as_str(&self) -> &str {
        &self.text
    }

    /// The key at the pointer: a text without its quotes and escapes (which takes `scratch`), a
    /// number, `true` or `false` as written. If several members have the same name, the last
    /// counts.
    ///
    /// # Errors
    ///
    /// [`NoKey::Json`] if the line is not one JSON value in UTF-8, [`NoKey::Value`] if anything
    /// else is at the pointer.
    pub(super) fn find<'a>(
        &self,
        line: &'a [u8],
        scratch: &'a mut String,
    ) -> Result<&'a [u8], NoKey> {
        let line = std::str::from_utf8(line).map_err(|_| NoKey::Json)?;
        let mut reader = serde_json::Deserializer::from_str(line);
        let found = Walk(&self.tokens).deserialize(&mut reader).map_err(|_| NoKey::Json)?;
        // A line cut short has no key, even if the value is before the cut.
        reader.end().map_err(|_| NoKey::Json)?;
        let found = found.ok_or(NoKey::Value)?.get();
        match found.as_bytes() {
            [b'"', text @ .., b'"'] => {
                if memchr::memchr(b'\\', text).is_none() {
                    return Ok(text);
                }
                // An escape for half a character is JSON, but there is no UTF-8 of it.
                *scratch = serde_json::from_str(found).map_err(|_| NoKey::Value)?;
                Ok(scratch.as_bytes())
            }
            [b'{' | b'[' | b'n', ..] | [] => Err(NoKey::Value),
            number_or_bool => Ok(number_or_bool),
        }
    }
}

impl Token {
    fn parse(text: &str) -> Result<Self, ValueError> {
        let mut name = String::with_capacity(text.len());
        let mut chars = text.chars();
        while let Some(char) = chars.next() {
            name.push(match (char, char == '~') {
                (_, true) => match chars.next() {
                    Some('0') => '~',
                    Some('1') => '/',
                    _ => return Err(ValueError::Tilde),
                },
                (char, false) => char,
            });
        }
        let digits = name.bytes().all(|byte| byte.is_ascii_digit());
        let index = digits && (name.len() == 1 || !name.starts_with('0'));
        Ok(Self { index: name.parse().ok().filter(|_| index), name })
    }
}

/// Walks down the tokens and skips everything else, without building values.
#[derive(Clone, Copy)]
struct Walk<'p>(&'p [Token]);

impl<'de> DeserializeSeed<'de> for Walk<'_> {
    type Value = Option<&'de RawValue>;

    fn deserialize<D: Deserializer<'de>>(self, from: D) -> Result<Self::Value, D::Error> {
        if self.0.is_empty() {
            return <&RawValue>::deserialize(from).map(Some);
        }
        from.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Walk<'_> {
    type Value = Option<&'de RawValue>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a JSON value")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
        let Some((token, rest)) = self.0.split_first() else { return Ok(None) };
        let mut found = None;
        while let Some(wanted) = map.next_key_seed(IsName(&token.name))? {
            if wanted {
                found = map.next_value_seed(Walk(rest))?;
            } else {
                map.next_value::<IgnoredAny>()?;
            }
        }
        Ok(found)
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<Self::Value, A::Error> {
        let Some((token, rest)) = self.0.split_first() else { return Ok(None) };
        let mut found = None;
        for index in 0.. {
            let more = if token.index == Some(index) {
                seq.next_element_seed(Walk(rest))?.map(|value| found = value)
            } else {
                seq.next_element::<IgnoredAny>()?.map(|_| ())
            };
            if more.is_none() {
                break;
            }
        }
        Ok(found)
    }

    fn visit_bool<E>(self, _: bool) -> Result<Self::Value, E> {
        Ok(None)
    }

    fn visit_i64<E>(self, _: i64) -> Result<Self::Value, E> {
        Ok(None)
    }

    fn visit_u64<E>(self, _: u64) -> Result<Self::Value, E> {
        Ok(None)
    }

    fn visit_f64<E>(self, _: f64) -> Result<Self::Value, E> {
        Ok(None)
    }

    fn visit_str<E>(self, _: &str) -> Result<Self::Value, E> {
        Ok(None)
    }

    fn visit_unit<E>(self) -> Result<Self::Value, E> {
        Ok(None)
    }
}

/// Whether the name of a member is this one.
struct IsName<'p>(&'p str);

impl<'de> DeserializeSeed<'de> for IsName<'_> {
    type Value = bool;

    fn deserialize<D: Deserializer<'de>>(self, from: D) -> Result<bool, D::Error> {
        // Not as text: a name may be an escape for half a character.
        from.deserialize_bytes(self)
    }
}

impl Visitor<'_> for IsName<'_> {
    type Value = bool;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the name of a member")
    }

    fn visit_bytes<E>(self, name: &[u8]) -> Result<bool, E> {
        Ok(name == self.0.as_bytes())
    }

    fn visit_str<E>(self, name: &str) -> Result<bool, E> {
        Ok(name == self.0)
    }
}
