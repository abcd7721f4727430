//! Why filters could not be created, filled or changed.

use super::{BadFilter, SpecError, Unreadable};
use crate::durable::Refused;
use mayhap::Budget;
use thiserror::Error;

/// The field name in errors about one filter's limit; the chain of the core uses the same.
pub(super) const FILTER_BYTES: &str = "filter bytes";

const READ_ONLY: &str = "the filter is a file and read-only";

/// An exceeded limit: the bytes requested, the limit, and its setting.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("{} would take {requested} bytes, above the limit of {limit} ({setting})", whose(.setting))]
pub struct TooLarge {
    /// Bytes requested; for `max_memory` those of all filters together.
    pub requested: u64,
    /// The most that is allowed.
    pub limit: u64,
    /// The setting.
    pub setting: &'static str,
}

fn whose(setting: &str) -> &'static str {
    if setting == "max_memory" { "all filters" } else { "the filter" }
}

/// A name that is too long.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
#[error("the name has {found} bytes, above the limit of {limit} (max_name_bytes)")]
pub struct LongName {
    /// Its bytes.
    pub found: usize,
    /// The setting `max_name_bytes`.
    pub limit: usize,
}

/// Why a filter was not created.
#[derive(Debug, Clone, PartialEq, Error)]
#[non_exhaustive]
pub enum CreateError {
    /// There is already one of this name.
    #[error("item exists")]
    Exists,
    /// It would exceed a limit.
    #[error(transparent)]
    TooLarge(TooLarge),
    /// The machine has too little memory.
    #[error("{bytes} bytes for the filter cannot be allocated")]
    OutOfMemory {
        /// Bytes requested.
        bytes: u64,
    },
    /// The name is too long.
    #[error(transparent)]
    Name(#[from] LongName),
    /// A number is out of range.
    #[error(transparent)]
    Spec(#[from] SpecError),
    /// The core refuses such a filter, or such a union.
    #[error("{}", text_of(.0))]
    Filter(mayhap::Error),
    /// It would replace a file.
    #[error("{}", READ_ONLY)]
    ReadOnly,
    /// A union that includes files.
    #[error("files cannot be merged")]
    OfFiles,
    /// A union of no filters.
    #[error("nothing to unite")]
    OfNothing,
    /// A union of a kind that has none.
    #[error("there is no union of {0} filters; add the items to one of them")]
    NoUnion(&'static str),
    /// A union that includes frozen filters; with the kind of one.
    #[error("there is no union of {0} filters; build one from the items of all")]
    OfFrozen(&'static str),
    /// A union of filters of different kinds.
    #[error("the filters differ in kind: {left} against {right}")]
    Kinds {
        /// The kind of the first filter.
        left: &'static str,
        /// The kind of the other filter.
        right: &'static str,
    },
    /// A union with more keys than a filter of this size holds.
    #[error(
        "together they have {items} items, above the capacity of {capacity}, and beyond it the \
         rate rises; create larger filters, or ones that grow"
    )]
    Overfull {
        /// Its keys.
        items: u64,
        /// The capacity of each of the filters.
        capacity: u64,
    },
    /// The log refuses it.
    #[error(transparent)]
    Log(#[from] Refused),
}

/// Why a key was not inserted.
#[derive(Debug, Clone, PartialEq, Error)]
#[non_exhaustive]
pub enum InsertError {
    /// It does not grow, and has reached its capacity, or cannot grow any more.
    #[error("non scaling filter is full")]
    Full,
    /// It is a file.
    #[error("{}", READ_ONLY)]
    ReadOnly,
    /// It is frozen; with its kind.
    #[error(
        "this filter is {0}, which was built from all of its items and takes no others; build a \
         new one from all of them, and replace it"
    )]
    Frozen(&'static str),
    /// It would have to grow beyond a limit.
    #[error(transparent)]
    TooLarge(TooLarge),
    /// The machine has too little memory.
    #[error("{bytes} bytes for the filter cannot be allocated")]
    OutOfMemory {
        /// Bytes requested.
        bytes: u64,
    },
    /// It cannot grow any more.
    #[error("{}", text_of(.0))]
    Filter(mayhap::Error),
    /// It is foreign, and cannot grow any more.
    #[error(transparent)]
    Foreign(mayhap_formats::Error),
    /// Each key costs too much.
    #[error(
        "its layers have {found} hashes for a key, above the limit of {limit}; create a new filter"
    )]
    TooManyHashes {
        /// Hashes for a key.
        found: u64,
        /// The most that are allowed.
        limit: u64,
    },
    /// The log refuses the key.
    #[error(transparent)]
    Log(Refused),
}

