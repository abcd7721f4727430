//! Why bytes, records and files are not served as filters.

use super::{LongName, SpecError};
use crate::durable::{ImageError, ReplayError};
use mayhap::native::Kind;
use mayhap_formats::KeyType;
use mayhap_store::Changed;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use thiserror::Error;

/// Why a filter does not answer.
#[derive(Debug, Clone, PartialEq, Error)]
#[non_exhaustive]
pub enum Unreadable {
    /// It was changed while it was served, or is damaged.
    #[error(
        "the file of this filter cannot be used: {0}; it is opened again once a complete file is \
         there"
    )]
    Changed(Changed),
    /// It could not be opened.
    #[error(
        "the file of this filter cannot be used: it could not be opened, for the reason in the \
         server's log; it is opened again once a complete file is there"
    )]
    NotOpened,
    /// Not a file: its data in the folder could not be recovered, for this reason.
    #[error(
        "this filter could not be recovered when the server started ({0}): delete it, or restore \
         the data folder from a backup"
    )]
    Quarantined(Arc<str>),
    /// Not a file: a change of it was refused, and it is being put back to its previous state.
    #[error("a change of this filter could not be written and is being undone: try again")]
    PuttingBack,
    /// Several files have its name, so it is ambiguous.
    #[error(
        "the files of this filter cannot be used: {} have one name, and nothing says which is \
         meant; leave one of them",
        .files.join(" and ")
    )]
    Several {
        /// Their names.
        files: Vec<String>,
    },
    /// A text is not a valid key of this filter, so it is neither present nor absent.
    #[error(transparent)]
    NotAKey(mayhap_formats::Error),
}

/// Why bytes cannot be served as a filter.
#[derive(Debug, Clone, PartialEq, Error)]
#[non_exhaustive]
pub enum BadFilter {
    /// They are not a native filter, or not of this key.
    #[error(transparent)]
    Native(#[from] mayhap::Error),
    /// They are not a sound foreign filter.
    #[error(transparent)]
    Foreign(mayhap_formats::Error),
    /// A number is out of range.
    #[error(transparent)]
    Spec(#[from] SpecError),
    /// It is of an unsupported kind.
    #[error("a {} filter cannot be served", .0.name())]
    Kind(Kind),
    /// Its keys are transformed before they are hashed, in this way.
    #[error("the filter's keys are extracted from lines ({0}), which the server does not do")]
    KeyOptions(String),
    /// A window of time whose times are in a different unit from the server's.
    #[error(
        "the window's latest time is {latest}, which is no time in milliseconds since 1970, and \
         its file does not record a clock; the server would forget all of its keys"
    )]
    Times {
        /// Its latest time.
        latest: u64,
    },
    /// A header of the wrong length.
    #[error("the header has {found} bytes, not {expected}")]
    HeaderBytes {
        /// Its bytes.
        found: usize,
        /// The length of a header.
        expected: usize,
    },
    /// The first part does not contain the whole header.
    #[error("the header does not fit into the first part")]
    SplitHeader,
    /// No bits.
    #[error("a filter without bits")]
    NoBits,
    /// More bytes than one filter may have.
    #[error("the filter would take {found} bytes, above the limit of {limit} (max_filter_bytes)")]
    TooLarge {
        /// Its bytes.
        found: u64,
        /// The setting `max_filter_bytes`.
        limit: u64,
    },
    /// Each key costs too much.
    #[error("{found} hashes for a key are above the limit of {limit}")]
    TooManyHashes {
        /// Hashes for a key.
        found: u64,
        /// The most that are allowed.
        limit: u64,
    },
    /// More bytes than its header announces.
    #[error("{found} bytes came, the header says {expected}")]
    TooLong {
        /// Bytes after the header.
        found: u64,
        /// Bytes announced by the header.
        expected: u64,
    },
    /// A chunk without bytes: it would only keep memory from other clients.
    #[error("the chunk is empty")]
    EmptyChunk,
    /// Too many dumps are being loaded already.
    #[error("{limit} loads are in progress already; try again later")]
    TooManyDumps {
        /// The most that are allowed.
        limit: usize,
    },
    /// The machine has too little memory.
    #[error("the machine does not have the memory for it")]
    OutOfMemory,
}

