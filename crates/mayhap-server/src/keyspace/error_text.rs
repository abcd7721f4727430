//! The errors of the keyspace as text.

use super::{
    BadFilter, ChangeError, CreateError, DigestError, FileError, FileProblem, InsertError,
    LongName, RecoveryError, SpecError, TooLarge, Unreadable, WhichError, WrongKind,
};
use std::error::Error;
use std::fmt::{Display, Formatter, Result};
use std::path::Path;

const OUT_OF_MEMORY: &str = "bytes for the filter cannot be allocated";
const READ_ONLY: &str = "the filter is a file and read-only";

/// An error of the core in the words of those who create filters by a rate and a capacity.
fn core(error: &mayhap::Error, f: &mut Formatter<'_>) -> Result {
    match error {
        mayhap::Error::FppUnreachable { target_fpp, lowest_fpp } => write!(
            f,
            "error rate is {target_fpp:e}, below the lowest that so many items can have, \
             {lowest_fpp:.3e}; use a higher rate or a smaller capacity"
        ),
        error => error.fmt(f),
    }
}

fn too_many_hashes(found: u64, limit: u64, f: &mut Formatter<'_>) -> Result {
    write!(f, "{found} hashes for a key are above the limit of {limit}")
}

impl Display for TooLarge {
    fn fmt(&self, f: &mut Formatter<'_>) -> Result {
        let Self { requested, limit, setting } = self;
        let whose = if *setting == "max_memory" { "all filters" } else { "the filter" };
        write!(f, "{whose} would take {requested} bytes, above the limit of {limit} ({setting})")
    }
}

impl Display for LongName {
    fn fmt(&self, f: &mut Formatter<'_>) -> Result {
        let Self { found, limit } = self;
        write!(f, "the name has {found} bytes, above the limit of {limit} (max_name_bytes)")
    }
}

impl Display for SpecError {
    fn fmt(&self, f: &mut Formatter<'_>) -> Result {
        match self {
            Self::ZeroCapacity => f.write_str("capacity is 0, must be at least 1"),
            Self::Fpp(fpp) => write!(f, "error rate is {fpp}, must be above 0 and below 1"),
            Self::Expansion(by) => {
                write!(f, "expansion is {by}, must be from 1 to {}", super::MAX_EXPANSION)
            }
            Self::ClearAt(share) => {
                write!(f, "a filter cannot be cleared at {share} of its bits, but above 0, up to 1")
            }
            Self::Layout => f.write_str("layout must be standard or blocked"),
        }
    }
}

impl Display for CreateError {
    fn fmt(&self, f: &mut Formatter<'_>) -> Result {
        match self {
            Self::Exists => f.write_str("item exists"),
            Self::TooLarge(limit) => limit.fmt(f),
            Self::OutOfMemory { bytes } => write!(f, "{bytes} {OUT_OF_MEMORY}"),
            Self::Name(name) => name.fmt(f),
            Self::Spec(number) => number.fmt(f),
            Self::Filter(error) => core(error, f),
            Self::ReadOnly => f.write_str(READ_ONLY),
            Self::OfFiles => f.write_str("files cannot be merged"),
            Self::OfNothing => f.write_str("nothing to unite"),
            Self::NoUnion(kind) => {
                write!(f, "there is no union of {kind} filters; add the items to one of them")
            }
            Self::Kinds { left, right } => {
                write!(f, "the filters differ in kind: {left} against {right}")
            }
            Self::Overfull { items, capacity } => write!(
                f,
                "together they have {items} items, above the capacity of {capacity}, and beyond it \
                 the rate rises; create larger filters, or ones that grow"
            ),
            Self::Log(refused) => refused.fmt(f),
        }
    }
}

impl Display for InsertError {
    fn fmt(&self, f: &mut Formatter<'_>) -> Result {
        match self {
            Self::Full => f.write_str("non scaling filter is full"),
            Self::ReadOnly => f.write_str(READ_ONLY),
            Self::TooLarge(limit) => limit.fmt(f),
            Self::OutOfMemory { bytes } => write!(f, "{bytes} {OUT_OF_MEMORY}"),
            Self::Filter(error) => core(error, f),
            Self::Foreign(error) => error.fmt(f),
            Self::TooManyHashes { found, limit } => write!(
                f,
                "its layers have {found} hashes for a key, above the limit of {limit}; create a \
                 new filter"
            ),
            Self::Log(refused) => refused.fmt(f),
        }
    }
}

