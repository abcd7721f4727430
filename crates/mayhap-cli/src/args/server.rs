//! Options for filters on servers.

use super::secret_key;
use crate::error::Error;
use crate::memory;
use clap::Args;
use mayhap::SecretKey;
#[cfg(feature = "redis")]
use mayhap_redis::Certificates;
#[cfg(feature = "redis")]
use mayhap_sets::server::{Error as ServerError, Reach};
use mayhap_units::number::parse_bytes;
use mayhap_units::span::parse_time;
use std::num::NonZeroU32;
use std::path::PathBuf;
use std::time::Duration;

/// Options for connections to a server.
#[derive(Debug, Clone, Args)]
#[command(next_help_heading = "Servers")]
pub struct ServerArgs {
    /// Give up if a server does not reply for this long: 500ms, 10s, 2min
    #[arg(long, value_name = "TIME", value_parser = parse_time, default_value = "30s")]
    pub timeout: Duration,
    /// Trust this authority for rediss://, not those of the machine
    #[arg(long, value_name = "FILE")]
    pub tls_ca: Option<PathBuf>,
    /// The certificate to show a server that requires one, as PEM
    #[arg(long, value_name = "FILE", requires = "tls_key")]
    pub tls_cert: Option<PathBuf>,
    /// Its key
    #[arg(long, value_name = "FILE", requires = "tls_cert")]
    pub tls_key: Option<PathBuf>,
}

/// How many replicas must have a write.
#[derive(Debug, Clone, Copy, Default, Args)]
#[command(next_help_heading = "Servers")]
pub struct ReplicaArgs {
    /// On a server: wait until this many replicas have the writes
    #[arg(long, value_name = "COUNT")]
    pub wait_replicas: Option<NonZeroU32>,
}

#[cfg(feature = "redis")]
impl ServerArgs {
    /// How a server is reached.
    ///
    /// # Errors
    ///
    /// [`Error::Remote`] for files that are no certificates.
    pub fn reach(&self, replicas: ReplicaArgs) -> Result<Reach, Error> {
        let client = self.tls_cert.as_deref().zip(self.tls_key.as_deref());
        let certificates = Certificates::open(self.tls_ca.as_deref(), client);
        Ok(Reach {
            timeout: self.timeout,
            wait_replicas: replicas.wait_replicas,
            certificates: certificates.map_err(ServerError::Url)?,
        })
    }
}

/// Options for copying a whole filter to or from a server.
#[derive(Debug, Args)]
pub struct WholeArgs {
    /// The filter's secret key, if it has one
    #[arg(long, value_name = "FILE")]
    key_file: Option<PathBuf>,
    /// Refuse larger filters [default: the memory of the machine or container, if it is needed]
    #[arg(long, value_name = "SIZE", value_parser = parse_bytes)]
    max_memory: Option<u64>,
    /// Print the summary as JSON, on stdout
    #[arg(long)]
    pub json: bool,
    /// Options for the connection to the server.
    #[command(flatten)]
    pub server: ServerArgs,
}

impl WholeArgs {
    /// The secret key, if one is named.
    ///
    /// # Errors
    ///
    /// [`Error::Io`], [`Error::Usage`] for a file that is no key.
    pub fn secret_key(&self) -> Result<Option<SecretKey>, Error> {
        secret_key(self.key_file.as_deref())
    }

    /// The largest filter that is allowed where it passes in pieces.
    pub fn max_streamed(&self) -> u64 {
        self.max_memory.unwrap_or(u64::MAX)
    }

    /// The largest filter that is allowed.
    pub fn max_bytes(&self) -> u64 {
        memory::limit(self.max_memory)
    }
}
