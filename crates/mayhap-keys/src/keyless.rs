//! Lines without a key.

use mayhap_units::number::grouped;
use std::fmt;
use std::num::NonZeroU32;

/// Why a line has no key.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NoKey {
    /// It has fewer fields.
    Field(NonZeroU32),
    /// It is not one JSON value.
    Json,
    /// The JSON pointer leads to no text, number, `true` or `false`.
    Value,
    /// What should be hex digits is not, or is half a byte too short, or nothing.
    Hex,
    /// What should be an absolute URL is not.
    Url,
    /// A record of CSV ends within quotes.
    Quote,
    /// It is no URL with a host, no address, no host.
    Domain,
    /// What should be a URL of the web has no host.
    Expression,
}

impl fmt::Display for NoKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Field(field) => write!(f, "no field {field}"),
            Self::Json => f.write_str("not JSON"),
            Self::Value => f.write_str("no text, number, true or false at the JSON pointer"),
            Self::Hex => f.write_str("not pairs of hex digits"),
            Self::Url => f.write_str("not an absolute URL"),
            Self::Quote => f.write_str("a quote that is not closed"),
            Self::Domain => f.write_str("no URL, address or host name"),
            Self::Expression => f.write_str("not a URL with a host"),
        }
    }
}

/// How many lines had no key, and which was the first.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Keyless {
    lines: u64,
    first: Option<(u64, NoKey)>,
}

impl Keyless {
    /// Adds `lines` one after another, of which line number `at` is the first.
    pub fn add(&mut self, lines: u64, at: u64, why: NoKey) {
        self.lines += lines;
        self.first.get_or_insert((at, why));
    }

    /// The number of the first, and why it has none.
    pub fn first(&self) -> Option<(u64, NoKey)> {
        self.first
    }

    /// How many there were.
    pub fn lines(&self) -> u64 {
        self.lines
    }
}

impl fmt::Display for Keyless {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (self.lines, self.first) {
            (1, Some((line, why))) => write!(f, "1 line has no key (line {line}: {why})"),
            (lines, Some((line, why))) => {
                write!(f, "{} lines have no key (first: line {line}: {why})", grouped(lines))
            }
            (_, None) => f.write_str("every line has a key"),
        }
    }
}
