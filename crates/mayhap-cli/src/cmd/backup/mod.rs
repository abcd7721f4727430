//! `mayhap backup` and `mayhap restore`: a copy of a server's data folder, made while it runs; over
//! a connection by `remote.rs`.

#[cfg(feature = "redis")]
mod remote;

#[cfg(feature = "redis")]
use crate::args::ServerArgs;
use crate::error::Error;
use crate::io::messages::Talk;
use crate::outcome::Outcome;
use mayhap_server::durable::{self, Backup, back_up};
use mayhap_units::number::{counted, format_bytes};
use std::ffi::OsString;
use std::path::Path;

const EXAMPLES: &str = "\
Examples:
  mayhap backup /var/lib/mayhap -o /backup/monday
  mayhap backup filters -o monday --no-key      # the key is kept elsewhere
  mayhap backup rediss://admin@10.0.0.1:6379 -o monday    # from another machine";

const NOTES: &str = "\
The server keeps running: the copy has everything that was acknowledged before the command began. \
Every byte of the copy is verified before the command exits with 0; a copy that was cut short \
says so, no server starts from it, and the same command begins it again. Files in import/ are not \
copied. A copy without the key needs the same key to open (--key-file). Run the command as the \
user of the server, or by its URL as a user with the right admin, with the password in \
REDISCLI_AUTH; the secret key crosses a connection without TLS (redis://) only with --with-key.";

/// Copy the data folder of a server, which may be running
#[derive(Debug, clap::Args)]
#[command(before_help = EXAMPLES, after_help = NOTES)]
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

const RESTORE_EXAMPLES: &str = "\
Examples:
  mayhap restore /backup/monday --data /var/lib/mayhap
  mayhap serve --data /var/lib/mayhap";

const RESTORE_NOTES: &str = "\
Every byte is verified before the command exits with 0. The folder must not exist, or must be \
empty: nothing is replaced. If it is cut short, no server starts from the folder, and the same \
command begins again.";

/// Create a data folder from a backup
#[derive(Debug, clap::Args)]
#[command(before_help = RESTORE_EXAMPLES, after_help = RESTORE_NOTES)]
pub struct RestoreArgs {
    /// The folder created by mayhap backup
    #[arg(value_name = "FOLDER", value_hint = clap::ValueHint::DirPath)]
    backup: OsString,
    /// The data folder to create
    #[arg(long, value_name = "DIR", value_hint = clap::ValueHint::DirPath)]
    data: OsString,
}

/// Runs `mayhap backup`.
///
/// # Errors
///
/// Any of [`Error`].
pub fn run(args: &Args, talk: Talk) -> Result<Outcome, Error> {
    #[cfg(feature = "redis")]
    if crate::args::url::is_meant(&args.data) {
        return remote::run(args, talk);
    }
    copy(&args.data, &args.output, !args.no_key, talk)
}

/// Runs `mayhap restore`.
///
/// # Errors
///
/// Any of [`Error`].
pub fn restore(args: &RestoreArgs, talk: Talk) -> Result<Outcome, Error> {
    copy(&args.backup, &args.data, true, talk)
}

fn copy(from: &OsString, to: &OsString, with_key: bool, talk: Talk) -> Result<Outcome, Error> {
    let (from, to) = (Path::new(from), Path::new(to));
    report(to, back_up(from, to, with_key), talk)
}

fn report(to: &Path, backup: Result<Backup, durable::Error>, talk: Talk) -> Result<Outcome, Error> {
    let Backup { filters, image_bytes, log_bytes, has_key, key_id, .. } =
        backup.map_err(|error| {
            Error::usage(error.to_string(), "docs/operations.md has a section on backups")
        })?;
    let key = if has_key { "with the secret key" } else { "without a secret key" };
    let (images, log) = (format_bytes(image_bytes), format_bytes(log_bytes));
    talk.say(&format!(
        "{}: {} in {images} of images and {log} of log, {key}; everything verified",
        to.display(),
        counted(filters, "filter")
    ));
    if !has_key {
        talk.say(&format!(
            "it opens with the secret key {key_id:016x} alone: mayhap serve --key-file FILE, or \
             put the file key of the server's data folder into the restored one"
        ));
    }
    Ok(Outcome::Done)
}