/// Why a filter was not united with a piece of another one.
#[derive(Debug, Clone, PartialEq, Error)]
#[non_exhaustive]
pub enum UniteError {
    /// The header is none of a filter for this server.
    #[error("received bad data: {0}")]
    Header(BadFilter),
    /// One of the two is of another kind; with that kind.
    #[error(
        "a {0} filter does not take pieces of others; only fixed filters do (NONSCALING, option \
         fixed)"
    )]
    Kind(&'static str),
    /// The two are not alike, or the bytes are no piece of the filter.
    #[error(transparent)]
    Piece(mayhap::Error),
    /// The bits are those of a keyed filter.
    #[error(
        "pieces of a keyed filter are accepted from users with the right admin only: they are bits \
         that the sender chooses"
    )]
    Keyed,
    /// It is a file.
    #[error("{}", READ_ONLY)]
    ReadOnly,
    /// It does not answer.
    #[error(transparent)]
    Unreadable(#[from] Unreadable),
    /// It was not created.
    #[error(transparent)]
    Create(CreateError),
    /// The log refuses it.
    #[error(transparent)]
    Log(#[from] Refused),
}

/// An operation that only filters of another kind support; with the kind of this one, as in
/// [`Info::kind`](super::Info::kind).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum WrongKind {
    /// Items cannot be removed from it.
    #[error(
        "this filter is {0}; items can be removed from counting and compact filters only (option \
         counting, layout compact)"
    )]
    NotCounting(&'static str),
    /// It does not know when items were inserted.
    #[error("this filter is {0}; only window filters know when items arrived (option window)")]
    NotWindow(&'static str),
}

/// Why a filter does not accept digests in place of keys.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum DigestError {
    /// It uses the hash of another system.
    #[error("the filter has no digests of 64 bits; send the items")]
    NoDigests,
    /// A client that sends digests chooses the bits, which its key is there to prevent.
    #[error(
        "digests are added to a keyed filter by users with the right admin only; send the items, \
         or create an unkeyed filter"
    )]
    Keyed,
}

/// Why an operation other than an insertion failed.
#[derive(Debug, Clone, PartialEq, Error)]
#[non_exhaustive]
pub enum ChangeError {
    /// There is no filter of this name.
    #[error("not found")]
    NotFound,
    /// There is already one of the new name.
    #[error("item exists")]
    Exists,
    /// It is a file.
    #[error("{}", READ_ONLY)]
    ReadOnly,
    /// The new name is too long.
    #[error(transparent)]
    Name(#[from] LongName),
    /// The pattern is too long.
    #[error("the pattern has {found} bytes, above the limit of {limit}")]
    LongPattern {
        /// Its bytes.
        found: usize,
        /// The most that are allowed.
        limit: usize,
    },
    /// Its kind does not fold.
    #[error(
        "this filter is {0}, which does not fold; only fixed filters do (NONSCALING, option fixed)"
    )]
    NoFold(&'static str),
    /// No dump was begun, or it has timed out.
    #[error("no dump was started; start with cursor 0")]
    NoDump,
    /// This filter does not support it.
    #[error("{}", text_of(.0))]
    Filter(mayhap::Error),
    /// It would exceed a limit.
    #[error(transparent)]
    TooLarge(TooLarge),
    /// The machine has too little memory.
    #[error("{bytes} bytes for the filter cannot be allocated")]
    OutOfMemory {
        /// Bytes requested.
        bytes: u64,
    },
    /// The log refuses it.
    #[error(transparent)]
    Log(#[from] Refused),
}

/// An error of the core, in terms of a rate and a capacity.
fn text_of(error: &mayhap::Error) -> String {
    match error {
        mayhap::Error::FppUnreachable { target_fpp, lowest_fpp } => format!(
            "error rate is {target_fpp:e}, below the lowest for this number of items, \
             {lowest_fpp:.3e}; use a higher rate or a smaller capacity"
        ),
        error => error.to_string(),
    }
}

impl TooLarge {
    /// The limit in an error of the core, if it is one that an operator sets.
    fn of(error: &mayhap::Error) -> Option<Self> {
        let &mayhap::Error::TooLarge { field, limit, found: requested } = error else {
            return None;
        };
        let setting = match field {
            Budget::FIELD => "max_memory",
            FILTER_BYTES => "max_filter_bytes",
            _ => return None,
        };
        Some(Self { requested, limit, setting })
    }
}

macro_rules! from_core_error {
    ($($error:ty),*) => {$(
        impl From<mayhap::Error> for $error {
            fn from(error: mayhap::Error) -> Self {
                match (TooLarge::of(&error), error) {
                    (Some(limit), _) => Self::TooLarge(limit),
                    (_, mayhap::Error::OutOfMemory { bytes }) => Self::OutOfMemory { bytes },
                    (_, error) => Self::Filter(error),
                }
            }
        }
    )*};
}

from_core_error!(CreateError, InsertError, ChangeError);
