//! `mayhap pull`: a filter on a Redis or Valkey server to a file.

use super::Outcome;
use crate::error::Error;
use crate::remote::{self, WholeArgs};
use crate::session::LockArgs;
use crate::talk::Talk;
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
    #[command(flatten)]
    pub(crate) whole: WholeArgs,
    #[command(flatten)]
    pub(crate) lock: LockArgs,
}

/// Runs the verb.
///
/// # Errors
///
/// Any of [`Error`].
pub fn run(args: &Args, talk: Talk) -> Result<Outcome, Error> {
    let pulled = remote::pull::run(args, talk)?;
    if args.whole.json {
        Talk::json(&pulled, true)?;
    } else {
        pulled.say(talk);
    }
    Ok(Outcome::Done)
}
