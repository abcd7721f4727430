//! What can be wrong with key options.

use std::fmt;

/// Why the key options of a filter cannot be used. `Display` says what; [`Error::hint`] the next
/// step.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum Error {
    /// An option of the header is unknown: ignoring it would cut other keys than were inserted.
    Unknown {
        /// The filter.
        filter: String,
        /// The line of the header.
        line: String,
    },
    /// The options of the header make no sense.
    Wrong {
        /// The filter.
        filter: String,
        /// Why.
        why: WrongOption,
    },
    /// A flag was given that the filter was not created with.
    Mismatch {
        /// The filter.
        filter: String,
        /// The flag, as it is typed.
        flag: &'static str,
        /// The flag that was given, with its value.
        given: String,
        /// What the filter has in its place.
        has: Mismatch,
    },
    /// The records that were requested do not go with the form of the filter's keys.
    Contradiction {
        /// The filter.
        filter: String,
        /// Which two options.
        why: WrongOption,
    },
}

/// What the options of a header contradict.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum WrongOption {
    /// An option has no such value.
    Value {
        /// The line of the header.
        line: String,
        /// Why not.
        why: ValueError,
    },
    /// An option is there twice.
    Twice(String),
    /// One of `delim` and `csv` is there without `field`, or `field` without `delim`.
    Incomplete(&'static str),
    /// Two options contradict each other.
    Contradiction(&'static str, &'static str),
}

/// Why a text is no value of an option.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum ValueError {
    /// It is no text in UTF-8.
    NotText,
    /// A pointer takes more bytes of a filter's header than allowed.
    LongPointer {
        /// The limit.
        limit: usize,
        /// What it takes.
        found: usize,
    },
    /// A pointer has more names than allowed.
    DeepPointer {
        /// The limit.
        limit: usize,
        /// The names that it has.
        found: usize,
    },
    /// A pointer does not begin with a slash; holds it, escaped.
    RelativePointer(String),
    /// A pointer has a `~` that escapes nothing.
    Tilde,
    /// It is no number of a field, or no list of them.
    Field,
    /// It names more fields than allowed.
    ManyFields {
        /// The limit.
        limit: usize,
        /// The fields that it names.
        found: usize,
    },
    /// A delimiter has so many bytes, not one.
    LongDelimiter(usize),
    /// It is neither a byte nor an escape.
    Delimiter,
}

/// What a filter has in place of a flag that was given.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Mismatch {
    /// The same flag with another value, as it is typed.
    With(String),
    /// Nothing.
    Without,
}

impl Error {
    /// The next step.
    ///
    /// ```
    /// use mayhap_keys::KeyOptions;
    /// let error = KeyOptions::from_header("seen.mayhap", "rot=13\n").unwrap_err();
    /// assert_eq!(error.hint(), "it was created by a newer mayhap; use that version");
    /// ```
    pub fn hint(&self) -> String {
        match self {
            Self::Unknown { .. } => "it was created by a newer mayhap; use that version".into(),
            Self::Wrong { .. } => {
                "it was not created by mayhap, or its header is damaged: build it again".into()
            }
            Self::Mismatch { flag, .. } => {
                format!("omit {flag}: key options are stored in the filter's file")
            }
            Self::Contradiction { .. } => "choose one field, or query another filter".into(),
        }
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Unknown { filter, line } => {
                write!(f, "{filter}: the filter has the key option {line:?}, which is unknown")
            }
            Self::Wrong { filter, why } => {
                write!(f, "{filter}: the filter's key options are invalid: {why}")
            }
            Self::Contradiction { filter, why } => {
                write!(f, "these records do not go with the keys of {filter}: {why}")
            }
            Self::Mismatch { filter, flag, given, has } => {
                write!(f, "{given} is given, but {filter} was created ")?;
                match has {
                    Mismatch::With(ours) => write!(f, "with {ours}"),
                    Mismatch::Without => write!(f, "without {flag}"),
                }
            }
        }
    }
}

impl fmt::Display for ValueError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NotText => f.write_str("no text"),
            Self::LongPointer { limit, found } => {
                write!(f, "it takes {found} bytes of a filter's header, at most {limit}")
            }
            Self::DeepPointer { limit, found } => {
                write!(f, "it has {found} names, at most {limit}")
            }
            Self::RelativePointer(pointer) => write!(f, "it must begin with /: /{pointer}"),
            Self::Tilde => f.write_str("a ~ in a name is written ~0, and a / is written ~1"),
            Self::Field => {
                let most = u32::MAX;
                write!(
                    f,
                    "fields are counted from 1 to {most}, as in 3 or 1,3; a range is not known"
                )
            }
            Self::ManyFields { limit, found } => {
                write!(f, "it names {found} fields, at most {limit}")
            }
            Self::LongDelimiter(bytes) => write!(f, "it has {bytes} bytes, a delimiter has one"),
            Self::Delimiter => {
                f.write_str(r"a delimiter is one byte, or one of \t \0 \n \r \\ \xHH")
            }
        }
    }
}

impl std::error::Error for ValueError {}

impl fmt::Display for WrongOption {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Value { line, why } => write!(f, "{line:?}: {why}"),
            Self::Twice(option) => write!(f, "{option} appears twice"),
            Self::Incomplete("delim") => f.write_str("delim and field need each other"),
            Self::Incomplete(option) => write!(f, "{option} needs field"),
            Self::Contradiction(one, other) => write!(f, "{one} and {other} contradict each other"),
        }
    }
}

impl std::error::Error for Error {}
