//! Filter files and key files, as the verbs need them.

use crate::error::Error;
use crate::fill::State;
use crate::kind::{self, Detail, KindFilter};
use crate::session::say_foreign;
use crate::talk::Talk;
use mayhap::native::{Header, Kind};
use mayhap::{Bitmap, Digest, DigestFunction, Estimate, FilterParams, SecretKey};
use mayhap_store::{Loaded, LogFound, MappedFilter, Snapshot};
use std::fs::{File, OpenOptions};
use std::io::{Read, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

/// Longer files are no keys: 32 hex digits and white space.
const MAX_KEY_FILE_BYTES: u64 = 256;

/// Reads a secret key: 16 bytes as they are, or 32 hex digits.
///
/// # Errors
///
/// [`Error::Io`], [`Error::Usage`].
pub fn read_secret_key(path: &Path) -> Result<SecretKey, Error> {
    let name = path.display().to_string();
    let mut bytes = Vec::new();
    let file = File::open(path).map_err(Error::io("open", &name))?;
    file.take(MAX_KEY_FILE_BYTES).read_to_end(&mut bytes).map_err(Error::io("read", &name))?;
    if let Ok(key) = <[u8; 16]>::try_from(bytes.as_slice()) {
        return Ok(SecretKey::new(key));
    }
    let key = std::str::from_utf8(&bytes).ok().and_then(|text| parse_hex(text.trim()));
    key.map(SecretKey::new).ok_or_else(|| {
        Error::usage(
            format!("{name} holds {} bytes that are no secret key", bytes.len()),
            "a key file holds 32 hex digits or 16 bytes; make one with --new-key-file FILE",
        )
    })
}

fn parse_hex(text: &str) -> Option<[u8; 16]> {
    if text.len() != 32 || !text.bytes().all(|byte| byte.is_ascii_hexdigit()) {
        return None;
    }
    u128::from_str_radix(text, 16).ok().map(u128::to_be_bytes)
}

/// Makes a random secret key and its file, which must not exist yet, with mode 0600.
///
/// # Errors
///
/// [`Error::Io`].
pub fn new_secret_key(path: &Path) -> Result<SecretKey, Error> {
    let name = path.display().to_string();
    let mut key = [0; 16];
    File::open("/dev/urandom")
        .and_then(|mut random| random.read_exact(&mut key))
        .map_err(Error::io("read", "/dev/urandom"))?;
    let mut file = OpenOptions::new()
        .write(true)
        .create_new(true)
        .mode(0o600)
        .open(path)
        .map_err(Error::io("create", &name))?;
    let text = format!("{:032x}\n", u128::from_be_bytes(key));
    file.write_all(text.as_bytes())
        .and_then(|()| file.sync_all())
        .map_err(Error::io("write", &name))?;
    Ok(SecretKey::new(key))
}

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

    /// How many keys the bits speak of, where the kind can tell, and the numbers that the bits are
    /// of. Reads all bits.
    pub fn estimated_items(&self) -> Option<(Estimate, FilterParams)> {
        match self {
            Self::Mapped(mapped) => {
                let filter = mapped.filter();
                Some((filter.estimated_items(), *filter.params()))
            }
            Self::Loaded(loaded) => {
                Some((loaded.filter.estimated_items(), *loaded.filter.params()))
            }
            Self::Kind(filter, _) => filter.estimated_items(),
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
