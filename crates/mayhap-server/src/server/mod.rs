//! A whole server: from its settings to its end.
//!
//! `open.rs` restores the filters, `network.rs` has the settings of the loops, `error.rs` the
//! reasons why it could not start or stop. `mayhap serve` adds signals, messages and systemd to
//! this.

mod error;
mod network;
mod open;

pub use error::{ShutdownError, StartError};

use crate::config::Config;
use crate::front::Front;
use crate::http::Http;
use crate::net::{Ended, Live, Loops};
use crate::shared::Shared;
use mayhap_engine::{Engine, Event};
use std::net::SocketAddr;
use std::sync::Arc;

/// A server of filters, before it has started.
#[derive(Debug)]
pub struct Server;

/// A running server.
///
/// It recovers its filters from the data folder, listens, sweeps expired filters, makes
/// checkpoints, and continues until [`Running::shut_down`]. Dropping it stops everything without a
/// last checkpoint; acknowledged changes are in the log all the same.
#[derive(Debug)]
pub struct Running {
    shared: Arc<Shared>,
    loops: Option<Loops>,
    http: Option<Http>,
    engine: Option<Engine>,
}

impl Server {
    /// Starts a server with these settings.
    ///
    /// # Errors
    ///
    /// [`StartError`]; nothing is running then.
    ///
    /// # Examples
    ///
    /// ```
    /// use mayhap_server::{Config, Server};
    ///
    /// # let folder = tempfile::tempdir()?;
    /// let data = Some(folder.path().to_path_buf());
    /// // Port 0 is any free one.
    /// let running = Server::start(Config { data, port: 0, ..Config::default() })?;
    /// let address = running.address().expect("a TCP port");
    /// assert!(std::net::TcpStream::connect(address).is_ok());
    /// running.shut_down()?;
    /// assert!(std::net::TcpStream::connect(address).is_err());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn start(config: Config) -> Result<Running, StartError> {
        Self::start_with(config, &|_| {})
    }

    /// [`Server::start`] with progress reports; `report` is called from several threads.
    ///
    /// # Errors
    ///
    /// As [`Server::start`].
    pub fn start_with(
        config: Config,
        report: &(dyn Fn(Event<'_>) + Sync),
    ) -> Result<Running, StartError> {
        network::check_files(&config)?;
        let certificate = network::certificate(&config)?;
        let network = network::options(&config, certificate.as_ref())?;
        let front = Front::connect(&config)?;
        let engine = open::open(&config, report)?;
        let shared = Shared::new(config, engine.keyspace.clone(), engine.log.clone());
        if let Some(front) = front {
            shared.set_front(front);
        }
        if let Some(certificate) = certificate {
            shared.set_certificate(certificate);
        }
        let loops = Loops::start(network, Arc::new(Live(shared.clone())))?;
        let http = shared.config().http_port;
        let http = http.map(|_| Http::start(shared.clone(), loops.http_clients()));
        let http = http.transpose();
        let http = http.map_err(|(address, source)| StartError::Http { address, source })?;
        Ok(Running { shared, loops: Some(loops), http, engine: Some(engine) })
    }

    /// Performs the checks that need no start: that the certificate and its key can be used.
    ///
    /// # Errors
    ///
    /// [`StartError::Network`].
    pub fn check(config: &Config) -> Result<(), StartError> {
        let certificate = network::certificate(config)?;
        network::options(config, certificate.as_ref()).map(|_| ())
    }
}

impl Running {
    /// The first address of Redis clients, with the port that the system chose for port 0; `None`
    /// if there is only a Unix socket.
    pub fn address(&self) -> Option<SocketAddr> {
        self.addresses().first().copied()
    }

    /// All addresses of Redis clients.
    pub fn addresses(&self) -> &[SocketAddr] {
        self.loops.as_ref().map_or(&[], Loops::addresses)
    }

    /// All addresses of HTTP, if it is served.
    pub fn http_addresses(&self) -> &[SocketAddr] {
        self.http.as_ref().map_or(&[], Http::addresses)
    }

    /// The filters, settings and counters.
    pub const fn shared(&self) -> &Arc<Shared> {
        &self.shared
    }

    /// Whether it is stopping by itself: a client sent `SHUTDOWN`, or a thread has failed.
    /// [`Running::shut_down`] has to follow.
    pub fn is_stopping(&self) -> bool {
        self.loops.as_ref().is_none_or(|loops| loops.control().is_stopping())
    }

    /// Waits until [`Running::is_stopping`].
    pub fn wait(&self) {
        if let Some(loops) = &self.loops {
            loops.control().wait();
        }
    }

    /// Lets requests in progress finish, makes all changes safe, and ends all threads. A checkpoint
    /// is made before if the setting `checkpoint_on_exit` is on or the client that sent `SHUTDOWN`
    /// requested it.
    ///
    /// # Errors
    ///
    /// [`ShutdownError`], the first one; everything has ended all the same.
    pub fn shut_down(mut self) -> Result<(), ShutdownError> {
        let save = !self.is_stopping() && self.shared.config().checkpoint_on_exit;
        let ended = self.stop_serving();
        let save = save || matches!(ended, Ok(Ended::Shutdown { save: true }));
        self.engine.take().map_or(Ok(()), |engine| engine.close(save))?;
        ended?;
        Ok(())
    }

    /// Ends HTTP and the loops.
    fn stop_serving(&mut self) -> Result<Ended, crate::net::Error> {
        if let Some(http) = self.http.take() {
            http.stop();
        }
        self.loops.take().map_or(Ok(Ended::Stopped), |loops| {
            loops.stop();
            loops.join()
        })
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        // Errors cannot be reported here; `shut_down` returns them.
        let _ = self.stop_serving();
    }
}
