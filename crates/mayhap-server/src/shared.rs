//! The state shared by all threads of a server.

use crate::config::{Config, ConfigError, Current, Reloaded, Users};
use crate::front::Front;
use crate::lock::lock;
use crate::login_throttle::LoginThrottle;
use crate::metrics::Metrics;
use crate::net::{self, Certificate, Clients};
use crate::slow_log::SlowLog;
use mayhap_engine::durable::Log;
use mayhap_engine::keyspace::Keyspace;
use std::hash::{BuildHasher, RandomState};
use std::sync::{Arc, Mutex, OnceLock};

/// The state shared by all threads of a server.
#[derive(Debug)]
pub struct Shared {
    current: Current,
    /// One reload at a time.
    reloading: Mutex<()>,
    /// For TLS, if it is on anywhere.
    certificate: OnceLock<Arc<Certificate>>,
    /// The filters of clients, if they are in a store: the keyspace is empty then.
    front: OnceLock<Arc<Front>>,
    /// The filters.
    pub keyspace: Arc<Keyspace>,
    /// The write-ahead log of the filters; `None` without a data folder.
    pub log: Option<Arc<Log>>,
    /// The server's counters.
    pub metrics: Metrics,
    /// The connected clients.
    pub clients: Clients,
    /// Addresses with wrong passwords.
    pub logins: LoginThrottle,
    /// Slow requests.
    pub slow_log: SlowLog,
    /// The name of this process in `INFO`, as Redis has one: 40 digits, chosen when it starts.
    pub(crate) run_id: String,
}

impl Shared {
    /// A server's state before its first client.
    pub fn new(
        config: Config,
        keyspace: impl Into<Arc<Keyspace>>,
        log: Option<Arc<Log>>,
    ) -> Arc<Self> {
        let metrics = Metrics::new(config.loop_threads());
        let (keyspace, clients) = (keyspace.into(), Clients::default());
        let (logins, slow_log) = (LoginThrottle::default(), SlowLog::default());
        let (current, reloading) = (Current::new(config), Mutex::new(()));
        Arc::new(Self {
            current,
            reloading,
            certificate: OnceLock::new(),
            front: OnceLock::new(),
            keyspace,
            log,
            metrics,
            clients,
            logins,
            slow_log,
            run_id: run_id(),
        })
    }

    /// The current settings.
    pub fn config(&self) -> Arc<Config> {
        self.current.config.load_full()
    }

    /// The version of the users: changes whenever one of them has.
    #[inline]
    pub(crate) fn users_version(&self) -> u64 {
        self.current.users_version()
    }

    /// Whether a user still exists with the same password and rights as in this version of the
    /// users.
    pub(crate) fn is_same_user(&self, name: &str, version: u64) -> bool {
        self.current.is_same(name, version)
    }

    /// Applies the settings that can change while the server runs, and names those that cannot.
    ///
    /// A user whose password or rights have changed, or who is gone, is logged out at the next
    /// request; the certificate is reloaded, for new connections.
    ///
    /// # Errors
    ///
    /// [`ReloadError`]; nothing has changed then.
    ///
    /// # Examples
    ///
    /// ```
    /// use mayhap_server::{Config, Server};
    ///
    /// let before = Config { port: 0, ..Config::default() };
    /// let running = Server::start(before.clone())?;
    /// let now = Config { default_capacity: 5000, port: 7000, ..before };
    /// let reloaded = running.shared().reload(now)?;
    /// assert_eq!(reloaded.changed, ["default_capacity"]);
    /// assert_eq!(reloaded.after_restart, ["port"]);
    /// assert_eq!(running.shared().config().default_capacity, 5000);
    /// running.shut_down()?;
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn reload(&self, config: Config) -> Result<Reloaded, ReloadError> {
        self.reload_with(true, |_| Ok(config))
    }

