//! Why filters could not be made, filled or changed.

use crate::durable::Refused;
use mayhap::Budget;
use mayhap_store::Changed;
use std::fmt;

/// A limit that was in the way: what was asked, the limit, and the setting that says it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TooLarge {
    /// Bytes asked for; with `max_memory` those of all filters together.
    pub asked: u64,
    /// The most that is allowed.
    pub limit: u64,
    /// The setting.
    pub setting: &'static str,
}

/// Why there is no new filter.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum CreateError {
    /// There is one of this name.
    Exists,
    /// A limit is in the way.
    TooLarge(TooLarge),
    /// The machine has not so much memory.
    OutOfMemory {
        /// Bytes asked for.
        bytes: u64,
    },
    /// There is no such filter: a sentence.
    Spec(String),
    /// The log does not take it.
    Log(Refused),
}

/// Why a key was not inserted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum InsertError {
    /// `NONSCALING`, and it has as many keys as it was made for.
    Full,
    /// A file.
    ReadOnly,
    /// It would have to grow over a limit.
    TooLarge(TooLarge),
    /// The machine has not so much memory.
    OutOfMemory {
        /// Bytes asked for.
        bytes: u64,
    },
    /// It cannot grow any more: a sentence.
    Grow(String),
}

/// Why a filter that is a file does not answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Unreadable(Changed);

/// Why something that is no insertion was not done.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ChangeError {
    /// There is no filter of this name.
    NotFound,
    /// There is one of the new name.
    Exists,
    /// A file.
    ReadOnly,
    /// Not with this kind of filter, or not with these two: a sentence.
    Kind(String),
    /// A limit is in the way.
    TooLarge(TooLarge),
    /// The machine has not so much memory.
    OutOfMemory {
        /// Bytes asked for.
        bytes: u64,
    },
    /// The log does not take it.
    Log(Refused),
}

impl TooLarge {
    /// The limit that an error of the core speaks of, if it is one that an operator sets.
    fn of(error: &mayhap::Error) -> Option<Self> {
        let &mayhap::Error::TooLarge { field, limit, found: asked } = error else { return None };
        let setting = match field {
            Budget::FIELD => "max_memory",
            "filter bytes" => "max_filter_bytes",
            _ => return None,
        };
        Some(Self { asked, limit, setting })
    }
}

macro_rules! from_core_error {
    ($error:ty, $other:ident) => {
        impl From<mayhap::Error> for $error {
            fn from(error: mayhap::Error) -> Self {
                match (TooLarge::of(&error), &error) {
                    (Some(limit), _) => Self::TooLarge(limit),
                    (_, &mayhap::Error::OutOfMemory { bytes }) => Self::OutOfMemory { bytes },
                    _ => Self::$other(sentence(&error)),
                }
            }
        }
    };
}

/// In the words of those who ask for filters by a rate and a capacity.
fn sentence(error: &mayhap::Error) -> String {
    match error {
        mayhap::Error::FppUnreachable { target_fpp, lowest_fpp } => format!(
            "error rate is {target_fpp:e}, below the lowest that so many items can have, \
             {lowest_fpp:.3e}; ask for a higher rate or a smaller capacity"
        ),
        error => error.to_string(),
    }
}

from_core_error!(CreateError, Spec);
from_core_error!(InsertError, Grow);
from_core_error!(ChangeError, Kind);

impl From<Refused> for CreateError {
    fn from(refused: Refused) -> Self {
        Self::Log(refused)
    }
}

impl From<Refused> for ChangeError {
    fn from(refused: Refused) -> Self {
        Self::Log(refused)
    }
}

impl fmt::Display for TooLarge {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { asked, limit, setting } = self;
        let whose = if *setting == "max_memory" { "all filters" } else { "the filter" };
        write!(f, "{whose} would take {asked} bytes, above the limit of {limit} ({setting})")
    }
}

const OUT_OF_MEMORY: &str = "bytes for the filter cannot be allocated";

impl fmt::Display for CreateError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Exists => f.write_str("item exists"),
            Self::TooLarge(limit) => limit.fmt(f),
            Self::OutOfMemory { bytes } => write!(f, "{bytes} {OUT_OF_MEMORY}"),
            Self::Spec(what) => f.write_str(what),
            Self::Log(Refused(why)) => f.write_str(why),
        }
    }
}

impl fmt::Display for InsertError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Full => f.write_str("non scaling filter is full"),
            Self::ReadOnly => f.write_str("the filter is a file and read only"),
            Self::TooLarge(limit) => limit.fmt(f),
            Self::OutOfMemory { bytes } => write!(f, "{bytes} {OUT_OF_MEMORY}"),
            Self::Grow(why) => f.write_str(why),
        }
    }
}

impl fmt::Display for ChangeError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NotFound => f.write_str("not found"),
            Self::Exists => f.write_str("item exists"),
            Self::ReadOnly => f.write_str("the filter is a file and read only"),
            Self::Kind(what) => f.write_str(what),
            Self::TooLarge(limit) => limit.fmt(f),
            Self::OutOfMemory { bytes } => write!(f, "{bytes} {OUT_OF_MEMORY}"),
            Self::Log(Refused(why)) => f.write_str(why),
        }
    }
}

impl From<Changed> for Unreadable {
    fn from(what: Changed) -> Self {
        Self(what)
    }
}

impl fmt::Display for Unreadable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let what = self.0;
        write!(
            f,
            "the file of this filter cannot be used: {what}; it is opened again once a whole file \
             stands there"
        )
    }
}

impl std::error::Error for Unreadable {}
impl std::error::Error for CreateError {}
impl std::error::Error for InsertError {}
impl std::error::Error for ChangeError {}
