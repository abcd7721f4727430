//! `mayhap pull`: a filter on a Redis or Valkey server to a file.

use super::Outcome;
use crate::args::secret_key;
use crate::error::Error;
use crate::memory;
use crate::number::parse_bytes;
use crate::remote::{self, ServerArgs};
use crate::talk::Talk;
use mayhap::SecretKey;
use std::path::PathBuf;

const EXAMPLES: &str = "\
Examples:
  mayhap pull redis://127.0.0.1:6379/0/seen seen.mayhap
  mayhap pull --force redis://127.0.0.1:6379/0/seen backup.mayhap";

const NOTES: &str = "\
The file holds the bits as they are on the server, and all that is known of the filter there. How \
many keys were inserted is not: the file says as many as its bits speak of. Others may insert \
meanwhile: every key that was acknowledged before is in the file, and any of the later ones may \
be. The file appears whole or not at all.

A URL is redis://host:port/database/name; see mayhap push --help.";

/// Copy a filter from a Redis or Valkey server to a file
#[derive(Debug, clap::Args)]
#[command(before_help = EXAMPLES, after_help = NOTES)]
pub struct Args {
    /// Where it is: redis://host:port/database/name
    #[arg(value_name = "URL")]
    pub(crate) url: PathBuf,
    /// The filter file to make
    #[arg(value_name = "FILE")]
    pub(crate) file: PathBuf,
    /// Replace the file if it exists
    #[arg(long)]
    pub(crate) force: bool,
    /// The filter's secret key, if it has one
    #[arg(long, value_name = "FILE")]
    key_file: Option<PathBuf>,
    /// Refuse larger filters [default: the memory of this machine]
    #[arg(long, value_name = "SIZE", value_parser = parse_bytes)]
    max_memory: Option<u64>,
    /// Print the summary as JSON, on stdout
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    pub(crate) server: ServerArgs,
}

impl Args {
    /// The secret key, if one is named.
    pub(crate) fn secret_key(&self) -> Result<Option<SecretKey>, Error> {
        secret_key(self.key_file.as_deref())
    }

    /// The largest filter that is allowed.
    pub(crate) fn max_bytes(&self) -> u64 {
        memory::limit(self.max_memory)
    }
}

/// Runs the verb.
///
/// # Errors
///
/// Any of [`Error`].
pub fn run(args: &Args, talk: Talk) -> Result<Outcome, Error> {
    let pulled = remote::pull::run(args, talk)?;
    if args.json {
        Talk::json(&pulled, true)?;
    } else {
        talk.say(&pulled.text());
    }
    Ok(Outcome::Done)
}