    /// Applies these users, and leaves all other settings as they are.
    ///
    /// # Errors
    ///
    /// [`ReloadError`]; nothing has changed then.
    pub fn reload_users(&self, users: Arc<Users>) -> Result<Reloaded, ReloadError> {
        self.reload_with(false, |config| Ok(Config { users, ..config.clone() }))
    }

    /// Reloads the certificate and its key, for new connections; returns whether it has changed.
    ///
    /// # Errors
    ///
    /// Those of [`Certificate::read`], if the two files are not a valid pair; the previous one is
    /// kept.
    pub fn reload_certificate(&self) -> Result<bool, net::Error> {
        let _one = lock(&self.reloading);
        self.read_certificate(&self.config())
    }

    fn read_certificate(&self, config: &Config) -> Result<bool, net::Error> {
        let files = config.tls_cert.as_deref().zip(config.tls_key.as_deref());
        let read = self.certificate.get().zip(files);
        read.map_or(Ok(false), |(certificate, (cert, key))| certificate.read(cert, key))
    }

    /// [`Shared::reload`] of a configuration made from the current settings, which no other reload
    /// changes meanwhile. With `files` it reloads the certificate even if its path is the same.
    pub(crate) fn reload_with(
        &self,
        files: bool,
        make: impl FnOnce(&Config) -> Result<Config, ReloadError>,
    ) -> Result<Reloaded, ReloadError> {
        let _one = lock(&self.reloading);
        let new = make(&self.config())?;
        let mut merged = self.current.merge(new).map_err(ReloadError::Config)?;
        let (config, changed) = (&merged.config, &mut merged.reloaded.changed);
        let has_other_files = changed.iter().any(|name| matches!(*name, "tls_cert" | "tls_key"));
        if files || has_other_files {
            let is_other = self.read_certificate(config).map_err(ReloadError::Tls)?;
            // With other paths their settings report the change already.
            changed.extend((is_other && !has_other_files).then_some("certificate"));
        }
        if changed.contains(&"max_memory") {
            self.keyspace.set_max_memory(config.max_memory.unwrap_or(u64::MAX));
        }
        if changed.contains(&"log_level") {
            log::set_max_level(config.log_level);
        }
        if config.users.asks_password() {
            self.clients.expect_logins();
        }
        Ok(self.current.store(merged))
    }

    /// The filters of clients, if they are in a store.
    #[inline]
    pub fn front(&self) -> Option<&Arc<Front>> {
        self.front.get()
    }

    /// Sets the store of the filters, before the first client.
    pub(crate) fn set_front(&self, front: Front) {
        // A server has one, and sets it once.
        let _ = self.front.set(Arc::new(front));
    }

    /// Sets the certificate for connections, which a reload reads again.
    pub(crate) fn set_certificate(&self, certificate: Arc<Certificate>) {
        // A server has one, and sets it once.
        let _ = self.certificate.set(certificate);
    }

    /// The certificate, read at the first call; `None` if the settings name none.
    pub(crate) fn certificate(&self) -> Result<Option<Arc<Certificate>>, net::Error> {
        if let Some(certificate) = self.certificate.get() {
            return Ok(Some(certificate.clone()));
        }
        let config = self.config();
        let Some((cert, key)) = config.tls_cert.as_deref().zip(config.tls_key.as_deref()) else {
            return Ok(None);
        };
        let certificate = Certificate::open(cert, key)?;
        Ok(Some(self.certificate.get_or_init(|| certificate).clone()))
    }
}

/// Why settings were not reloaded.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ReloadError {
    /// They are invalid, or contradict each other.
    #[error("{0}")]
    Config(#[source] ConfigError),
    /// The certificate or its key cannot be used.
    #[error("{0}")]
    Tls(#[source] net::Error),
}

/// Forty hexadecimal digits that no other process has.
fn run_id() -> String {
    let random = |part: u64| RandomState::new().hash_one((part, std::process::id()));
    let [first, second, third] = [0, 1, 2].map(random);
    format!("{first:016x}{second:016x}{:08x}", third >> 32)
}
