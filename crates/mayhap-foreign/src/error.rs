//! What can go wrong with a file of another system.

use crate::describe::describe;
use mayhap_formats::{Candidate, Format};
use std::{fmt, io};

/// Why a file could not be used. `Display` says what, bound and value.
#[derive(Debug)]
#[non_exhaustive]
pub enum Error {
    /// The system refused to open or read it.
    Io {
        /// What was tried.
        action: &'static str,
        /// The file.
        name: String,
        /// The error of the system.
        source: io::Error,
    },
    /// It could not be read, locked or saved.
    Store(mayhap_store::Error),
    /// It is larger than allowed.
    TooLarge {
        /// Bytes that it needs.
        needed: u64,
        /// The limit.
        limit: u64,
    },
    /// It is not sound as a file of its format.
    Format {
        /// The file.
        name: String,
        /// What is wrong with it.
        source: mayhap_formats::Error,
    },
    /// Its system has no filter of these parameters.
    Create {
        /// The file.
        name: String,
        /// Its format.
        format: Format,
        /// What is wrong with them.
        source: mayhap_formats::Error,
    },
    /// It may be of several formats.
    Ambiguous {
        /// The file.
        name: String,
        /// What it may be.
        candidates: Vec<Candidate>,
    },
    /// It is of a system of which no filters are read.
    Unread {
        /// The file.
        name: String,
        /// What it is.
        system: &'static str,
    },
    /// A column was named, and the file is no table.
    NoTable {
        /// The file with the column.
        name: String,
        /// The column.
        column: String,
    },
    /// It is a table, and these of its columns have filters.
    NoColumnNamed {
        /// The file.
        name: String,
        /// The columns.
        columns: Vec<String>,
    },
    /// It is a column without filters.
    NoFilter {
        /// The file with the column.
        name: String,
        /// What that means for its keys.
        why: String,
    },
    /// It has no such form: each system has other bits for a key, and the keys are gone.
    NoForm {
        /// The file.
        name: String,
        /// Its format; none if it is mayhap's own.
        from: Option<Format>,
        /// The form that was requested.
        to: String,
        /// Whether there is such a form.
        is_known: bool,
    },
    /// It is of a form that is only read.
    OnlyRead {
        /// The file.
        name: String,
        /// Its format.
        format: Format,
    },
    /// It does not say its funnel, which the form needs; a type of keys names one.
    NoFunnel {
        /// The file.
        name: String,
    },
    /// It is a column, whose filter belongs to the rows beside it.
    IsColumn {
        /// The file with the column.
        name: String,
    },
    /// It was replaced by a file of another system while it was being added to.
    Replaced {
        /// The file.
        name: String,
    },
}

impl Error {
    /// Turns an I/O error into one that names what was tried.
    pub(crate) fn io(action: &'static str, name: &str) -> impl FnOnce(io::Error) -> Self {
        move |source| Self::Io { action, name: name.into(), source }
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Io { action, name, source } => write!(f, "cannot {action} {name}: {source}"),
            Self::Store(source) => source.fmt(f),
            Self::TooLarge { needed, limit } => {
                write!(f, "the filter needs {needed} bytes, above the limit of {limit}")
            }
            Self::Format { name, source } => write!(f, "{name}: {source}"),
            Self::Create { name, format, source } => {
                write!(f, "cannot create {name} as a {} filter: {source}", format.name())
            }
            Self::Ambiguous { name, candidates } => {
                let all: Vec<String> = candidates.iter().map(describe).collect();
                write!(f, "{name} may be of several formats: {}", all.join("; "))
            }
            Self::Unread { name, system } => write!(f, "{name} is {system}, which is not read"),
            Self::NoTable { name, column } => {
                write!(f, "{name}: the column {column:?} is given, but the file is not a table")
            }
            Self::NoColumnNamed { name, columns } if columns.is_empty() => {
                write!(f, "{name} is a Parquet file, but no column has a filter")
            }
            Self::NoColumnNamed { name, columns } => write!(
                f,
                "{name} is a Parquet file, whose columns have filters: {}",
                columns.join(", ")
            ),
            Self::NoFilter { name, why } => write!(f, "{name}: {why}"),
            Self::NoForm { to, is_known: false, .. } => write!(f, "{to} is not a known form"),
            Self::NoForm { name, from, to, .. } => match from.map_or("mayhap", Format::name) {
                from if from == to => write!(f, "{name} is a {to} filter already"),
                from => write!(
                    f,
                    "{name} is a {from} filter and cannot be converted to {to}: its keys are \
                     unknown, and each system sets different bits for a key"
                ),
            },
            Self::OnlyRead { name, format } => {
                write!(f, "{name} is a {} filter of a read-only form", format.name())
            }
            Self::NoFunnel { name } => {
                write!(f, "{name} does not record its funnel, which Java serialization needs")
            }
            Self::IsColumn { name } => {
                write!(f, "{name} is a column: its filter belongs to the rows beside it")
            }
            Self::Replaced { name } => write!(
                f,
                "{name} was replaced by a file of another system while keys were being added"
            ),
        }
    }
}

impl std::error::Error for Error {}

/// For sets of keys, which know no other system.
impl From<Error> for mayhap_sets::Error {
    fn from(source: Error) -> Self {
        Self::Foreign(Box::new(source))
    }
}

impl From<mayhap_store::Error> for Error {
    fn from(source: mayhap_store::Error) -> Self {
        Self::Store(source)
    }
}
