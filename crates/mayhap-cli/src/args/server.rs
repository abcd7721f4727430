//! Options for filters on servers.

use super::secret_key;
use crate::error::Error;
use crate::memory;
use clap::Args;
use mayhap::SecretKey;
use mayhap_units::number::parse_bytes;
use mayhap_units::span::parse_time;
use std::num::NonZeroU32;
use std::path::PathBuf;
use std::time::Duration;

/// How a server is spoken to.
#[derive(Debug, Clone, Args)]
#[command(next_help_heading = "Servers")]
pub struct ServerArgs {
    /// Give up when a server of redis:// gives no answer for so long: 500ms, 10s, 2min
    #[arg(long, value_name = "TIME", value_parser = parse_time, default_value = "30s")]
    pub timeout: Duration,
}

/// What a write on a server has to have reached.
#[derive(Debug, Clone, Copy, Default, Args)]
#[command(next_help_heading = "Servers")]
pub struct ReplicaArgs {
    /// On a server: go on when so many replicas have what was written
    #[arg(long, value_name = "COUNT")]
    pub wait_replicas: Option<NonZeroU32>,
}

/// How a whole filter goes to a server or comes from one, and what is said of it.
#[derive(Debug, Args)]
pub struct WholeArgs {
    /// The filter's secret key, if it has one
    #[arg(long, value_name = "FILE")]
    key_file: Option<PathBuf>,
    /// Refuse larger filters [default: the memory of this machine]
    #[arg(long, value_name = "SIZE", value_parser = parse_bytes)]
    max_memory: Option<u64>,
    /// Print the summary as JSON, on stdout
    #[arg(long)]
    pub json: bool,
    /// How the server is spoken to.
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

    /// The largest filter that is allowed.
    pub fn max_bytes(&self) -> u64 {
        memory::limit(self.max_memory)
    }
}
