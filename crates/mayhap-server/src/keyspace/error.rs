//! Why filters could not be created, filled or changed.

use crate::durable::{ImageError, Refused, ReplayError};
use mayhap::Budget;
use mayhap::native::Kind;
use mayhap_formats::KeyType;
use mayhap_store::Changed;
use std::io;
use std::path::PathBuf;

/// A limit that was in the way: the bytes requested, the limit, and the setting that says it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TooLarge {
    /// Bytes requested; with `max_memory` those of all filters together.
    pub requested: u64,
    /// The most that is allowed.
    pub limit: u64,
    /// The setting.
    pub setting: &'static str,
}

/// A name with too many bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LongName {
    /// Its bytes.
    pub found: usize,
    /// The setting `max_name_bytes`.
    pub limit: usize,
}

/// Which number of a [`Spec`](super::Spec) is outside of its range.
#[derive(Debug, Clone, Copy, PartialEq)]
#[non_exhaustive]
pub enum SpecError {
    /// No keys.
    ZeroCapacity,
    /// A rate that is none.
    Fpp(f64),
    /// An `EXPANSION` outside of 1 to [`MAX_EXPANSION`](super::MAX_EXPANSION).
    Expansion(u32),
    /// A share of set bits that is none, `CLEARAT`.
    ClearAt(f64),
    /// A layout that a fixed filter cannot have.
    Layout,
}

/// Why there is no new filter.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub enum CreateError {
    /// There is one of this name.
    Exists,
    /// A limit is in the way.
    TooLarge(TooLarge),
    /// The machine has not so much memory.
    OutOfMemory {
        /// Bytes requested.
        bytes: u64,
    },
    /// The name is too long.
    Name(LongName),
    /// A number is outside of its range.
    Spec(SpecError),
    /// There is no such filter, or no such union.
    Filter(mayhap::Error),
    /// It would replace a file.
    ReadOnly,
    /// A union of files.
    OfFiles,
    /// A union of nothing.
    OfNothing,
    /// A union of filters of which there are none; with their kind.
    NoUnion(&'static str),
    /// A union of filters of different kinds.
    Kinds {
        /// That of the first one.
        left: &'static str,
        /// That of the other one.
        right: &'static str,
    },
    /// A union that has more keys than a filter of this size holds.
    Overfull {
        /// Its keys.
        items: u64,
        /// The keys that each of the filters was created for.
        capacity: u64,
    },
    /// The log does not take it.
    Log(Refused),
}

/// Why a key was not inserted.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub enum InsertError {
    /// It does not grow, and has as many keys as it was created for: `NONSCALING` or `COUNTING`.
    Full,
    /// A file.
    ReadOnly,
    /// It would have to grow over a limit.
    TooLarge(TooLarge),
    /// The machine has not so much memory.
    OutOfMemory {
        /// Bytes requested.
        bytes: u64,
    },
    /// It cannot grow any more.
    Filter(mayhap::Error),
    /// It is of another system, and cannot grow any more.
    Foreign(mayhap_formats::Error),
    /// Each key costs too much.
    TooManyHashes {
        /// Hashes for a key.
        found: u64,
        /// The most that are allowed.
        limit: u64,
    },
    /// The log does not take the key.
    Log(Refused),
}

/// Why a filter that is a file does not answer.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub enum Unreadable {
    /// It was changed while it was served, or is damaged.
    Changed(Changed),
    /// It could not be opened.
    NotOpened,
    /// No file: what the data folder has of it could not be recovered, for this reason.
    Quarantined(std::sync::Arc<str>),
    /// No file: a change of it was refused, and it is put back to what it was.
    PuttingBack,
    /// Several files have its name, and nobody knows which is meant.
    Several {
        /// Their names.
        files: Vec<String>,
    },
    /// A text is no key of this filter, so that it is neither there nor absent.
    NotAKey(mayhap_formats::Error),
}

/// Something that only filters of another kind can do; with the kind of this one, as
/// [`Info::kind`](super::Info::kind) has it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum WrongKind {
    /// Items cannot be removed from it.
    NotCounting(&'static str),
    /// It does not know when items came.
    NotWindow(&'static str),
}

/// Why a filter takes no digests in place of keys.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum DigestError {
    /// It hashes in another system's way.
    NoDigests,
    /// Whoever sends digests chooses the bits, which its key is there to prevent.
    Keyed,
}

/// Why something that is no insertion was not done.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub enum ChangeError {
    /// There is no filter of this name.
    NotFound,
    /// There is one of the new name.
    Exists,
    /// A file.
    ReadOnly,
    /// The new name is too long.
    Name(LongName),
    /// A pattern with too many bytes.
    LongPattern {
        /// Its bytes.
        found: usize,
        /// The most that are allowed.
        limit: usize,
    },
    /// No dump was begun, or it was forgotten.
    NoDump,
    /// Not with this filter.
    Filter(mayhap::Error),
    /// A limit is in the way.
    TooLarge(TooLarge),
    /// The machine has not so much memory.
    OutOfMemory {
        /// Bytes requested.
        bytes: u64,
    },
    /// The log does not take it.
    Log(Refused),
}

