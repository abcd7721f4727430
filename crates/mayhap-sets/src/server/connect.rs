//! Connecting to the server that a URL names: with the password of the environment, and times for
//! each attempt within the time for the whole call.

use super::error::{Error, Wanted, failed};
use super::origin::Origin;
use super::wait::wait;
use crate::error::Error as SetError;
use crate::url::{is_url, redacted};
use mayhap_redis::{Address, Certificates, Server, ServerOptions, WaitReplicas};
use std::num::NonZeroU32;
use std::path::Path;
use std::time::Duration;

/// The time that connecting may take, within the time that is given.
const CONNECT: Duration = Duration::from_secs(5);
/// A reply may take this part of that time, so that a silent node is tried again, or its replica.
const TRIES: u32 = 3;
/// The time that replicas may take before a write is sent again.
const REPLICAS: Duration = Duration::from_millis(500);
/// The variable of the environment with the password, as redis-cli has it.
const PASSWORD: &str = "REDISCLI_AUTH";

/// How long a call may take, and what a write has to reach.
#[derive(Debug, Clone)]
pub struct Reach {
    /// Give up if the server does not reply for this long.
    pub timeout: Duration,
    /// Wait until this many replicas have the writes.
    pub wait_replicas: Option<NonZeroU32>,
    /// Certificates for TLS beside those of the machine.
    pub certificates: Certificates,
}

impl Default for Reach {
    /// 30 seconds, and writes that only the master needs to have.
    fn default() -> Self {
        Self {
            timeout: Duration::from_secs(30),
            wait_replicas: None,
            certificates: Certificates::default(),
        }
    }
}

impl Reach {
    fn options(&self) -> ServerOptions {
        let wait_replicas = self.wait_replicas.map(|count| WaitReplicas {
            replicas: count.get(),
            timeout: REPLICAS.min(self.timeout),
        });
        ServerOptions {
            connect_timeout: CONNECT.min(self.timeout),
            response_timeout: self.timeout / TRIES,
            deadline: self.timeout,
            wait_replicas,
            certificates: self.certificates.clone(),
            ..ServerOptions::default()
        }
    }
}

/// The target of a URL.
#[derive(Debug, Clone)]
pub struct ServerUrl {
    address: Address,
    /// The URL, without the password.
    pub url: String,
    /// The name of the filter there; empty for the URL of a server.
    pub name: String,
}

impl ServerUrl {
    /// Reads the URL of a filter.
    ///
    /// # Errors
    ///
    /// [`Error::NotAUrl`] and the like, [`Error::NoName`] if it names no filter.
    pub fn of(path: &Path) -> Result<Self, Error> {
        let (address, url) = parse(path, Wanted::Filter)?;
        match address.name().map(str::to_owned) {
            Some(name) => Ok(Self { address, url, name }),
            None => Err(Error::NoName { url }),
        }
    }

    /// Reads the URL of a server or a cluster as a whole.
    ///
    /// # Errors
    ///
    /// As [`ServerUrl::of`], but for [`Error::HasName`] if it names a filter.
    pub fn of_server(path: &Path) -> Result<Self, Error> {
        let (address, url) = parse(path, Wanted::Server)?;
        match address.name() {
            Some(_) => Err(Error::HasName { url }),
            None => Ok(Self { address, url, name: String::new() }),
        }
    }

    /// Whether it is a cluster.
    pub fn is_cluster(&self) -> bool {
        self.address.is_cluster()
    }

    /// Whether the connection is encrypted.
    pub fn is_tls(&self) -> bool {
        self.address.is_tls()
    }

    /// The target of another URL, or of a name beside this one; `None` if it is on another server.
    ///
    /// # Errors
    ///
    /// As [`ServerUrl::of`].
    pub fn beside(&self, path: &Path) -> Result<Option<Self>, Error> {
        if is_url(path) {
            return Self::of(path).map(|it| self.address.is_beside(&it.address).then_some(it));
        }
        let shown = || path.to_string_lossy().into_owned();
        let name = path
            .to_str()
            .ok_or_else(|| Error::NotText { shown: shown(), wanted: Wanted::Filter })?;
        let address = self.address.beside(name);
        Ok(Some(Self { url: address.to_string(), address, name: name.into() }))
    }

    /// Connects to the server.
    ///
    /// # Errors
    ///
    /// [`SetError::Server`].
    pub fn connect(self, reach: &Reach) -> Result<Origin, SetError> {
        let server = wait(Server::connect(&self.address, reach.options()))?;
        let server = server.map_err(|source| failed(&self.url, source))?;
        Ok(Origin { server, url: self.url, name: self.name })
    }
}

/// The address that a URL stands for. Where it has no password, that of the environment is taken.
fn parse(path: &Path, wanted: Wanted) -> Result<(Address, String), Error> {
    let shown = || redacted(&path.to_string_lossy());
    let url = path.to_str().ok_or_else(|| Error::NotText { shown: shown(), wanted })?;
    if !is_url(path) {
        return Err(Error::NotAUrl { shown: shown(), wanted });
    }
    let address = Address::parse(url).map_err(Error::Url)?;
    let address = match std::env::var(PASSWORD) {
        Ok(password) if !password.is_empty() => address.or_password(&password),
        _ => address,
    };
    let shown = address.to_string();
    Ok((address, shown))
}
