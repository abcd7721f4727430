//! The options, their compatibility, and their description in words.

use super::escape::escape;
use super::{Error, Fields, JsonPointer, LineEnd, Mismatch};

/// The options of keys: by default a key is the bytes of a line without its separator, as they are.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
#[expect(clippy::struct_excessive_bools, reason = "each is an option of its own")]
pub struct KeyOptions {
    /// Lines end with NUL instead of a line feed.
    pub nul: bool,
    /// Whether a carriage return at the end of a line is part of its key.
    pub line_end: LineEnd,
    /// Lines are records of CSV, whose fields may be quoted; only with `field`.
    pub csv: bool,
    /// The delimiter between fields; by default a tab, in CSV a comma.
    pub delim: Option<u8>,
    /// The fields that make up the key.
    pub field: Option<Fields>,
    /// The JSON value that is the key.
    pub json_pointer: Option<JsonPointer>,
    /// ASCII white space at both ends is not part of the key.
    pub trim: bool,
    /// ASCII letters are lower case.
    pub lower: bool,
    /// ASCII letters are upper case.
    pub upper: bool,
    /// The key is the bytes written as hex digits.
    pub hex: bool,
    /// The key is a URL in normal form.
    pub normalize_url: bool,
    /// The key is the host of a URL or of an address.
    pub domain: bool,
    /// The key is a URL as an expression of Safe Browsing, and a query is for all of its
    /// expressions ([`for_each_expression`](super::for_each_expression)).
    pub url_prefixes: bool,
    /// Case is folded by the full default case folding of Unicode.
    pub fold: bool,
    /// The key is the 20 bytes of the SHA-1 of the key without this option.
    pub sha1: bool,
    /// The times of a window are milliseconds since 1970: not about keys, but kept with them.
    pub unix_ms: bool,
}

/// One option that is set.
pub(super) struct Entry {
    /// The name that users know.
    pub(super) option: &'static str,
    /// The name in a header.
    pub(super) name: &'static str,
    pub(super) value: String,
    /// Whether users choose the value.
    typed: bool,
    /// Whether it is about the form of a key, and not about its place in the input.
    is_form: bool,
}

impl KeyOptions {
    /// The byte that ends a line.
    pub fn separator(&self) -> u8 {
        if self.nul { 0 } else { b'\n' }
    }

    /// The byte between fields.
    pub fn delim(&self) -> u8 {
        self.delim.unwrap_or(if self.csv { b',' } else { b'\t' })
    }

    /// The options of a new filter: the treatment of carriage returns is recorded, unless its lines
    /// do not end with a line feed.
    #[must_use]
    pub fn for_new(&self) -> Self {
        let line_end = match self.line_end {
            LineEnd::Unrecorded if !self.nul => LineEnd::CrLf,
            recorded => recorded,
        };
        Self { line_end, ..self.clone() }
    }

    /// Whether a carriage return at the end of a line is no part of its key.
    pub fn strips_cr(&self) -> bool {
        match self.line_end {
            LineEnd::CrLf => true,
            LineEnd::Unrecorded => !self.nul,
            LineEnd::Lf => false,
        }
    }