/// Why bytes are no filter that can be served.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub enum BadFilter {
    /// They are no filter of ours, or not of this key.
    Native(mayhap::Error),
    /// They are no filter of another system.
    Foreign(mayhap_formats::Error),
    /// A number is outside of its range.
    Spec(SpecError),
    /// It is of a kind that is not served.
    Kind(Kind),
    /// Its keys are changed before they are hashed: how.
    KeyOptions(String),
    /// A window of time whose times are in another unit than the server's.
    Times {
        /// Its latest time.
        latest: u64,
    },
    /// A header of another length.
    HeaderBytes {
        /// Its bytes.
        found: usize,
        /// Those of a header.
        expected: usize,
    },
    /// A header that the first part does not hold whole.
    SplitHeader,
    /// No bits.
    NoBits,
    /// More bytes than one filter may have.
    TooLarge {
        /// Its bytes.
        found: u64,
        /// The setting `max_filter_bytes`.
        limit: u64,
    },
    /// Each key costs too much.
    TooManyHashes {
        /// Hashes for a key.
        found: u64,
        /// The most that are allowed.
        limit: u64,
    },
    /// More bytes than its header says.
    TooLong {
        /// Bytes that came after the header.
        found: u64,
        /// Bytes that the header says.
        expected: u64,
    },
    /// A chunk without bytes: it would only keep others from the memory.
    EmptyChunk,
    /// Too many dumps come in already.
    TooManyDumps {
        /// How many may.
        limit: usize,
    },
    /// The machine has not so much memory.
    OutOfMemory,
}

/// Why a record or an image of the data folder could not be applied.
#[derive(Debug)]
#[non_exhaustive]
pub enum RecoveryError {
    /// A filter of a kind that a later version may know.
    UnknownKind,
    /// Contents of which parts are missing.
    NotWhole,
    /// Keys of a filter whose contents are not whole.
    KeysTooEarly,
    /// A dump without its first part.
    NoFirstPart,
    /// An image of a filter that is a file.
    ImageOfFile,
    /// Digests for a filter that takes none.
    NoDigests,
    /// An order for a filter that needs none.
    NoOrder,
    /// Keys for a filter that takes digests.
    NoKeys,
    /// The filter does not take it: too little memory, most likely.
    Filter(mayhap::Error),
    /// A filter of another system does not take it.
    Foreign(mayhap_formats::Error),
    /// Contents that are no filter.
    Contents(BadFilter),
    /// An image cannot be read.
    Io(io::Error),
}

/// Why a file of `import/` is not served.
#[derive(Debug)]
pub struct FileError {
    /// The file.
    pub path: PathBuf,
    /// What is wrong with it.
    pub problem: FileProblem,
}

/// What is wrong with a file of `import/`.
#[derive(Debug)]
#[non_exhaustive]
pub enum FileProblem {
    /// It has no name.
    NoName,
    /// Its name is too long.
    Name(LongName),
    /// There is a filter of its name.
    Taken,
    /// Another filter took its name meanwhile.
    TakenMeanwhile,
    /// Somebody writes to it.
    Changing,
    /// It does not answer.
    Unreadable(Unreadable),
    /// It cannot be read.
    Io(io::Error),
    /// It is no sound file of a filter.
    Store(Box<mayhap_store::Error>),
    /// It is a filter that cannot be served.
    Filter(BadFilter),
    /// It may be of several formats.
    Formats {
        /// Their names.
        formats: Vec<&'static str>,
    },
    /// Nothing says how its keys become bytes.
    KeyType {
        /// The name of its format.
        format: &'static str,
        /// The types that its keys may have.
        known: &'static [KeyType],
    },
    /// Filters of this kind cannot be served from a file.
    Kind(Kind),
}

impl FileProblem {
    /// Whether it may be over without a change of the file: it was not read for want of a right or
    /// of a descriptor.
    pub(super) fn passes(&self) -> bool {
        /// `EMFILE` and `ENFILE`, which have no kind.
        const NO_DESCRIPTORS: [i32; 2] = [24, 23];
        let error = match self {
            Self::Io(error) => error,
            Self::Store(error) => match &**error {
                mayhap_store::Error::Io { source, .. } => source,
                _ => return false,
            },
            _ => return false,
        };
        let has_none = error.raw_os_error().is_some_and(|code| NO_DESCRIPTORS.contains(&code));
        error.kind() == io::ErrorKind::PermissionDenied || cfg!(unix) && has_none
    }
}

impl TooLarge {
    /// The limit that an error of the core speaks of, if it is one that an operator sets.
    fn of(error: &mayhap::Error) -> Option<Self> {
        let &mayhap::Error::TooLarge { field, limit, found: requested } = error else {
            return None;
        };
        let setting = match field {
            Budget::FIELD => "max_memory",
            super::options::FILTER_BYTES => "max_filter_bytes",
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

macro_rules! from {
    ($($from:ty => $to:ident::$variant:ident),* $(,)?) => {$(
        impl From<$from> for $to {
            fn from(error: $from) -> Self {
                Self::$variant(error)
            }
        }
    )*};
}

from! {
    Refused => CreateError::Log,
    LongName => CreateError::Name,
    SpecError => CreateError::Spec,
    Refused => ChangeError::Log,
    LongName => ChangeError::Name,
    mayhap::Error => BadFilter::Native,
    SpecError => BadFilter::Spec,
    mayhap::Error => RecoveryError::Filter,
    BadFilter => RecoveryError::Contents,
    LongName => FileProblem::Name,
    BadFilter => FileProblem::Filter,
}

impl From<Changed> for Unreadable {
    fn from(what: Changed) -> Self {
        Self::Changed(what)
    }
}

impl From<mayhap_store::Error> for FileProblem {
    fn from(error: mayhap_store::Error) -> Self {
        Self::Store(Box::new(error))
    }
}

impl From<ImageError> for RecoveryError {
    fn from(error: ImageError) -> Self {
        match error {
            ImageError::Io(error) => Self::Io(error),
            ImageError::Filter(error) => Self::Filter(error),
        }
    }
}

impl From<RecoveryError> for ReplayError {
    fn from(error: RecoveryError) -> Self {
        Self::Filters(Box::new(error))
    }
}
