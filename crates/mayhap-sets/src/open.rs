//! The meaning of a path or URL: the one place that decides.
//!
//! [`locate`] finds it out, and [`open`] opens it as a set that is queried. Programs that change
//! what is there go on from what [`locate`] found.

use crate::error::Error;
#[cfg(not(feature = "redis"))]
use crate::error::Refusal;
use crate::file::{ForeignFile, ForeignSet};
use crate::key_set::KeySet;
use crate::known::Known;
use crate::note::Note;
use crate::own::ReadFile;
#[cfg(feature = "redis")]
use crate::server::{self, Reach, ServerSet, ServerUrl};
use crate::url::{is_url, shown};
use mayhap_formats::Limits;
use mayhap_keys::KeyOptions;
use std::path::Path;

/// Facts about a filter, known before it is opened, and how it is reached.
#[derive(Debug, Clone)]
pub struct How<'a> {
    /// Facts about it.
    pub known: Known,
    /// The column of a table, of any name; else it is what follows the mark in `FILE#COLUMN`.
    pub column: Option<&'a str>,
    /// Refuse larger files of other systems.
    pub max_bytes: MaxBytes,
    /// How a server is reached.
    #[cfg(feature = "redis")]
    pub reach: Reach,
}

/// A limit on the bytes of a file.
#[derive(Debug, Clone, Copy)]
pub enum MaxBytes {
    /// This many.
    Given(u64),
    /// As many as this finds, which is called only for a file of another system: reading a
    /// container's limit takes as long as a query for one key.
    Found(fn() -> u64),
}

impl MaxBytes {
    fn get(self) -> u64 {
        match self {
            Self::Given(bytes) => bytes,
            Self::Found(find) => find(),
        }
    }
}

impl Default for How<'_> {
    /// Nothing is known; files and times are limited as usual.
    fn default() -> Self {
        Self {
            known: Known::default(),
            column: None,
            max_bytes: MaxBytes::Given(Limits::default().max_bytes),
            #[cfg(feature = "redis")]
            reach: Reach::default(),
        }
    }
}

/// The meaning of a path or URL.
#[derive(Debug)]
pub enum Located {
    /// A filter on a server, and its key options, if it keeps them.
    #[cfg(feature = "redis")]
    Server(Box<dyn ServerSet>, Option<KeyOptions>),
    /// A file of another system.
    Foreign(Box<ForeignFile>),
    /// A file of mayhap's own; or no filter that is known, which opening it as one reports.
    Own,
}

/// Finds out what a path or URL stands for, and opens it if it is not a file of mayhap's own.
///
/// # Errors
///
/// [`Error::Server`], [`Error::Foreign`]; [`Error::Store`] with [`mayhap::Error::NotKeyed`] for a
/// secret key that is meant for a file of another system.
///
/// # Examples
///
/// ```
/// use mayhap_formats::{GuavaFilter, GuavaOptions, Limits};
/// use mayhap_sets::{How, Located, locate};
///
/// let folder = tempfile::tempdir()?;
/// let (guava, list) = (folder.path().join("ids.guava"), folder.path().join("ids.txt"));
/// let filter = GuavaFilter::create(&GuavaOptions::new(100), &Limits::default())?;
/// std::fs::write(&guava, filter.to_stream())?;
/// std::fs::write(&list, "one\ntwo\n")?;
/// assert!(matches!(locate(&guava, &How::default())?, Located::Foreign(_)));
/// // A list of keys is no filter of any system.
/// assert!(matches!(locate(&list, &How::default())?, Located::Own));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn locate(path: &Path, how: &How<'_>) -> Result<Located, Error> {
    if is_url(path) {
        return on_server(path, how);
    }
    if mayhap_store::read_header(path).is_ok() {
        return Ok(Located::Own);
    }
    let max_bytes = how.max_bytes.get();
    let file = match how.column {
        None => ForeignFile::open(path, how.known, max_bytes)?,
        column => ForeignFile::open_column(path, column, how.known, max_bytes)?,
    };
    let Some(file) = file else { return Ok(Located::Own) };
    if how.known.secret_key.is_some() && !how.known.key_of_several {
        let source = mayhap::Error::NotKeyed;
        return Err(mayhap_store::Error::Format { path: path.to_owned(), source }.into());
    }
    Ok(Located::Foreign(Box::new(file)))
}

#[cfg(feature = "redis")]
fn on_server(path: &Path, how: &How<'_>) -> Result<Located, Error> {
    let origin = ServerUrl::of(path)?.connect(&how.reach)?;
    let (set, key_options) = server::open(&origin, &how.known)?;
    Ok(Located::Server(set, key_options))
}

#[cfg(not(feature = "redis"))]
fn on_server(path: &Path, _: &How<'_>) -> Result<Located, Error> {
    Err(Error::Refused { name: shown(path), why: Refusal::OnServer })
}

/// A filter that is queried.
#[derive(Debug)]
pub struct Opened {
    /// The file, or the URL without the password.
    pub name: String,
    /// The filter.
    pub set: Box<dyn KeySet>,
    /// How its keys are cut, if it keeps that.
    pub key_options: Option<KeyOptions>,
}

/// Opens a filter to query it; `note` hears what its user should. A missing log is allowed with
/// `without_log`; the pages of a file are not checked if it is `trusted`.
///
/// # Errors
///
/// Those of [`locate`] and [`ReadFile::open`]; [`Error::Keys`].
pub fn open(
    path: &Path,
    how: &How<'_>,
    (without_log, trusted): (bool, bool),
    note: &dyn Fn(Note<'_>),
) -> Result<Opened, Error> {
    let (name, set, key_options): (_, Box<dyn KeySet>, _) = match locate(path, how)? {
        #[cfg(feature = "redis")]
        Located::Server(set, options) => {
            Note::of_guess(set.url(), &*set).into_iter().for_each(note);
            (set.url().to_owned(), set, options)
        }
        Located::Foreign(file) => {
            let set = ForeignSet::to_query(*file);
            Note::of_guess(set.file().name(), &set).into_iter().for_each(note);
            (shown(path), Box::new(set), None)
        }
        Located::Own => {
            let name = shown(path);
            let Known { secret_key, key_of_several, .. } = how.known;
            let key = match secret_key {
                Some(_) if key_of_several && !mayhap_store::read_header(path)?.is_keyed() => None,
                key => key,
            };
            let file = ReadFile::open(path, key, (without_log, trusted), note)?;
            let options = KeyOptions::from_header(&name, file.header.key_options())?;
            (name, file.set, Some(options))
        }
    };
    Ok(Opened { name, set, key_options })
}
