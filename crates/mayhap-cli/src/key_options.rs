//! How keys are cut from input, kept in a filter's header so that every command cuts them alike.

use crate::error::Error;

/// What a key is: the bytes of a line without its separator, as they are unless said otherwise.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct KeyOptions {
    /// Lines end with NUL instead of a line feed (`-0`).
    pub nul: bool,
    /// One carriage return at the end of a line is not part of its key (`--crlf`).
    pub strip_cr: bool,
    /// The times of a window are milliseconds since 1970: no matter of keys, but kept with them.
    pub unix_ms: bool,
}

impl KeyOptions {
    /// The byte that ends a line.
    pub fn separator(&self) -> u8 {
        if self.nul { 0 } else { b'\n' }
    }

    /// As it stands in a header: `name=value` lines, nothing for the defaults.
    pub fn to_header(&self) -> String {
        let mut text = String::new();
        if self.nul {
            text.push_str("separator=nul\n");
        }
        if self.strip_cr {
            text.push_str("crlf=strip\n");
        }
        if self.unix_ms {
            text.push_str("clock=unix-ms\n");
        }
        text
    }

    /// Reads what a header holds.
    ///
    /// # Errors
    ///
    /// [`Error::Usage`] with the first option that this program does not know: it would ask for
    /// other keys than were inserted.
    pub fn from_header(name: &str, text: &str) -> Result<Self, Error> {
        let mut options = Self::default();
        for line in text.lines() {
            match line {
                "separator=nul" => options.nul = true,
                "crlf=strip" => options.strip_cr = true,
                "clock=unix-ms" => options.unix_ms = true,
                _ => {
                    return Err(Error::usage(
                        format!("{name}: the filter has the key option {line:?}, unknown here"),
                        "it was made by a newer mayhap: use that one",
                    ));
                }
            }
        }
        Ok(options)
    }

    /// Whether both cut the same keys.
    pub fn cuts_like(&self, other: &Self) -> bool {
        (self.nul, self.strip_cr) == (other.nul, other.strip_cr)
    }

    /// The options of a filter file, if the flags that were given do not contradict them.
    ///
    /// # Errors
    ///
    /// [`Error::Usage`] naming both.
    pub fn agree(self, name: &str, given: &Self) -> Result<Self, Error> {
        for (flag, ours, given) in
            [("-0", self.nul, given.nul), ("--crlf", self.strip_cr, given.strip_cr)]
        {
            if given && !ours {
                return Err(Error::usage(
                    format!("{flag} is given, but {name} was made without {flag}"),
                    format!("leave {flag} out: key options are kept in the filter's file"),
                ));
            }
        }
        Ok(self)
    }
}
