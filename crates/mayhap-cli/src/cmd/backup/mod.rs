//! `mayhap backup`: a copy of a server's data folder, made while it runs; over a connection by
//! `remote.rs`. `copied.rs` reports it, for `mayhap restore` too.

mod copied;
#[cfg(feature = "redis")]
mod remote;

#[cfg(feature = "redis")]
use crate::args::ServerArgs;
use crate::error::Error;
use crate::io::messages::Reporter;
use std::ffi::OsString;

pub(super) use copied::copy;

/// Copy the data folder of a server, which may be running
#[derive(Debug, clap::Args)]
pub struct Args {
    /// The data folder, as given to mayhap serve --data, or the URL of the server
    #[arg(value_name = "DIR", value_hint = clap::ValueHint::DirPath)]
    data: OsString,
    /// The folder to create
    #[arg(short, long, value_name = "FOLDER", value_hint = clap::ValueHint::DirPath)]
    output: OsString,
    /// Leave the secret key out
    #[arg(long)]
    no_key: bool,
    /// Include the secret key also over a connection without TLS
    #[cfg(feature = "redis")]
    #[arg(long, conflicts_with = "no_key")]
    with_key: bool,
    #[cfg(feature = "redis")]
    #[command(flatten)]
    server: ServerArgs,
}

/// Runs the verb.
///
/// # Errors
///
/// Any of [`Error`].
pub fn run(args: &Args, talk: Reporter) -> Result<(), Error> {
    #[cfg(feature = "redis")]
    if mayhap_sets::is_url(&args.data) {
        return remote::run(args, talk);
    }
    copy(&args.data, &args.output, !args.no_key, talk)
}
