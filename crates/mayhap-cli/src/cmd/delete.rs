//! `mayhap delete`: a filter, with all that belongs to it.

use crate::args::{LockArgs, OpenArgs, secret_key};
use crate::error::Error;
use crate::io::messages::Talk;
use crate::outcome::Outcome;
#[cfg(feature = "redis")]
use crate::set::remote::{self, Access};
use crate::set::session::Waiting;
use mayhap_lists::Stop;
use serde::Serialize;
use std::fs;
use std::io::ErrorKind;
use std::path::PathBuf;

const EXAMPLES: &str = "\
Examples:
  mayhap delete --force seen.mayhap    # with its log and digests
  mayhap delete --force redis://127.0.0.1:6379/0/seen    # all its keys on a server";

const NOTES: &str = "\
Only filters are deleted, so a wrong name does no harm: the header of a file is checked first. \
The log of a file and its digests are deleted with it; on a server all keys of the filter are \
deleted, whatever its system (see docs/redis.md). Exit codes: 0 deleted, 2 after an error, \
including a missing filter.";

/// Delete a filter, in a file or on a server
#[derive(Debug, clap::Args)]
#[command(before_help = EXAMPLES, after_help = NOTES)]
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

/// What was deleted, as `--json` prints it.
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
pub fn run(args: &Args, talk: Talk) -> Result<Outcome, Error> {
    #[cfg(feature = "redis")]
    if crate::args::url::is_url(&args.file) {
        let (mut set, _) = remote::open_server_set(&args.file, Access::of(&args.open)?, talk)?;
        check_force(args.force, set.url())?;
        let deleted = set.delete()?;
        return report(args, set.url().to_owned(), deleted, talk);
    }
    let name = args.file.display().to_string();
    let stop = Stop::on_signals()?;
    let lock = Waiting::new("delete", args.lock, talk, Some(&stop)).lock(&args.file)?;
    // That it is a filter; its contents do not matter.
    let header = mayhap_store::read_header(&args.file)?;
    secret_key::check(args.open.secret_key()?, &args.file, &header)?;
    check_force(args.force, &name)?;
    // The file first: a log without its filter is refused by the next one, not taken for its own.
    fs::remove_file(&args.file).map_err(Error::io("delete", &name))?;
    let log = mayhap_store::log_path(&args.file)?;
    match fs::remove_file(&log) {
        Err(error) if error.kind() != ErrorKind::NotFound => {
            return Err(Error::io("delete", &log.display().to_string())(error));
        }
        _ => {}
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

fn report(args: &Args, file: String, deleted: bool, talk: Talk) -> Result<Outcome, Error> {
    if args.json {
        Talk::json(&Deleted { file, deleted }, true)?;
    } else {
        let done = if deleted { "deleted" } else { "was gone already" };
        talk.say(&format!("{file}: {done}"));
    }
    Ok(Outcome::Done)
}
