//! The two ends of a move: files, and filters on servers.

use super::Connection;
use super::bits::Bits;
use super::bits::Reading;
use super::dump::Dump;
use super::flat;
use super::model::{Model, check_kind, refuse_foreign, refuse_kind};
use super::served::is_plain;
use super::target::Target;
use crate::args::ReplicaArgs;
use crate::error::Error;
use crate::set::session::Waiting;
use mayhap::SecretKey;
use mayhap::native::Kind;
use mayhap_redis::{Address, Found, NativeFilter, RemoteBf, RemoteFilter, find};
use mayhap_sets::server::ServerUrl;
use mayhap_store::FilterLock;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// Where a filter is that moves.
#[derive(Debug)]
pub enum Source {
    /// In a file, and whether it grows.
    File(PathBuf, bool),
    /// On Redis or Valkey.
    Native(Connection, NativeFilter),
    /// On `mayhap serve`.
    Served(Connection),
}

impl Source {
    /// Finds it; only plain and growing filters move.
    ///
    /// # Errors
    ///
    /// [`Error::Usage`] for other kinds and systems; [`Error::Store`], [`Error::Remote`].
    pub fn open(path: &Path, how: Reading<'_>) -> Result<Self, Error> {
        if !mayhap_sets::is_url(path) {
            let name = path.display().to_string();
            let header =
                mayhap_store::read_header(path).map_err(|error| refuse_foreign(&name, error))?;
            let grows = header.kind() == Kind::Scalable;
            if !grows {
                check_kind(&name, &header)?;
            }
            return Ok(Self::File(path.to_owned(), grows));
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
            Found::Bf(filter) => match filter.kind() {
                Some(kind) if is_plain(kind) || kind == Kind::Scalable.name() => {
                    Ok(Self::Served(connection))
                }
                Some(kind) => Err(refuse_kind(&connection.origin.url, kind)),
                None => Err(refuse_other(path)),
            },
            _ => Err(refuse_other(path)),
        }
    }

    /// The file, or the URL without the password.
    pub fn name(&self) -> String {
        match self {
            Self::File(path, _) => path.display().to_string(),
            Self::Native(connection, _) | Self::Served(connection) => connection.origin.url.clone(),
        }
    }

    /// Whether it is at the new place already, by another address of the server.
    ///
    /// # Errors
    ///
    /// [`Error::Remote`].
    pub fn is_also(&self, to: &Destination<'_>) -> Result<bool, Error> {
        let (Self::Native(ours, _) | Self::Served(ours)) = self else { return Ok(false) };
        let Destination::Server(to) = to else { return Ok(false) };
        let (ours, theirs) = (&ours.origin, to.connection());
        let database = |url: &str| Address::parse(url).map_or(0, |address| address.database());
        if ours.name != theirs.origin.name || database(&ours.url) != database(&theirs.origin.url) {
            return Ok(false);
        }
        match mayhap_sets::server::wait(ours.server.is_also(&theirs.origin.server))? {
            // A user who may not call INFO moves it without the check.
            Err(mayhap_redis::Error::Refused { .. }) => Ok(false),
            known => known.map_err(|source| theirs.error(source)),
        }
    }

    /// Its bits as they are now; those of a growing filter as a plain one, at most at this rate or
    /// its own.
    ///
    /// # Errors
    ///
    /// [`Error::Store`], [`Error::Remote`]; [`Error::Usage`] for other kinds, for filters that have
    /// grown too far, and for a rate where none grows.
    pub fn bits<'a>(&'a self, how: Reading<'_>, fpp: Option<f64>) -> Result<Bits<'a>, Error> {
        let bits = match self {
            Self::File(path, true) => return flat::of_file(path, how, fpp),
            Self::File(path, false) => Bits::of_file(path, how)?,
            Self::Native(connection, filter) => Bits::of_server(connection, filter)?,
            Self::Served(connection) => {
                let (dump, header) = Dump::begin(connection)?;
                if header.kind() == Kind::Scalable {
                    return flat::of_dump((&dump, &header), &self.name(), how, fpp);
                }
                Bits::of_begun(connection, (dump, &header), how.key)?
            }
        };
        match fpp {
            None => Ok(bits),
            Some(_) => Err(Error::usage(
                format!("{} is a plain filter, which keeps its rate", self.name()),
                "omit -p, which is for growing filters",
            )),
        }
    }

    /// The model of another filter like it; its bits are not read.
    ///
    /// # Errors
    ///
    /// [`Error::Store`], [`Error::Remote`]; [`Error::Usage`] for filters that grow.
    pub fn model(&self, key: Option<SecretKey>) -> Result<Model, Error> {
        match self {
            Self::File(path, _) => {
                let header = mayhap_store::read_header(path)?;
                check_kind(&self.name(), &header)?;
                let bad = |source| mayhap_store::Error::Format { path: path.clone(), source };
                Ok(Model::of(&header, key).map_err(bad)?)
            }
            Self::Native(_, filter) => {
                let (params, function) = (filter.params(), filter.digest_function());
                Ok(Model::new(params, function, &filter.key_options()))
            }
            Self::Served(connection) => {
                let (dump, header) = Dump::begin(connection)?;
                dump.end()?;
                check_kind(&self.name(), &header)?;
                Model::of(&header, key).map_err(|source| dump.error(source))
            }
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
            Self::Served(connection) => {
                let filter = RemoteBf::attach(&connection.origin.server, &connection.origin.name);
                let left = connection.wait(connection.wait(filter)?.info())?.ttl_ms;
                Ok(left.map(|left| Duration::from_millis(left.max(1))))
            }
            Self::File(..) => Ok(None),
        }
    }
}

/// Where a filter moves.
#[derive(Debug)]
pub enum Destination<'a> {
    /// A file, whose lock is held.
    File(PathBuf, FilterLock, Reading<'a>),
    /// A name on a server.
    Server(Target),
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
            crate::files::refuse_existing(path, true)?;
            return Ok(Self::File(path.to_owned(), waiting.lock(path)?, how));
        }
        let url = ServerUrl::of(path)?;
        let connection = Connection::open(url, how.server, replicas, how.talk)?;
        Ok(Self::Server(Target::find(connection, how.key)?))
    }

    /// The file, or the URL without the password.
    pub fn name(&self) -> String {
        match self {
            Self::File(path, ..) => path.display().to_string(),
            Self::Server(target) => target.connection().origin.url.clone(),
        }
    }

    /// Deletes what an unfinished move or push to this name left.
    ///
    /// # Errors
    ///
    /// [`Error::Remote`].
    pub fn discard(&self) -> Result<(), Error> {
        match self {
            Self::File(..) => Ok(()),
            Self::Server(target) => target.discard(),
        }
    }
}

/// The error for a filter that does not move.
fn refuse_other(path: &Path) -> Error {
    let name = mayhap_sets::redacted(&path.to_string_lossy());
    Error::usage(
        format!("{name} is a filter of another system, which does not move"),
        "create a plain one at the new place and add its keys: mayhap create TO -n COUNT, mayhap \
         add TO KEYS",
    )
}
