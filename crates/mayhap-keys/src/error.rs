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
}

/// What the options of a header contradict.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum WrongOption {
    /// An option has no such value.
    Value {
        /// The line of the header.
        line: String,
        /// Why not, in words.
        why: String,
    },
    /// An option is there twice.
    Twice(String),
    /// Only one of `delim` and `field` is there.
    Incomplete,
    /// Two options contradict each other.
    Contradiction(&'static str, &'static str),
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

impl fmt::Display for WrongOption {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Value { line, why } => write!(f, "{line:?}: {why}"),
            Self::Twice(option) => write!(f, "{option} appears twice"),
            Self::Incomplete => f.write_str("delim and field need each other"),
            Self::Contradiction(one, other) => write!(f, "{one} and {other} contradict each other"),
        }
    }
}

impl std::error::Error for Error {}
