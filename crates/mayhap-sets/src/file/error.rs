//! Errors of files of other systems.

use super::describe::describe;
use mayhap_formats::{Candidate, Format};
use std::io;

/// Why a file could not be used. `Display` says what, bound and value.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The system refused to open or read it.
    #[error("cannot {action} {name}: {source}")]
    Io {
        /// The operation.
        action: &'static str,
        /// The file.
        name: String,
        /// The error of the system.
        source: io::Error,
    },
    /// It could not be read, locked or saved.
    #[error(transparent)]
    Store(#[from] mayhap_store::Error),
    /// It is larger than allowed.
    #[error("the filter needs {needed} bytes, above the limit of {limit}")]
    TooLarge {
        /// Bytes that it needs.
        needed: u64,
        /// The limit.
        limit: u64,
    },
    /// It is not sound as a file of its format.
    #[error("{name}: {source}")]
    Format {
        /// The file.
        name: String,
        /// The problem.
        source: mayhap_formats::Error,
    },
    /// Its system has no filter of these parameters.
    #[error("cannot create {name} as a {} filter: {source}", format.name())]
    Create {
        /// The file.
        name: String,
        /// Its format.
        format: Format,
        /// The problem.
        source: mayhap_formats::Error,
    },
    /// It may be of several formats.
    #[error("{name} may be of several formats: {}", all_of(candidates))]
    Ambiguous {
        /// The file.
        name: String,
        /// The candidates.
        candidates: Vec<Candidate>,
    },
    /// It is of a system of which no filters are read.
    #[error("{name} is {system}, which is not read")]
    Unread {
        /// The file.
        name: String,
        /// Its system.
        system: &'static str,
    },
    /// A column was named, and the file is no table.
    #[error("{name}: the column {column:?} is given, but the file is not a table")]
    NoTable {
        /// The file with the column.
        name: String,
        /// The column.
        column: String,
    },
    /// It is a table, and these of its columns have filters.
    #[error("{name} is a Parquet file, {}", columns_of(columns))]
    NoColumnNamed {
        /// The file.
        name: String,
        /// The columns.
        columns: Vec<String>,
    },
    /// It is a column without filters.
    #[error("{name}: {why}")]
    NoFilter {
        /// The file with the column.
        name: String,
        /// The consequence for its keys.
        why: String,
    },
    /// It has no such form: each system has other bits for a key, and the keys are gone.
    #[error("{}", no_form(name, *from, to, *is_known))]
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
    #[error("{name} is a {} filter of a read-only form", format.name())]
    OnlyRead {
        /// The file.
        name: String,
        /// Its format.
        format: Format,
    },
    /// It does not say its funnel, which the form needs; a type of keys names one.
    #[error("{name} does not record its funnel, which Java serialization needs")]
    NoFunnel {
        /// The file.
        name: String,
    },
    /// It is a column, whose filter belongs to the rows beside it.
    #[error("{name} is a column: its filter belongs to the rows beside it")]
    IsColumn {
        /// The file with the column.
        name: String,
    },
    /// It was replaced by a file of another system while it was being added to.
    #[error("{name} was replaced by a file of another system while keys were being added")]
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

fn all_of(candidates: &[Candidate]) -> String {
    candidates.iter().map(describe).collect::<Vec<_>>().join("; ")
}

fn columns_of(columns: &[String]) -> String {
    if columns.is_empty() {
        return "but no column has a filter".into();
    }
    format!("whose columns have filters: {}", columns.join(", "))
}

fn no_form(name: &str, from: Option<Format>, to: &str, is_known: bool) -> String {
    match from.map_or("mayhap", Format::name) {
        _ if !is_known => format!("{to} is not a known form"),
        from if from == to => format!("{name} is a {to} filter already"),
        from => format!(
            "{name} is a {from} filter and cannot be converted to {to}: its keys are unknown, and \
             each system sets different bits for a key"
        ),
    }
}
