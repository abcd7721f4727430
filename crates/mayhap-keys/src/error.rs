//! The errors of key options.

/// The reason why the key options of a filter cannot be used. `Display` gives the problem; the next
/// step depends on the program and its words for options.
#[derive(Debug, thiserror::Error, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum Error {
    /// An option of the header is unknown: ignoring it would cut other keys than were inserted.
    #[error("{filter}: the filter has the key option {line:?}, which is unknown")]
    Unknown {
        /// The filter.
        filter: String,
        /// The line of the header.
        line: String,
    },
    /// The options of the header make no sense.
    #[error("{filter}: the filter's key options are invalid: {why}")]
    Wrong {
        /// The filter.
        filter: String,
        /// Why.
        why: WrongOption,
    },
    /// An option was given that the filter was not created with.
    #[error(
        "{} is given, but {filter} was created {}",
        with_value(option, given.as_ref()),
        has.of(option)
    )]
    Mismatch {
        /// The filter.
        filter: String,
        /// The option: `nul`, `crlf`, `raw`, or the name of a field of
        /// [`KeyOptions`](crate::KeyOptions) with hyphens.
        option: &'static str,
        /// The value that was given, if the option has values.
        given: Option<String>,
        /// The option that the filter has in its place.
        has: Mismatch,
    },
    /// The requested records do not fit the form of the filter's keys.
    #[error("these records do not go with the keys of {filter}: {why}")]
    Contradiction {
        /// The filter.
        filter: String,
        /// Which two options.
        why: WrongOption,
    },
}

/// The rules that the options of a header can violate.
#[derive(Debug, thiserror::Error, Clone, PartialEq, Eq)]
pub enum WrongOption {
    /// An option has no such value.
    #[error("{line:?}: {why}")]
    Value {
        /// The line of the header.
        line: String,
        /// The reason.
        why: ValueError,
    },
    /// An option occurs twice.
    #[error("{0} appears twice")]
    Twice(String),
    /// One of `delim` and `csv` occurs without `field`, or `field` without `delim`.
    #[error(
        "{0} {need}",
        need = if *.0 == "delim" { "and field need each other" } else { "needs field" }
    )]
    Incomplete(&'static str),
    /// Two options contradict each other.
    #[error("{0} and {1} contradict each other")]
    Contradiction(&'static str, &'static str),
}

/// The reason why a text is no value of an option.
#[derive(Debug, thiserror::Error, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum ValueError {
    /// It is no text in UTF-8.
    #[error("no text")]
    NotText,
    /// A pointer takes more bytes of a filter's header than allowed.
    #[error("it takes {found} bytes of a filter's header, at most {limit}")]
    LongPointer {
        /// The limit.
        limit: usize,
        /// The number of bytes that it takes.
        found: usize,
    },
    /// A pointer has more names than allowed.
    #[error("it has {found} names, at most {limit}")]
    DeepPointer {
        /// The limit.
        limit: usize,
        /// The names that it has.
        found: usize,
    },
    /// A pointer does not begin with a slash; holds it, escaped.
    #[error("it must begin with /: /{0}")]
    RelativePointer(String),
    /// A pointer has a `~` that escapes nothing.
    #[error("a ~ in a name is written ~0, and a / is written ~1")]
    Tilde,
    /// It is not a field number, or a list of them.
    #[error("fields are counted from 1 to {}, as in 3 or 1,3; a range is not known", u32::MAX)]
    Field,
    /// It names more fields than allowed.
    #[error("it names {found} fields, at most {limit}")]
    ManyFields {
        /// The limit.
        limit: usize,
        /// The fields that it names.
        found: usize,
    },
    /// A delimiter has this number of bytes, not one.
    #[error("it has {0} bytes, a delimiter has one")]
    LongDelimiter(usize),
    /// It is neither a byte nor an escape.
    #[error(r"a delimiter is one byte, or one of \t \0 \n \r \\ \xHH")]
    Delimiter,
}

/// The option that a filter has in place of one that was given.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Mismatch {
    /// The same option, with this value.
    With(Option<String>),
    /// Nothing.
    Without,
}

impl Mismatch {
    fn of(&self, option: &str) -> String {
        match self {
            Self::With(ours) => format!("with {}", with_value(option, ours.as_ref())),
            Self::Without => format!("without {option}"),
        }
    }
}

/// An option with its value, if it has one.
fn with_value(option: &str, value: Option<&String>) -> String {
    value.map_or_else(|| option.to_owned(), |value| format!("{option} {value}"))
}
