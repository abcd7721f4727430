//! `mayhap clear`: a filter without its keys.

use crate::args::{LockArgs, OpenArgs};
use crate::error::Error;
use crate::io::messages::Talk;
use crate::outcome::Outcome;
use crate::set::fill::Counts;
use crate::set::foreign;
use crate::set::kept::ReplacedDigests;
#[cfg(feature = "redis")]
use crate::set::remote::{self, Access};
use crate::set::session::Waiting;
use crate::set::summary::Summary;
use mayhap_foreign::ForeignFile;
use mayhap_lists::Stop;
use mayhap_sets::Numbers;
use mayhap_store::{FilterLock, LogFound, Snapshot};
use mayhap_units::number::counted;
use std::path::PathBuf;
use std::time::Duration;

const EXAMPLES: &str = "\
Examples:
  mayhap clear --force seen.mayhap
  mayhap clear --force redis://127.0.0.1:6379/0/seen    # on a server";

const NOTES: &str = "\
The filter keeps its size, kind, digest and key options and, on a server, its expiry. A file is \
replaced whole or not at all, and its digests are removed; a dedup that is using it ends with an \
error. On Redis, readers and writers see either the old filter or the empty one; keys that others \
add meanwhile may be removed too. Windows and filters with a seed on mayhap serve, filters of \
RedisBloom and valkey-bloom, and files of other systems but BloomFileter cannot be cleared: \
delete and create them again.";

/// Remove all keys from a filter
#[derive(Debug, clap::Args)]
#[command(before_help = EXAMPLES, after_help = NOTES)]
pub struct Args {
    /// The filter: a file, or redis://host:port/database/name
    #[arg(value_name = "FILTER")]
    file: PathBuf,
    /// Confirm: the keys cannot be recovered
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

/// Runs the verb.
///
/// # Errors
///
/// Any of [`Error`].
pub fn run(args: &Args, talk: Talk) -> Result<Outcome, Error> {
    #[cfg(feature = "redis")]
    if crate::args::url::is_url(&args.file) {
        let (mut set, _) = remote::open_server_set(&args.file, Access::of(&args.open)?, talk)?;
        let name = set.url().to_owned();
        check_force(args.force, &name, set.items())?;
        set.clear()?;
        return report(args, name, set.numbers(), talk);
    }
    let name = args.file.display().to_string();
    let stop = Stop::on_signals()?;
    let lock = Waiting::new("clear", args.lock, talk, Some(&stop)).lock(&args.file)?;
    if let Some(file) = foreign::open(&args.file, &args.open)? {
        return clear_foreign(args, file, &lock, talk);
    }
    let snapshot = Snapshot::open(&args.file)?;
    let mut set = mayhap_sets::load(snapshot.image(), args.open.secret_key()?)?;
    let options = snapshot.header().key_options().to_owned();
    // A log may have keys, which are not read.
    let more = u64::from(snapshot.log() != LogFound::None);
    drop(snapshot);
    check_force(args.force, &name, set.items() + more)?;
    let kind = set.name();
    let not_this = || {
        Error::usage(
            format!("{name} is a {kind} filter, which is immutable"),
            "delete it, or build another one: mayhap delete, mayhap build",
        )
    };
    if !set.clear()? {
        return Err(not_this());
    }
    let Some(contents) = set.contents() else { return Err(not_this()) };
    let header = contents.header(&options);
    let digests = ReplacedDigests::of(&args.file);
    lock.save(&header, &contents.segments(), true)?;
    digests.say(talk);
    report(args, name, set.numbers(), talk)
}

/// Clears a file of another system, if that has an operation for it.
fn clear_foreign(
    args: &Args,
    mut file: ForeignFile,
    lock: &FilterLock,
    talk: Talk,
) -> Result<Outcome, Error> {
    let (name, format) = (file.name().to_owned(), file.filter().format().name());
    let items = file.filter().estimated_items().unwrap_or(1);
    check_force(args.force, &name, items.max(u64::from(file.filter().count_ones() > 0)))?;
    if !file.filter_mut().clear() {
        return Err(Error::usage(
            format!("{name} is a {format} filter, which its system cannot clear"),
            format!("create it again: mayhap create --force {name} --format {format} -n COUNT"),
        ));
    }
    file.save_back(lock)?;
    report(args, name, Numbers::Foreign(file.numbers()), talk)
}

/// Refuses to forget keys that nobody said may be forgotten.
fn check_force(force: bool, name: &str, items: u64) -> Result<(), Error> {
    if force || items == 0 {
        return Ok(());
    }
    Err(Error::usage(
        format!("{name} has {}, which could not be recovered", counted(items, "key")),
        "confirm with --force",
    ))
}

fn report(args: &Args, name: String, numbers: Numbers, talk: Talk) -> Result<Outcome, Error> {
    let summary = Summary::new(name, Counts::default(), Duration::ZERO, true, numbers);
    summary.print(talk, args.json)?;
    Ok(Outcome::Done)
}
