//! A whole server: from its settings to its end.
//!
//! `open.rs` brings the filters back, `network.rs` says where the loops listen, `error.rs` why it
//! could not start or end. `mayhap serve` adds signals, messages and systemd to this.

mod error;
mod network;
mod open;

pub use error::{ShutdownError, StartError};
pub use open::Event;

use crate::config::Config;
use crate::durable::Threads;
use crate::http::Http;
use crate::keyspace::Upkeep;
use crate::net::{Control, Ended, Live, Loops};
use crate::shared::Shared;
use std::net::SocketAddr;
use std::sync::Arc;

/// A server of filters, before it has started.
#[derive(Debug)]
pub struct Server;

/// A server that runs.
///
/// It recovers its filters from the data folder, listens, sweeps filters that have expired, makes
/// checkpoints, and keeps all of that up until [`Running::shut_down`]. Dropping it stops everything
/// without a last checkpoint; what was acknowledged is in the log all the same.
#[derive(Debug)]
pub struct Running {
    shared: Arc<Shared>,
    control: Arc<Control>,
    addresses: Vec<SocketAddr>,
    loops: Option<Loops>,
    http: Option<Http>,
    upkeep: Option<Upkeep>,
    log: Option<Threads>,
}

impl Server {
    /// Starts a server with these settings.
    ///
    /// # Errors
    ///
    /// [`StartError`]; nothing runs then.
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

    /// [`Server::start`], reporting what it does; `report` is called from several threads.
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
        let (keyspace, log) = open::open(&config, report)?;
        let shared = Shared::new(config, keyspace, log);
        if let Some(certificate) = certificate {
            shared.set_certificate(certificate);
        }
        let keyspace = &shared.keyspace;
        let thread = StartError::thread;
        let threads = shared.log.as_ref().map(|log| Threads::start(log, keyspace.clone()));
        let log = threads.transpose().map_err(thread("the threads of the log"))?;
        let upkeep = keyspace.start_upkeep(shared.log.clone());
        let upkeep = upkeep.map_err(thread("the threads that look after filters"))?;
        let loops = Loops::start(network, Arc::new(Live(shared.clone())))?;
        let http = shared.config().http_port;
        let http = http.map(|_| Http::start_with(shared.clone(), loops.http_clients()));
        let http = http.transpose().map_err(StartError::http)?;
        let (control, addresses) = (loops.control(), loops.addresses().to_vec());
        let (loops, upkeep) = (Some(loops), Some(upkeep));
        Ok(Running { shared, control, addresses, loops, http, upkeep, log })
    }

    /// Checks what can be checked without starting: that the certificate and its key can be used.
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
    /// if there is only a socket in the file system.
    pub fn address(&self) -> Option<SocketAddr> {
        self.addresses.first().copied()
    }

    /// All addresses of Redis clients.
    pub fn addresses(&self) -> &[SocketAddr] {
        &self.addresses
    }

    /// The first address of HTTP, if it is served.
    pub fn http_address(&self) -> Option<SocketAddr> {
        self.http.as_ref().map(Http::address)
    }

    /// All addresses of HTTP.
    pub fn http_addresses(&self) -> &[SocketAddr] {
        self.http.as_ref().map_or(&[], Http::addresses)
    }

    /// The filters, settings and counters.
    pub const fn shared(&self) -> &Arc<Shared> {
        &self.shared
    }

    /// Whether it ends of itself: a client sent `SHUTDOWN`, or a thread has failed.
    /// [`Running::shut_down`] is to follow.
    pub fn is_stopping(&self) -> bool {
        self.control.is_stopping()
    }

    /// Waits until [`Running::is_stopping`].
    pub fn wait(&self) {
        self.control.wait();
    }

    /// Lets requests at hand end, makes what was written safe, and ends all threads. A checkpoint
    /// is made before if the setting `checkpoint_on_exit` or the client who sent `SHUTDOWN` says
    /// so.
    ///
    /// # Errors
    ///
    /// [`ShutdownError`], the first one; everything has ended all the same.
    pub fn shut_down(mut self) -> Result<(), ShutdownError> {
        let save = !self.is_stopping() && self.shared.config().checkpoint_on_exit;
        let ended = self.stop_serving();
        let save = save || matches!(ended, Ok(Ended::Shutdown { save: true }));
        let saved = match &self.shared.log {
            Some(log) if save => log.checkpoint(&*self.shared.keyspace).map(|saves| {
                log::info!("checkpoint: {saves}");
            }),
            _ => Ok(()),
        };
        let closed = self.log.take().map_or(Ok(()), Threads::close);
        saved?;
        closed?;
        ended?;
        Ok(())
    }

    /// Ends HTTP, the loops, and the threads that look after filters.
    fn stop_serving(&mut self) -> Result<Ended, crate::net::Error> {
        if let Some(http) = self.http.take() {
            http.stop();
        }
        let ended = self.loops.take().map_or(Ok(Ended::Stopped), |loops| {
            loops.stop();
            loops.join()
        });
        self.upkeep = None;
        ended
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        // Nobody is there to hear of errors; `shut_down` returns them.
        let _ = self.stop_serving();
        let _ = self.log.take().map(Threads::close);
    }
}
