//! `mayhap restore`: a data folder from a backup.

use super::backup::copy;
use crate::error::Error;
use crate::io::messages::Reporter;
use std::ffi::OsString;

/// Create a data folder from a backup
#[derive(Debug, clap::Args)]
pub struct Args {
    /// The folder created by mayhap backup
    #[arg(value_name = "FOLDER", value_hint = clap::ValueHint::DirPath)]
    backup: OsString,
    /// The data folder to create
    #[arg(long, value_name = "DIR", value_hint = clap::ValueHint::DirPath)]
    data: OsString,
}

/// Runs the verb.
///
/// # Errors
///
/// Any of [`Error`].
pub fn run(args: &Args, talk: Reporter) -> Result<(), Error> {
    copy(&args.backup, &args.data, true, talk)
}
