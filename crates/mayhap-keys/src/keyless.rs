//! Lines without a key.

use mayhap_units::number::grouped;
use std::fmt;
use std::num::NonZeroU32;

/// The reason why a line has no key.
#[derive(Debug, thiserror::Error, Clone, Copy, PartialEq, Eq)]
pub enum NoKey {
    /// It has fewer fields.
    #[error("no field {0}")]
    Field(NonZeroU32),
    /// It is not one JSON value.
    #[error("not JSON")]
    Json,
    /// The JSON pointer leads to no text, number, `true` or `false`.
    #[error("no text, number, true or false at the JSON pointer")]
    Value,
    /// The text is not in hex digits, or half a byte too short, or empty.
    #[error("not pairs of hex digits")]
    Hex,
    /// The text is not an absolute URL.
    #[error("not an absolute URL")]
    Url,
    /// A record of CSV ends within quotes.
    #[error("a quote that is not closed")]
    Quote,
    /// It is no URL with a host, no address, no host.
    #[error("no URL, address or host name")]
    Domain,
    /// The text is not a URL with a host.
    #[error("not a URL with a host")]
    Expression,
}

/// The number of lines without a key, and the first of them.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Keyless {
    lines: u64,
    first: Option<(u64, NoKey)>,
}

impl Keyless {
    /// Adds `lines` consecutive lines, the first of which has number `at`.
    pub fn add(&mut self, lines: u64, at: u64, why: NoKey) {
        self.lines += lines;
        self.first.get_or_insert((at, why));
    }

    /// The number of the first one, and the reason why it has no key.
    pub fn first(&self) -> Option<(u64, NoKey)> {
        self.first
    }

    /// The number of lines without a key.
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
