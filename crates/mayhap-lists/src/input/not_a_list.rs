//! What input is that is no list of keys.

use mayhap_units::number::grouped;
use std::fmt;

/// What some input is that is no list of keys.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum NotAList {
    /// A filter, of mayhap or of another system.
    Filter {
        /// The name of its system.
        system: &'static str,
        /// How many keys it counts, where that is known.
        keys: Option<u64>,
    },
    /// Files in a file, or one compressed in a way that is not read here.
    Archive {
        /// What it is, with its article.
        what: &'static str,
        /// What writes its contents to standard output.
        program: &'static str,
    },
    /// Text whose bytes are not those of UTF-8.
    Text {
        /// Its encoding, as `iconv` knows it.
        encoding: &'static str,
    },
    /// Something else that is known.
    Data {
        /// What it is, with its article.
        what: &'static str,
    },
}

impl fmt::Display for NotAList {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Filter { system, keys } => {
                write!(f, "a {system} filter")?;
                match keys {
                    Some(1) => f.write_str(" of 1 key"),
                    Some(keys) => write!(f, " of {} keys", grouped(*keys)),
                    None => Ok(()),
                }
            }
            Self::Archive { what, .. } | Self::Data { what } => f.write_str(what),
            Self::Text { encoding } => write!(f, "text in {encoding}"),
        }
    }
}