    /// A line without its separator, as far as it can be part of a key.
    ///
    /// ```
    /// use mayhap_keys::{KeyOptions, LineEnd};
    /// let raw = KeyOptions { line_end: LineEnd::Lf, ..KeyOptions::default() };
    /// assert_eq!(KeyOptions::default().without_cr(b"a\r"), b"a");
    /// assert_eq!(raw.without_cr(b"a\r"), b"a\r");
    /// ```
    pub fn without_cr<'a>(&self, line: &'a [u8]) -> &'a [u8] {
        if self.strips_cr() { line.strip_suffix(b"\r").unwrap_or(line) } else { line }
    }

    /// How keys with carriage returns in them are cut, if the filter may have some: it does not
    /// record their treatment, and earlier versions left them in the keys of some lists.
    pub fn with_cr_kept(&self) -> Option<Self> {
        let may_end_keys = !(self.nul || self.csv || self.trim || self.json_pointer.is_some());
        let any_text = !(self.normalize_url || self.domain || self.url_prefixes || self.hex);
        let is_asked = self.line_end == LineEnd::Unrecorded && may_end_keys && any_text;
        is_asked.then(|| Self { line_end: LineEnd::Lf, ..self.clone() })
    }

    /// Whether both cut the same keys.
    pub fn cuts_like(&self, other: &Self) -> bool {
        let header = |options: &Self| Self { unix_ms: false, ..options.clone() }.to_header();
        header(self) == header(other)
    }

    /// The options of a filter file, if the given options do not contradict them. Options that were
    /// not given are as in the file.
    ///
    /// `sha1` does not contradict `hex`, nor the other way round: both are names of the same keys,
    /// in lists of words and in lists of their hashes. All options are then as given.
    ///
    /// # Errors
    ///
    /// [`Error::Mismatch`] naming both.
    pub fn agree(self, name: &str, given: &Self) -> Result<Self, Error> {
        if let Some(same) = self.same_hashes(given) {
            return Ok(same);
        }
        let line_end = self.line_end.or(given.line_end);
        // Bytes as they are ([`LineEnd::Lf`]) affect only the reading; the file's record takes
        // precedence.
        let contradicts = given.line_end == LineEnd::CrLf && !self.strips_cr();
        let others = given.entries().into_iter();
        self.refuse_others(name, others.filter(|entry| contradicts || entry.name != "crlf"))?;
        Ok(Self { line_end, ..self })
    }

    /// The options for querying two filters with the same keys, if both cut these alike. Where one
    /// does not record the treatment of carriage returns, neither does the result.
    pub fn in_common(&self, other: &Self) -> Option<Self> {
        let is_recorded = ![self.line_end, other.line_end].contains(&LineEnd::Unrecorded);
        if is_recorded {
            return self.cuts_like(other).then(|| self.clone());
        }
        let unrecorded = |options: &Self| Self { line_end: LineEnd::Unrecorded, ..options.clone() };
        unrecorded(self).cuts_like(&unrecorded(other)).then(|| unrecorded(self))
    }

    /// The options for querying a filter file with keys from other input than it was built from:
    /// their place in the input (`nul`, `line_end`, `csv`, `delim`, `field`, `json_pointer`) as
    /// given, their form (`trim`, `lower`, `hex` and the like) as in the file; with `sha1` and
    /// `hex` as for [`KeyOptions::agree`].
    ///
    /// # Errors
    ///
    /// [`Error::Mismatch`] if a form is given that the file's is not; [`Error::Contradiction`] if
    /// the file's form is not for such records.
    pub fn with_records_of(self, name: &str, given: &Self) -> Result<Self, Error> {
        if let Some(same) = self.same_hashes(given) {
            return Ok(same);
        }
        self.refuse_others(name, given.entries().into_iter().filter(|entry| entry.is_form))?;
        let line_end = match given.line_end {
            LineEnd::CrLf => LineEnd::CrLf,
            given => self.line_end.or(given),
        };
        let Self { nul, csv, delim, field, json_pointer, .. } = given.clone();
        let options = Self { nul, line_end, csv, delim, field, json_pointer, ..self };
        match options.complete().check() {
            Ok(()) => Ok(options),
            Err(why) => Err(Error::Contradiction { filter: name.to_owned(), why }),
        }
    }

    /// The given options, if they hash words and the file has hashes in hex, or the other way
    /// round.
    fn same_hashes(&self, given: &Self) -> Option<Self> {
        let differ = self.hex && given.sha1 || self.sha1 && given.hex;
        differ.then(|| Self { unix_ms: self.unix_ms, ..given.for_new() })
    }

    fn refuse_others(
        &self,
        name: &str,
        given: impl IntoIterator<Item = Entry>,
    ) -> Result<(), Error> {
        let ours = self.complete().entries();
        for Entry { option, value, typed, .. } in given {
            let has = match ours.iter().find(|ours| ours.option == option) {
                Some(ours) if ours.value == value => continue,
                Some(ours) => Mismatch::With(typed.then(|| ours.value.clone())),
                None => Mismatch::Without,
            };
            let (filter, given) = (name.to_owned(), typed.then_some(value));
            return Err(Error::Mismatch { filter, option, given, has });
        }
        Ok(())
    }

    /// The options with the default delimiter, if none is named.
    pub(super) fn complete(&self) -> Self {
        let delim = self.delim.or(self.field.as_ref().map(|_| self.delim()));
        Self { delim, ..self.clone() }
    }

    /// The options that are set, in the order of a header.
    pub(super) fn entries(&self) -> Vec<Entry> {
        let set = |is_set: bool, value: &str| is_set.then(|| value.to_owned());
        // A name of its own, so that readers of a single field refuse it as unknown.
        let field_name =
            if self.field.as_ref().is_some_and(Fields::are_several) { "fields" } else { "field" };
        let all = [
            ("nul", "separator", set(self.nul, "nul"), false, false),
            (self.line_end.option(), "crlf", self.line_end.value(), false, false),
            ("csv", "csv", set(self.csv, "rfc4180"), false, false),
            ("delim", "delim", self.delim.map(|delim| escape(&[delim])), true, false),
            ("field", field_name, self.field.as_ref().map(Fields::to_string), true, false),
            ("json-pointer", "json-pointer", self.escaped_pointer(), true, false),
            ("trim", "trim", set(self.trim, "ascii"), false, true),
            ("hex", "hex", set(self.hex, "decode"), false, true),
            ("normalize-url", "normalize-url", set(self.normalize_url, "whatwg"), false, true),
            ("domain", "domain", set(self.domain, "host"), false, true),
            ("url-prefixes", "url-prefixes", set(self.url_prefixes, "safe-browsing"), false, true),
            ("lower", "lower", set(self.lower, "ascii"), false, true),
            ("upper", "upper", set(self.upper, "ascii"), false, true),
            ("fold", "fold", set(self.fold, "unicode"), false, true),
            ("sha1", "sha1", set(self.sha1, "digest"), false, true),
            ("clock", "clock", set(self.unix_ms, "unix-ms"), false, false),
        ];
        let entry = |(option, name, value, typed, is_form): (_, _, Option<String>, _, _)| {
            value.map(|value| Entry { option, name, value, typed, is_form })
        };
        all.into_iter().filter_map(entry).collect()
    }

    fn escaped_pointer(&self) -> Option<String> {
        self.json_pointer.as_ref().map(|pointer| escape(pointer.as_str().as_bytes()))
    }

    /// The options in words, for messages.
    pub fn describe(&self) -> String {
        let end = if self.nul { "NUL" } else { "line feed" };
        let crlf = match self.line_end {
            LineEnd::CrLf => r", without \r before it",
            LineEnd::Lf => r", with any \r before it",
            LineEnd::Unrecorded => "",
        };
        let line = format!("a line up to its {end}{crlf}");
        let mut text = match (&self.field, self.escaped_pointer()) {
            (Some(fields), _) => {
                let noun = if fields.are_several() { "fields" } else { "field" };
                let csv = if self.csv { " as CSV" } else { "" };
                let delim = escape(&[self.delim()]);
                format!("{noun} {fields}, between \"{delim}\"{csv}, of {line}")
            }
            (None, Some(pointer)) => format!("the JSON value at \"{pointer}\" of {line}"),
            (None, None) => line,
        };
        for (is_set, words) in [
            (self.trim, "; no white space around it"),
            (self.hex, "; the bytes of its hex digits"),
            (self.normalize_url, "; as a normalized URL"),
            (self.domain, "; the domain of it"),
            (self.url_prefixes, "; as an expression of Safe Browsing"),
            (self.lower, "; ASCII letters in lower case"),
            (self.upper, "; ASCII letters in upper case"),
            (self.fold, "; case folded"),
            (self.sha1, "; the SHA-1 of that"),
        ] {
            if is_set {
                text.push_str(words);
            }
        }
        text
    }
}
