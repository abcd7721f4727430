//! `mayhap delete`: a filter, with all that belongs to it.

use crate::args::{LockArgs, OpenArgs, secret_key};
use crate::error::Error;
use crate::io::messages::Reporter;
#[cfg(feature = "redis")]
use crate::set::open;
use crate::set::session::Waiting;
use mayhap_lists::Stop;
use serde::Serialize;
use std::fs;
use std::io::ErrorKind;
use std::path::PathBuf;

/// Delete a filter, in a file or on a server
#[derive(Debug, clap::Args)]
pub struct Args {
    /// The filter: a file, or redis://host:port/database/name
    #[arg(value_name = "FILTER")]
    file: PathBuf,
    /// Confirm: the filter cannot be recovered
    #[arg(long)]
    force: bool,
    /// Print the summary as JSON, on stdout
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    open: OpenArgs,
    #[command(flatten)]
    lock: LockArgs,
}

/// The deleted filter, as `--json` prints it.
#[derive(Debug, Serialize)]
struct Deleted {
    file: String,
    deleted: bool,
}

/// Runs the verb.
///
/// # Errors
///
/// Any of [`Error`].
pub fn run(args: &Args, talk: Reporter) -> Result<(), Error> {
    #[cfg(feature = "redis")]
    if let Some((mut set, _)) = open::on_server(&args.file, &args.open.how()?, talk)? {
        check_force(args.force, set.url())?;
        let deleted = set.delete()?;
        return report(args, set.url().to_owned(), deleted, talk);
    }
    let name = args.file.display().to_string();
    let stop = Stop::on_signals()?;
    let lock = Waiting::new("delete", args.lock, talk, Some(&stop)).lock(&args.file)?;
    // Checks that it is a filter; its contents do not matter.
    let header = mayhap_store::read_header(&args.file)?;
    secret_key::check(args.open.secret_key()?, &args.file, &header)?;
    check_force(args.force, &name)?;
    // The file first: a new filter refuses a log without its filter, and does not take it for its
    // own.
    fs::remove_file(&args.file).map_err(Error::io("delete", &name))?;
    let log = mayhap_store::log_path(&args.file)?;
    if let Err(error) = fs::remove_file(&log)
        && error.kind() != ErrorKind::NotFound
    {
        return Err(Error::io("delete", &log.display().to_string())(error));
    }
    lock.remove_digests()?;
    drop(lock);
    report(args, name, true, talk)
}

fn check_force(force: bool, name: &str) -> Result<(), Error> {
    if force {
        return Ok(());
    }
    Err(Error::usage(
        format!("{name} would be deleted and could not be recovered"),
        "confirm with --force",
    ))
}

fn report(args: &Args, file: String, deleted: bool, talk: Reporter) -> Result<(), Error> {
    talk.summary(args.json, &Deleted { file, deleted }, |Deleted { file, deleted }| {
        let done = if *deleted { "deleted" } else { "was gone already" };
        (format!("{file}: {done}"), String::new())
    })
}
