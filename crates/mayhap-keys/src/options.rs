//! The options, what they have to agree with, and what they are in words.

use super::escape::escape;
use super::{Error, JsonPointer, Mismatch, ValueError};
use std::num::NonZeroU32;

/// What a key is: the bytes of a line without its separator, as they are unless said otherwise.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
#[expect(clippy::struct_excessive_bools, reason = "each is an option of its own")]
pub struct KeyOptions {
    /// Lines end with NUL instead of a line feed (`-0`).
    pub nul: bool,
    /// One carriage return at the end of a line is not part of its key (`--crlf`).
    pub strip_cr: bool,
    /// What stands between fields (`--delim`); a tab if none is named.
    pub delim: Option<u8>,
    /// The field that has the key, from 1 (`--field`).
    pub field: Option<NonZeroU32>,
    /// The JSON value that is the key (`--json-pointer`).
    pub json_pointer: Option<JsonPointer>,
    /// ASCII white space at both ends is not part of the key (`--trim`).
    pub trim: bool,
    /// ASCII letters are lower case (`--lower`).
    pub lower: bool,
    /// The key is the bytes that hex digits stand for (`--hex`).
    pub hex: bool,
    /// The key is a URL in normal form (`--normalize-url`).
    pub normalize_url: bool,
    /// The times of a window are milliseconds since 1970: no matter of keys, but kept with them.
    pub unix_ms: bool,
}

/// One option that is set.
pub(super) struct Entry {
    /// As it is typed.
    pub(super) flag: &'static str,
    /// As it stands in a header.
    pub(super) name: &'static str,
    pub(super) value: String,
    /// Whether the value is typed too.
    typed: bool,
    /// Whether it says what a key looks like, and not where in the input it stands.
    is_form: bool,
}

impl KeyOptions {
    /// The byte that ends a line.
    pub fn separator(&self) -> u8 {
        if self.nul { 0 } else { b'\n' }
    }

    /// The byte between fields.
    pub fn delim(&self) -> u8 {
        self.delim.unwrap_or(b'\t')
    }

    /// Whether both cut the same keys.
    pub fn cuts_like(&self, other: &Self) -> bool {
        let header = |options: &Self| Self { unix_ms: false, ..options.clone() }.to_header();
        header(self) == header(other)
    }

    /// The options of a filter file, if the flags that were given do not contradict them. Those
    /// that were not given are as in the file.
    ///
    /// # Errors
    ///
    /// [`Error::Mismatch`] naming both.
    pub fn agree(self, name: &str, given: &Self) -> Result<Self, Error> {
        self.refuse_others(name, given.entries())?;
        Ok(self)
    }

    /// The options for asking a filter file with keys from other input than it was made of: where
    /// they stand in the input (`-0`, `--crlf`, `--delim`, `--field`, `--json-pointer`) as given,
    /// their form (`--trim`, `--lower`, `--hex`, `--normalize-url`) as in the file.
    ///
    /// # Errors
    ///
    /// [`Error::Mismatch`] if a form is given that the file's is not.
    pub fn with_records_of(self, name: &str, given: &Self) -> Result<Self, Error> {
        self.refuse_others(name, given.entries().into_iter().filter(|entry| entry.is_form))?;
        let Self { nul, strip_cr, delim, field, json_pointer, .. } = given.clone();
        Ok(Self { nul, strip_cr, delim, field, json_pointer, ..self })
    }

    fn refuse_others(
        &self,
        name: &str,
        given: impl IntoIterator<Item = Entry>,
    ) -> Result<(), Error> {
        let ours = self.complete().entries();
        for Entry { flag, value, typed, .. } in given {
            let show = |value: &str| {
                if typed { format!("{flag} {value}") } else { flag.to_owned() }
            };
            let has = match ours.iter().find(|ours| ours.flag == flag) {
                Some(ours) if ours.value == value => continue,
                Some(ours) => Mismatch::With(show(&ours.value)),
                None => Mismatch::Without,
            };
            let (filter, given) = (name.to_owned(), show(&value));
            return Err(Error::Mismatch { filter, flag, given, has });
        }
        Ok(())
    }

    /// With the delimiter that no one named.
    pub(super) fn complete(&self) -> Self {
        let delim = self.delim.or(self.field.map(|_| self.delim()));
        Self { delim, ..self.clone() }
    }

    /// The options that are set, in the order of a header.
    pub(super) fn entries(&self) -> Vec<Entry> {
        let set = |is_set: bool, value: &str| is_set.then(|| value.to_owned());
        let all = [
            ("-0", "separator", set(self.nul, "nul"), false, false),
            ("--crlf", "crlf", set(self.strip_cr, "strip"), false, false),
            ("--delim", "delim", self.delim.map(|delim| escape(&[delim])), true, false),
            ("--field", "field", self.field.map(|field| field.to_string()), true, false),
            ("--json-pointer", "json-pointer", self.escaped_pointer(), true, false),
            ("--trim", "trim", set(self.trim, "ascii"), false, true),
            ("--hex", "hex", set(self.hex, "decode"), false, true),
            ("--normalize-url", "normalize-url", set(self.normalize_url, "whatwg"), false, true),
            ("--lower", "lower", set(self.lower, "ascii"), false, true),
            ("--clock", "clock", set(self.unix_ms, "unix-ms"), false, false),
        ];
        let entry = |(flag, name, value, typed, is_form): (_, _, Option<String>, _, _)| {
            value.map(|value| Entry { flag, name, value, typed, is_form })
        };
        all.into_iter().filter_map(entry).collect()
    }

    fn escaped_pointer(&self) -> Option<String> {
        self.json_pointer.as_ref().map(|pointer| escape(pointer.as_str().as_bytes()))
    }

    /// In words, for people.
    pub fn describe(&self) -> String {
        let end = if self.nul { "NUL" } else { "line feed" };
        let crlf = if self.strip_cr { r", without \r before it" } else { "" };
        let line = format!("a line up to its {end}{crlf}");
        let mut text = match (self.field, self.escaped_pointer()) {
            (Some(field), _) => {
                format!("field {field}, between \"{}\", of {line}", escape(&[self.delim()]))
            }
            (None, Some(pointer)) => format!("the JSON value at \"{pointer}\" of {line}"),
            (None, None) => line,
        };
        for (is_set, words) in [
            (self.trim, "; no white space around it"),
            (self.hex, "; the bytes of its hex digits"),
            (self.normalize_url, "; as a normalized URL"),
            (self.lower, "; ASCII letters in lower case"),
        ] {
            if is_set {
                text.push_str(words);
            }
        }
        text
    }
}

/// Reads the number of a field.
///
/// # Errors
///
/// [`ValueError::Field`].
pub fn parse_field(text: &str) -> Result<NonZeroU32, ValueError> {
    let number = text.bytes().all(|byte| byte.is_ascii_digit());
    text.parse().ok().filter(|_| number).ok_or(ValueError::Field)
}
