//! Filter files that are read.

use crate::error::Error;
use crate::io::messages::Talk;
use crate::set::kind::{self, Detail, KindFilter};
use crate::set::session::say_foreign;
use crate::set::state::State;
use mayhap::native::{Header, Kind};
use mayhap::{Bitmap, Digest, DigestFunction, Estimate, SecretKey};
use mayhap_store::{Loaded, LogFound, MappedFilter, Snapshot};
use std::path::Path;

/// Opens a filter file to read it with its log, which may be missing only if that is allowed. Says so
/// then, and names a log that is none of its.
///
/// # Errors
///
/// [`Error::Store`].
pub fn open_snapshot(path: &Path, without_log: bool, talk: Talk) -> Result<Snapshot, Error> {
    let snapshot = Snapshot::open(path)?;
    match snapshot.log() {
        LogFound::Missing { .. } if without_log => {
            let (name, log) = (path.display(), snapshot.log_path().display());
            talk.warn(&format!("{name}: read without {log}; what was recorded there is not in it"));
        }
        LogFound::Foreign { .. } => say_foreign(talk, snapshot.log_path()),
        _ => snapshot.check()?,
    }
    Ok(snapshot)
}

/// A filter that is only asked: mapped, or loaded where its log has more than its file, or where
/// it is of another kind than the plain one.
#[derive(Debug)]
pub enum ReadFilter {
    /// Opened in an instant.
    Mapped(Box<MappedFilter>),
    /// With what the log adds.
    Loaded(Box<Loaded>),
    /// Of another kind, with the header of its file.
    Kind(Box<dyn KindFilter>, Box<Header>),
}

impl ReadFilter {
    /// Opens a filter file of any kind, with its log.
    ///
    /// # Errors
    ///
    /// Those of [`open_snapshot`].
    pub fn open(
        path: &Path,
        key: Option<SecretKey>,
        without_log: bool,
        talk: Talk,
    ) -> Result<Self, Error> {
        let snapshot = open_snapshot(path, without_log, talk)?;
        let header = snapshot.header().clone();
        if header.kind() != Kind::Bloom {
            let mut filter = kind::load(snapshot.image(), key)?;
            snapshot.replay(|record| filter.apply(record))?;
            return Ok(Self::Kind(filter, Box::new(header)));
        }
        let is_whole =
            !matches!(snapshot.log(), LogFound::Records { bytes: 1.. } | LogFound::Missing { .. });
        if is_whole {
            match mayhap_store::open_mapped(path, key) {
                // A log was begun since.
                Err(mayhap_store::Error::UnreadLog { .. }) => {
                    return Self::open(path, key, without_log, talk);
                }
                mapped => return Ok(Self::Mapped(Box::new(mapped?))),
            }
        }
        let mut filter = snapshot.image().load(key, |_, _| {})?;
        snapshot.replay(|record| mayhap_store::apply(&mut filter, record))?;
        Ok(Self::Loaded(Box::new(Loaded { filter, header })))
    }

    /// What the file says of the filter.
    pub fn header(&self) -> &Header {
        match self {
            Self::Mapped(mapped) => mapped.header(),
            Self::Loaded(loaded) => &loaded.header,
            Self::Kind(_, header) => header,
        }
    }

    /// How keys become digests.
    pub fn digest_function(&self) -> DigestFunction {
        match self {
            Self::Mapped(mapped) => *mapped.filter().digest_function(),
            Self::Loaded(loaded) => *loaded.filter.digest_function(),
            Self::Kind(filter, _) => filter.digest_function(),
        }
    }

    /// Whether what was read of it until now is what the file had when it was opened. To be called
    /// before anything of it is used: others may change a mapped file.
    ///
    /// # Errors
    ///
    /// [`Error::Store`] with what happened to the file.
    pub fn check(&self) -> Result<(), Error> {
        match self {
            Self::Mapped(mapped) => Ok(mapped.check()?),
            Self::Loaded(_) | Self::Kind(..) => Ok(()),
        }
    }

    /// Asks for many digests; the answers hold if [`ReadFilter::check`] says so afterwards.
    pub fn contains_digests_into(&self, digests: &[Digest], found: &mut Bitmap) {
        match self {
            Self::Mapped(mapped) => mapped.filter().contains_digests_into(digests, found),
            Self::Loaded(loaded) => loaded.filter.contains_digests_into(digests, found),
            Self::Kind(filter, _) => filter.contains_digests_into(digests, found),
        }
    }

    /// The numbers of its state. Reads all bits.
    pub fn state(&self) -> State {
        match self {
            Self::Mapped(mapped) => State::of(mapped.filter()),
            Self::Loaded(loaded) => State::of(&loaded.filter),
            Self::Kind(filter, _) => filter.state(),
        }
    }

    /// How many keys the bits speak of, where the kind can tell. Reads all bits.
    pub fn estimated_items(&self) -> Option<Estimate> {
        match self {
            Self::Mapped(mapped) => Some(mapped.filter().estimated_items()),
            Self::Loaded(loaded) => Some(loaded.filter.estimated_items()),
            Self::Kind(..) => None,
        }
    }

    /// What only its kind has.
    pub fn details(&self) -> Vec<Detail> {
        match self {
            Self::Mapped(_) | Self::Loaded(_) => Vec::new(),
            Self::Kind(filter, _) => filter.details(),
        }
    }
}
