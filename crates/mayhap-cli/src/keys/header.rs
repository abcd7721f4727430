//! Key options as text in a filter's header: one `name=value` and a line feed each.

use super::escape::unescape;
use super::{JsonPointer, KeyOptions, parse_delim, parse_field};
use crate::error::Error;

impl KeyOptions {
    /// As it stands in a header: nothing for the defaults. At most 2048 bytes, as pointers are
    /// bounded.
    pub fn to_header(&self) -> String {
        let line = |entry: &super::options::Entry| format!("{}={}\n", entry.name, entry.value);
        self.complete().entries().iter().map(line).collect()
    }

    /// Reads what a header holds.
    ///
    /// # Errors
    ///
    /// [`Error::Usage`] with the first option that this program does not know (it would ask for
    /// other keys than were inserted), that has no such value, or that contradicts another.
    pub fn from_header(name: &str, text: &str) -> Result<Self, Error> {
        let mut options = Self::default();
        let mut names = Vec::new();
        for line in text.split_terminator('\n') {
            let (option, value) = line.split_once('=').unwrap_or((line, ""));
            options.set(option, value).map_err(|refused| match refused {
                Refused::Unknown => Error::usage(
                    format!("{name}: the filter has the key option {line:?}, unknown here"),
                    "it was made by a newer mayhap: use that one",
                ),
                Refused::Wrong(why) => wrong(name, &format!("{line:?}: {why}")),
            })?;
            if names.contains(&option) {
                return Err(wrong(name, &format!("{option} is there twice")));
            }
            names.push(option);
        }
        options.check().map_err(|why| wrong(name, why))?;
        Ok(options)
    }

    fn set(&mut self, option: &str, value: &str) -> Result<(), Refused> {
        match (option, value) {
            ("separator", "nul") => self.nul = true,
            ("crlf", "strip") => self.strip_cr = true,
            ("clock", "unix-ms") => self.unix_ms = true,
            ("trim", "ascii") => self.trim = true,
            ("lower", "ascii") => self.lower = true,
            ("hex", "decode") => self.hex = true,
            ("normalize-url", "whatwg") => self.normalize_url = true,
            ("delim", delim) => self.delim = Some(parse_delim(delim).map_err(Refused::Wrong)?),
            ("field", field) => self.field = Some(parse_field(field).map_err(Refused::Wrong)?),
            ("json-pointer", pointer) => {
                let pointer = unescape(pointer).and_then(|bytes| String::from_utf8(bytes).ok());
                let pointer = pointer.ok_or_else(|| Refused::Wrong("no text".into()))?;
                self.json_pointer = Some(JsonPointer::parse(&pointer).map_err(Refused::Wrong)?);
            }
            _ => return Err(Refused::Unknown),
        }
        Ok(())
    }

    /// Refuses what the command line refuses.
    fn check(&self) -> Result<(), &'static str> {
        if self.delim.is_some() != self.field.is_some() {
            return Err("delim and field are only there together");
        }
        if self.field.is_some() && self.json_pointer.is_some() {
            return Err("field and json-pointer contradict each other");
        }
        if self.hex && self.normalize_url {
            return Err("hex and normalize-url contradict each other");
        }
        if self.hex && self.lower {
            return Err("hex and lower contradict each other");
        }
        Ok(())
    }
}

enum Refused {
    Unknown,
    Wrong(String),
}

fn wrong(name: &str, why: &str) -> Error {
    Error::usage(
        format!("{name}: the filter's key options make no sense: {why}"),
        "it was not made by mayhap, or its header is damaged: make it again",
    )
}
