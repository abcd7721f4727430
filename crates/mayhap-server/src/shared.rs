//! What all threads of a server share.

use crate::config::{Config, ConfigError, Current, Reloaded, Users};
use crate::durable::Log;
use crate::guesses::Guesses;
use crate::keyspace::Keyspace;
use crate::metrics::Metrics;
use crate::net::{self, Certificate, Clients};
use crate::slow_log::SlowLog;
use std::fmt;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

/// What all threads of a server share.
#[derive(Debug)]
pub struct Shared {
    current: Current,
    /// One reload at a time.
    reloading: Mutex<()>,
    /// Of TLS, if it is spoken anywhere.
    certificate: OnceLock<Arc<Certificate>>,
    /// The filters.
    pub keyspace: Arc<Keyspace>,
    /// The write-ahead log that keeps them; `None` without a data folder.
    pub log: Option<Arc<Log>>,
    /// The server's counters.
    pub metrics: Metrics,
    /// The clients that are connected.
    pub clients: Clients,
    /// Who guesses passwords.
    pub guesses: Guesses,
    /// What took long.
    pub slow_log: SlowLog,
}

impl Shared {
    /// A server's state before its first client.
    pub fn new(config: Config, keyspace: Keyspace, log: Option<Arc<Log>>) -> Arc<Self> {
        let metrics = Metrics::new(config.loop_threads());
        let (keyspace, clients) = (Arc::new(keyspace), Clients::default());
        let (guesses, slow_log) = (Guesses::default(), SlowLog::default());
        let (current, reloading) = (Current::new(config), Mutex::new(()));
        Arc::new(Self {
            current,
            reloading,
            certificate: OnceLock::new(),
            keyspace,
            log,
            metrics,
            clients,
            guesses,
            slow_log,
        })
    }

    /// The settings as they are now.
    pub fn config(&self) -> Arc<Config> {
        self.current.load()
    }

    /// Which users there are: another number when one of them has changed.
    #[inline]
    pub(crate) fn users_version(&self) -> u64 {
        self.current.users_version()
    }

    /// Whether a user has neither another password nor other rights since this version of the
    /// users, and is still one.
    pub(crate) fn is_same_user(&self, name: &str, version: u64) -> bool {
        self.current.is_same(name, version)
    }

    /// Takes the settings that can change while the server runs, and names those that cannot.
    ///
    /// A user whose password or rights have changed, or who is gone, is logged out at the next
    /// request; the certificate is read again, for connections to come.
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

    /// Takes these users, and leaves all other settings as they are.
    ///
    /// # Errors
    ///
    /// [`ReloadError`]; nothing has changed then.
    pub fn reload_users(&self, users: Arc<Users>) -> Result<Reloaded, ReloadError> {
        self.reload_with(false, |config| Ok(Config { users, ..config.clone() }))
    }

    /// Reads the certificate and its key again, for connections to come; whether it is another.
    ///
    /// # Errors
    ///
    /// Those of [`Certificate::read`], if the two files are not a whole pair; the one before stays.
    pub fn reload_certificate(&self) -> Result<bool, net::Error> {
        let _one = self.reloading.lock().unwrap_or_else(PoisonError::into_inner);
        self.read_certificate(&self.config())
    }

    fn read_certificate(&self, config: &Config) -> Result<bool, net::Error> {
        let files = config.tls_cert.as_deref().zip(config.tls_key.as_deref());
        let read = self.certificate.get().zip(files);
        read.map_or(Ok(false), |(certificate, (cert, key))| certificate.read(cert, key))
    }

    /// [`Shared::reload`] of what is made from the settings as they are, which no other reload
    /// changes meanwhile. With `files` it reads the certificate again though it has the same name.
    pub(crate) fn reload_with(
        &self,
        files: bool,
        make: impl FnOnce(&Config) -> Result<Config, ReloadError>,
    ) -> Result<Reloaded, ReloadError> {
        // What it guards is whole at every moment.
        let _one = self.reloading.lock().unwrap_or_else(PoisonError::into_inner);
        let new = make(&self.config())?;
        let mut merged = self.current.merge(new).map_err(ReloadError::Config)?;
        let (config, changed) = (&merged.config, &mut merged.reloaded.changed);
        let has_other_files = changed.iter().any(|name| matches!(*name, "tls_cert" | "tls_key"));
        if files || has_other_files {
            let is_other = self.read_certificate(config).map_err(ReloadError::Tls)?;
            // Of others it is said by their names.
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

    /// The certificate that connections get, which a reload reads again.
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
#[derive(Debug)]
#[non_exhaustive]
pub enum ReloadError {
    /// They are wrong, or contradict each other.
    Config(ConfigError),
    /// The certificate or its key is of no use.
    Tls(net::Error),
}

impl fmt::Display for ReloadError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Config(error) => error.fmt(f),
            Self::Tls(error) => error.fmt(f),
        }
    }
}

impl std::error::Error for ReloadError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            Self::Config(error) => Some(error),
            Self::Tls(error) => Some(error),
        }
    }
}
