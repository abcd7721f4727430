//! How a filter is opened.

#[cfg(feature = "redis")]
use super::ReplicaArgs;
use super::{ForeignArgs, ServerArgs, secret_key};
use crate::error::Error;
use crate::memory;
use clap::Args;
use mayhap::SecretKey;
use mayhap_sets::{How, Known, MaxBytes};
use mayhap_units::number::parse_bytes;
use std::path::PathBuf;

/// How a filter file is opened, mayhap's own or another system's.
#[derive(Debug, Args)]
pub struct OpenArgs {
    /// The filter's secret key, if it has one
    #[arg(long, value_name = "FILE")]
    key_file: Option<PathBuf>,
    /// Refuse larger filters of other systems [default: the memory of the machine or container]
    #[arg(long, value_name = "SIZE", value_parser = parse_bytes)]
    pub max_memory: Option<u64>,
    /// Continue without a missing log: what was recorded in it is lost
    #[arg(long)]
    pub without_log: bool,
    /// Column of Parquet files, of any name; without it, what follows the mark in FILE#COLUMN
    #[arg(long, value_name = "NAME", help_heading = "Filters of other systems")]
    pub column: Option<String>,
    /// Options for files of other systems.
    #[command(flatten)]
    pub foreign: ForeignArgs,
    /// Options for connections to servers.
    #[command(flatten)]
    pub server: ServerArgs,
}

impl OpenArgs {
    /// How a filter is opened as they say.
    ///
    /// # Errors
    ///
    /// Those of [`secret_key()`].
    pub fn how(&self) -> Result<How<'_>, Error> {
        Ok(How {
            column: self.column.as_deref(),
            max_bytes: match self.max_memory {
                Some(bytes) => MaxBytes::Given(bytes),
                None => MaxBytes::Found(|| memory::limit(None)),
            },
            ..how_of(self.foreign.known(self.secret_key()?), &self.server)?
        })
    }

    /// The secret key, if one is named.
    ///
    /// # Errors
    ///
    /// Those of [`secret_key()`].
    pub fn secret_key(&self) -> Result<Option<SecretKey>, Error> {
        secret_key(self.key_file.as_deref())
    }

    /// The largest filter that is allowed.
    pub fn max_bytes(&self) -> u64 {
        memory::limit(self.max_memory)
    }
}

/// How a filter is opened of which this is known.
///
/// # Errors
///
/// The errors of [`ServerArgs::reach`].
#[cfg_attr(not(feature = "redis"), expect(unused_variables, reason = "there are no servers"))]
pub fn how_of<'a>(known: Known, server: &ServerArgs) -> Result<How<'a>, Error> {
    Ok(How {
        known,
        #[cfg(feature = "redis")]
        reach: server.reach(ReplicaArgs::default())?,
        ..How::default()
    })
}