impl Display for WrongKind {
    fn fmt(&self, f: &mut Formatter<'_>) -> Result {
        match self {
            Self::NotCounting(kind) => write!(
                f,
                "this filter is {kind}; items can be removed from counting filters only (option \
                 counting)"
            ),
            Self::NotWindow(kind) => write!(
                f,
                "this filter is {kind}; only window filters know when items arrived (option window)"
            ),
        }
    }
}

impl Display for DigestError {
    fn fmt(&self, f: &mut Formatter<'_>) -> Result {
        f.write_str(match self {
            Self::NoDigests => "the filter has no digests of 64 bits; send the items",
            Self::Keyed => {
                "digests are added to a keyed filter by users with the right admin only; send the \
                 items, or create an unkeyed filter"
            }
        })
    }
}

impl Display for WhichError {
    fn fmt(&self, f: &mut Formatter<'_>) -> Result {
        match self {
            Self::TooMany => {
                write!(f, "filters times items must be at most {}", super::MAX_PROBES)
            }
            Self::Unreadable { name, why } => write!(f, "{}: {why}", name.escape_ascii()),
        }
    }
}

impl Display for ChangeError {
    fn fmt(&self, f: &mut Formatter<'_>) -> Result {
        match self {
            Self::NotFound => f.write_str("not found"),
            Self::Exists => f.write_str("item exists"),
            Self::ReadOnly => f.write_str(READ_ONLY),
            Self::Name(name) => name.fmt(f),
            Self::LongPattern { found, limit } => {
                write!(f, "the pattern has {found} bytes, above the limit of {limit}")
            }
            Self::NoDump => f.write_str("no dump was started; start with cursor 0"),
            Self::Filter(error) => core(error, f),
            Self::TooLarge(limit) => limit.fmt(f),
            Self::OutOfMemory { bytes } => write!(f, "{bytes} {OUT_OF_MEMORY}"),
            Self::Log(refused) => refused.fmt(f),
        }
    }
}

impl Display for BadFilter {
    fn fmt(&self, f: &mut Formatter<'_>) -> Result {
        match self {
            Self::Native(error) => error.fmt(f),
            Self::Foreign(error) => error.fmt(f),
            Self::Spec(number) => number.fmt(f),
            Self::Kind(kind) => write!(f, "a {} filter cannot be served", kind.name()),
            Self::KeyOptions(options) => {
                write!(
                    f,
                    "the filter's keys are extracted from lines ({options}), which the \
                           server does not do"
                )
            }
            Self::Times { latest } => write!(
                f,
                "the window's latest time is {latest}, which is no time in milliseconds since \
                 1970, and its file does not record a clock; the server would forget all of its \
                 keys"
            ),
            Self::HeaderBytes { found, expected } => {
                write!(f, "the header has {found} bytes, not {expected}")
            }
            Self::SplitHeader => f.write_str("the header does not fit into the first part"),
            Self::NoBits => f.write_str("a filter without bits"),
            Self::TooLarge { found, limit } => write!(
                f,
                "the filter would take {found} bytes, above the limit of {limit} \
                 (max_filter_bytes)"
            ),
            &Self::TooManyHashes { found, limit } => too_many_hashes(found, limit, f),
            Self::TooLong { found, expected } => {
                write!(f, "{found} bytes came, the header says {expected}")
            }
            Self::EmptyChunk => f.write_str("the chunk is empty"),
            Self::TooManyDumps { limit } => {
                write!(f, "{limit} loads are in progress already; try again later")
            }
            Self::OutOfMemory => f.write_str("the machine does not have the memory for it"),
        }
    }
}