/// Why a record or an image of the data folder could not be applied.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum RecoveryError {
    /// A filter of an unknown kind, perhaps of a later version.
    #[error("a filter of a kind that a later version may read")]
    UnknownKind,
    /// Contents with missing parts.
    #[error("a filter with incomplete contents")]
    NotWhole,
    /// Keys of a filter whose contents are incomplete.
    #[error("keys of a filter with incomplete contents")]
    KeysTooEarly,
    /// A dump without its first part.
    #[error("a dump without its first part")]
    NoFirstPart,
    /// An image of a filter that is a file.
    #[error("an image of a file")]
    ImageOfFile,
    /// Digests for a filter that takes none.
    #[error("digests for a filter that accepts none")]
    NoDigests,
    /// Ordered changes for a filter that is not ordered.
    #[error("a sequence number for a filter that needs none")]
    NoOrder,
    /// A fold of a filter that does not fold.
    #[error("a fold of a filter that does not fold")]
    NoFold,
    /// A fold to a size that is none.
    #[error("a fold to a size that is none")]
    NoSize,
    /// A piece of bits that is none of the filter.
    #[error("a piece of bits that is none of the filter")]
    NoPiece,
    /// Keys for a filter that takes digests.
    #[error("keys for a filter that accepts digests")]
    NoKeys,
    /// The filter refused it: too little memory, most likely.
    #[error(transparent)]
    Filter(#[from] mayhap::Error),
    /// A foreign filter refused it.
    #[error(transparent)]
    Foreign(mayhap_formats::Error),
    /// Contents that are not a filter.
    #[error(transparent)]
    Contents(#[from] BadFilter),
    /// An image cannot be read, or is not a filter.
    #[error(transparent)]
    Image(#[from] ImageError),
}

/// Why a file of `import/` is not served.
#[derive(Debug, Error)]
#[error("{}{problem}", prefix(path, problem))]
pub struct FileError {
    /// The file.
    pub path: PathBuf,
    /// The reason.
    pub problem: FileProblem,
}

/// Why a file of `import/` is not served.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum FileProblem {
    /// It has no name.
    #[error("no file name")]
    NoName,
    /// Its name is too long.
    #[error(transparent)]
    Name(#[from] LongName),
    /// There is already a filter of its name.
    #[error("there is a filter of this name; rename the file")]
    Taken,
    /// Another filter took its name meanwhile.
    #[error("another filter has this name now")]
    TakenMeanwhile,
    /// It is being written to.
    #[error("it is being written to")]
    Changing,
    /// It does not answer.
    #[error(transparent)]
    Unreadable(Unreadable),
    /// It cannot be read.
    #[error(transparent)]
    Io(io::Error),
    /// It is not a sound filter file.
    #[error(transparent)]
    Store(Box<mayhap_store::Error>),
    /// It is a filter that cannot be served.
    #[error(transparent)]
    Filter(#[from] BadFilter),
    /// It may be of several formats.
    #[error(
        "it may be of several formats ({}); name the file NAME.FORMAT, as in {stem}.{}",
        .formats.join(", "),
        .formats.first().unwrap_or(&"guava")
    )]
    Formats {
        /// The name of the file up to its first dot.
        stem: String,
        /// Their names.
        formats: Vec<&'static str>,
    },
    /// Nothing states how its keys are encoded.
    #[error(
        "this {format} filter does not say how its keys become bytes; name the file \
         NAME.TYPE.{format}, as in {stem}.{}.{format}, with one of the types {}",
        names(.known).first().unwrap_or(&"bytes"),
        names(.known).join(", ")
    )]
    KeyType {
        /// The name of the file up to its first dot.
        stem: String,
        /// The name of its format.
        format: &'static str,
        /// The types that its keys may have.
        known: &'static [KeyType],
    },
    /// Filters of this kind cannot be served from a file.
    #[error("a {} filter cannot be served from a file", .0.name())]
    Kind(Kind),
}

/// The file, unless an error of the store already names it.
fn prefix(path: &Path, problem: &FileProblem) -> String {
    let is_named = matches!(problem, FileProblem::Store(_));
    if is_named { String::new() } else { format!("{}: ", path.display()) }
}

fn names(types: &[KeyType]) -> Vec<&'static str> {
    types.iter().map(|known| known.name()).collect()
}

impl FileProblem {
    /// Whether it may go away without a change of the file: reading failed for lack of a permission
    /// or of a file descriptor.
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

impl From<mayhap_store::Error> for FileProblem {
    fn from(error: mayhap_store::Error) -> Self {
        Self::Store(Box::new(error))
    }
}

impl From<RecoveryError> for ReplayError {
    fn from(error: RecoveryError) -> Self {
        Self::Filters(Box::new(error))
    }
}
