//! The two ends of a move: files, and filters on servers.

use super::Connection;
use super::bits::Bits;
use super::bits::Reading;
use super::model::{check_kind, refuse_foreign};
use crate::args::ReplicaArgs;
use crate::error::Error;
use crate::set::session::Waiting;
use mayhap::native::{self, Header, MAGIC};
use mayhap_redis::{Found, NativeFilter, RemoteFilter, find};
use mayhap_sets::server::{Known, ServerUrl, copy};
use mayhap_store::FilterLock;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// Where a filter is that moves.
#[derive(Debug)]
pub enum Source {
    /// In a file.
    File(PathBuf),
    /// On Redis or Valkey.
    Native(Connection, NativeFilter),
    /// On `mayhap serve`.
    Served(Connection),
}

impl Source {
    /// Finds it; only plain filters move.
    ///
    /// # Errors
    ///
    /// [`Error::Usage`] for other kinds and systems; [`Error::Store`], [`Error::Remote`].
    pub fn open(path: &Path, how: Reading<'_>) -> Result<Self, Error> {
        if !mayhap_sets::is_url(path) {
            let name = path.display().to_string();
            let header =
                mayhap_store::read_header(path).map_err(|error| refuse_foreign(&name, error))?;
            check_kind(&name, &header)?;
            return Ok(Self::File(path.to_owned()));
        }
        let url = ServerUrl::of(path)?;
        let connection = Connection::open(url, how.server, ReplicaArgs::default(), how.talk)?;
        let (server, name) = (&connection.origin.server, &connection.origin.name);
        match connection.timed(find(server, name, how.key))? {
            Found::Native(filter) => Ok(Self::Native(connection, filter)),
            Found::Nothing { .. } => {
                let name = name.clone();
                Err(connection.error(mayhap_redis::Error::NotFound { name }))
            }
            Found::Bf(filter) if filter.kind().is_some() => Ok(Self::Served(connection)),
            _ => Err(Error::usage(
                format!("{} is a filter of another system, which does not move", name_of(path)),
                "create a plain one at the new place and add its keys: mayhap create TO -n COUNT, \
                 mayhap add TO KEYS",
            )),
        }
    }

    /// The file, or the URL without the password.
    pub fn name(&self) -> String {
        match self {
            Self::File(path) => path.display().to_string(),
            Self::Native(connection, _) | Self::Served(connection) => connection.origin.url.clone(),
        }
    }

    /// Its bits as they are now.
    ///
    /// # Errors
    ///
    /// [`Error::Store`], [`Error::Remote`]; [`Error::Usage`] for other kinds.
    pub fn bits<'a>(&'a self, how: Reading<'_>) -> Result<Bits<'a>, Error> {
        match self {
            Self::File(path) => Bits::of_file(path, how),
            Self::Native(connection, filter) => Bits::of_server(connection, filter),
            Self::Served(connection) => served(connection, how),
        }
    }

    /// The time after which it expires, if it does.
    ///
    /// # Errors
    ///
    /// [`Error::Remote`].
    pub fn ttl(&self) -> Result<Option<Duration>, Error> {
        match self {
            Self::Native(connection, filter) => {
                let left = connection.wait(filter.glance())?.ttl_ms;
                Ok(left.map(|left| Duration::from_millis(left.max(1))))
            }
            Self::File(_) | Self::Served(_) => Ok(None),
        }
    }
}

/// The bits of a filter that `mayhap serve` keeps, in memory.
fn served<'a>(connection: &Connection, how: Reading<'_>) -> Result<Bits<'a>, Error> {
    let origin = &connection.origin;
    let found = connection.wait(find(&origin.server, &origin.name, None))?;
    let known = Known { key_of_several: true, ..Known::default() };
    let bytes = copy(origin, found, &known, how.max_bytes)?.bytes;
    if !bytes.starts_with(&MAGIC) {
        return Err(Error::usage(
            format!("{} is a filter of another system, which does not move", origin.url),
            "create a plain one at the new place and add its keys",
        ));
    }
    let header = Header::decode(&bytes)?;
    check_kind(&origin.url, &header)?;
    let (filter, header) = native::decode_as(&bytes, how.key)?;
    Ok(Bits::of_owned(&origin.url, header.key_options(), filter))
}

/// Where a filter moves.
#[derive(Debug)]
pub enum Destination<'a> {
    /// A file, whose lock is held.
    File(PathBuf, FilterLock, Reading<'a>),
    /// A name on Redis or Valkey, and the filter there.
    Server(Connection, Option<NativeFilter>),
}

impl<'a> Destination<'a> {
    /// Looks at it.
    ///
    /// # Errors
    ///
    /// [`Error::Usage`] where no filter of mayhap's own layout can be; [`Error::Store`],
    /// [`Error::Remote`], [`Error::Stopped`].
    pub fn open(
        path: &Path,
        (how, replicas): (Reading<'a>, ReplicaArgs),
        waiting: &Waiting,
    ) -> Result<Self, Error> {
        if !mayhap_sets::is_url(path) {
            return Ok(Self::File(path.to_owned(), waiting.lock(path)?, how));
        }
        let url = ServerUrl::of(path)?;
        let connection = Connection::open(url, how.server, replicas, how.talk)?;
        let (server, name) = (&connection.origin.server, &connection.origin.name);
        match connection.timed(find(server, name, how.key))? {
            Found::Native(filter) => Ok(Self::Server(connection, Some(filter))),
            Found::Nothing { filters_only: false } => Ok(Self::Server(connection, None)),
            Found::Nothing { .. } => Err(Error::usage(
                format!("{} is managed by its server, which takes whole filters", name_of(path)),
                "move it to a file, then mayhap push FILE URL",
            )),
            _ => Err(Error::usage(
                format!("{} holds a filter of another system", name_of(path)),
                "use another name, or delete that filter first: mayhap delete --force URL",
            )),
        }
    }

    /// The file, or the URL without the password.
    pub fn name(&self) -> String {
        match self {
            Self::File(path, ..) => path.display().to_string(),
            Self::Server(connection, _) => connection.origin.url.clone(),
        }
    }
}

fn name_of(path: &Path) -> String {
    mayhap_sets::redacted(&path.to_string_lossy())
}