impl Display for RecoveryError {
    fn fmt(&self, f: &mut Formatter<'_>) -> Result {
        match self {
            Self::UnknownKind => f.write_str("a filter of a kind that a later version may read"),
            Self::NotWhole => f.write_str("a filter with incomplete contents"),
            Self::KeysTooEarly => f.write_str("keys of a filter with incomplete contents"),
            Self::NoFirstPart => f.write_str("a dump without its first part"),
            Self::ImageOfFile => f.write_str("an image of a file"),
            Self::NoDigests => f.write_str("digests for a filter that accepts none"),
            Self::NoOrder => f.write_str("a sequence number for a filter that needs none"),
            Self::NoKeys => f.write_str("keys for a filter that accepts digests"),
            Self::Filter(error) => error.fmt(f),
            Self::Foreign(error) => error.fmt(f),
            Self::Contents(problem) => problem.fmt(f),
            Self::Io(error) => error.fmt(f),
        }
    }
}

impl Display for FileError {
    fn fmt(&self, f: &mut Formatter<'_>) -> Result {
        // An error of the store names the file itself.
        if let FileProblem::Store(error) = &self.problem {
            return error.fmt(f);
        }
        write!(f, "{}: ", self.path.display())?;
        match &self.problem {
            FileProblem::NoName => f.write_str("no file name"),
            FileProblem::Name(name) => name.fmt(f),
            FileProblem::Taken => f.write_str("there is a filter of this name; rename the file"),
            FileProblem::TakenMeanwhile => f.write_str("another filter has this name now"),
            FileProblem::Changing => f.write_str("it is being written to"),
            FileProblem::Unreadable(why) => why.fmt(f),
            FileProblem::Io(error) => error.fmt(f),
            FileProblem::Store(error) => error.fmt(f),
            FileProblem::Filter(problem) => problem.fmt(f),
            FileProblem::Formats { formats } => write!(
                f,
                "it may be of several formats ({}); name the file NAME.FORMAT, as in {}.{}",
                formats.join(", "),
                stem(&self.path),
                formats.first().unwrap_or(&"guava")
            ),
            FileProblem::KeyType { format, known } => {
                let known: Vec<&str> = known.iter().map(|known| known.name()).collect();
                write!(
                    f,
                    "this {format} filter does not say how its keys become bytes; name the file \
                     NAME.TYPE.{format}, as in {}.{}.{format}, with one of the types {}",
                    stem(&self.path),
                    known.first().unwrap_or(&"bytes"),
                    known.join(", ")
                )
            }
            FileProblem::Kind(kind) => {
                write!(f, "a {} filter cannot be served from a file", kind.name())
            }
        }
    }
}

/// The name of a file up to its first dot.
fn stem(path: &Path) -> String {
    let name = path.file_name().map_or_else(Default::default, |name| name.to_string_lossy());
    name.split('.').next().unwrap_or_default().to_owned()
}

impl Display for Unreadable {
    fn fmt(&self, f: &mut Formatter<'_>) -> Result {
        let what: &dyn Display = match self {
            Self::Changed(what) => what,
            Self::NotOpened => &"it could not be opened, for the reason in the server's log",
            Self::Several { files } => {
                return write!(
                    f,
                    "the files of this filter cannot be used: {} have one name, and nothing says \
                     which is meant; leave one of them",
                    files.join(" and ")
                );
            }
            Self::NotAKey(error) => return error.fmt(f),
            Self::Quarantined(why) => {
                return write!(
                    f,
                    "this filter could not be recovered when the server started ({why}): delete \
                     it, or restore the data folder from a backup"
                );
            }
            Self::PuttingBack => {
                return f.write_str(
                    "a change of this filter could not be written and is being undone: try again",
                );
            }
        };
        write!(
            f,
            "the file of this filter cannot be used: {what}; it is opened again once a complete \
             file is there"
        )
    }
}

impl Error for TooLarge {}
impl Error for LongName {}
impl Error for SpecError {}
impl Error for CreateError {}
impl Error for InsertError {}
impl Error for WrongKind {}
impl Error for DigestError {}
impl Error for WhichError {}
impl Error for ChangeError {}
impl Error for BadFilter {}
impl Error for RecoveryError {}
impl Error for FileError {}
impl Error for Unreadable {}
