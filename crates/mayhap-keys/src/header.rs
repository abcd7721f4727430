//! Key options as text in a filter's header: one `name=value` and a line feed each.

use super::escape::unescape;
use super::{
    Error, Fields, JsonPointer, KeyOptions, LineEnd, ValueError, WrongOption, parse_delim,
};

impl KeyOptions {
    /// The text in a header: nothing for the defaults. At most 2048 bytes, as pointers are bounded.
    pub fn to_header(&self) -> String {
        let line = |entry: &super::options::Entry| format!("{}={}\n", entry.name, entry.value);
        self.complete().entries().iter().map(line).collect()
    }

    /// Reads the text of a header.
    ///
    /// # Errors
    ///
    /// [`Error::Unknown`], [`Error::Wrong`] with the first option that is unknown, that has no such
    /// value, or that contradicts another.
    pub fn from_header(name: &str, text: &str) -> Result<Self, Error> {
        let wrong = |why| Error::Wrong { filter: name.to_owned(), why };
        let mut options = Self::default();
        let mut names = Vec::new();
        for line in text.split_terminator('\n') {
            let (option, value) = line.split_once('=').unwrap_or((line, ""));
            let line = line.to_owned();
            options.set(option, value).map_err(|refused| match refused {
                Refused::Unknown => Error::Unknown { filter: name.to_owned(), line },
                Refused::Wrong(why) => wrong(WrongOption::Value { line, why }),
            })?;
            let both = |one, other| option == one && names.contains(&other);
            if both("field", "fields") || both("fields", "field") {
                return Err(wrong(WrongOption::Contradiction("field", "fields")));
            }
            if names.contains(&option) {
                return Err(wrong(WrongOption::Twice(option.to_owned())));
            }
            names.push(option);
        }
        options.check().map_err(wrong)?;
        Ok(options)
    }

    fn set(&mut self, option: &str, value: &str) -> Result<(), Refused> {
        match (option, value) {
            ("separator", "nul") => self.nul = true,
            ("crlf", "strip") => self.line_end = LineEnd::CrLf,
            ("crlf", "keep") => self.line_end = LineEnd::Lf,
            ("clock", "unix-ms") => self.unix_ms = true,
            ("trim", "ascii") => self.trim = true,
            ("lower", "ascii") => self.lower = true,
            ("upper", "ascii") => self.upper = true,
            ("hex", "decode") => self.hex = true,
            ("normalize-url", "whatwg") => self.normalize_url = true,
            ("csv", "rfc4180") => self.csv = true,
            ("domain", "host") => self.domain = true,
            ("url-prefixes", "safe-browsing") => self.url_prefixes = true,
            ("fold", "unicode") => self.fold = true,
            ("sha1", "digest") => self.sha1 = true,
            ("delim", delim) => self.delim = Some(parse_delim(delim).map_err(Refused::Wrong)?),
            ("field" | "fields", numbers) => {
                let fields = Fields::parse(numbers).map_err(Refused::Wrong)?;
                if fields.are_several() != (option == "fields") {
                    return Err(Refused::Wrong(ValueError::Field));
                }
                self.field = Some(fields);
            }
            ("json-pointer", pointer) => {
                let pointer = unescape(pointer).and_then(|bytes| String::from_utf8(bytes).ok());
                let pointer = pointer.ok_or(Refused::Wrong(ValueError::NotText))?;
                self.json_pointer = Some(JsonPointer::parse(&pointer).map_err(Refused::Wrong)?);
            }
            _ => return Err(Refused::Unknown),
        }
        Ok(())
    }

    /// Refuses the same options as the command line.
    pub(super) fn check(&self) -> Result<(), WrongOption> {
        if self.delim.is_some() != self.field.is_some() {
            return Err(WrongOption::Incomplete("delim"));
        }
        if self.csv && self.field.is_none() {
            return Err(WrongOption::Incomplete("csv"));
        }
        let are_several = self.field.as_ref().is_some_and(Fields::are_several);
        let forms = [
            (self.hex, "hex"),
            (self.normalize_url, "normalize-url"),
            (self.domain, "domain"),
            (self.url_prefixes, "url-prefixes"),
        ];
        let mut set = forms.into_iter().filter_map(|(is_set, name)| is_set.then_some(name));
        if let (Some(one), Some(other)) = (set.next(), set.next()) {
            return Err(WrongOption::Contradiction(one, other));
        }
        for (are_both, one, other) in [
            (self.field.is_some() && self.json_pointer.is_some(), "field", "json-pointer"),
            (self.hex && self.lower, "hex", "lower"),
            (self.hex && self.upper, "hex", "upper"),
            (self.lower && self.upper, "lower", "upper"),
            (self.upper && self.fold, "upper", "fold"),
            (self.hex && self.fold, "hex", "fold"),
            (self.hex && self.sha1, "hex", "sha1"),
            (self.lower && self.fold, "lower", "fold"),
            (self.url_prefixes && self.sha1, "url-prefixes", "sha1"),
            (self.url_prefixes && are_several, "url-prefixes", "fields"),
        ] {
            if are_both {
                return Err(WrongOption::Contradiction(one, other));
            }
        }
        Ok(())
    }
}

enum Refused {
    Unknown,
    Wrong(ValueError),
}
