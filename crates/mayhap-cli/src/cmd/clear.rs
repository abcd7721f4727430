//! `mayhap clear`: a filter without its keys.

use crate::args::{LockArgs, OpenArgs};
use crate::error::Error;
use crate::io::messages::Reporter;
use crate::set::kept::ReplacedDigests;
use crate::set::open;
use crate::set::session::Waiting;
use crate::set::summary::Summary;
use mayhap_lists::Stop;
use mayhap_sets::file::ForeignFile;
use mayhap_sets::{KeySet, Measurements};
use mayhap_store::{FilterLock, LogFound, Memory, Snapshot};
use mayhap_units::number::counted;
use std::path::PathBuf;

/// Remove all keys from a filter
#[derive(Debug, clap::Args)]
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
pub fn run(args: &Args, talk: Reporter) -> Result<(), Error> {
    #[cfg(feature = "redis")]
    if let Some((mut set, _)) = open::on_server(&args.file, &args.open.how()?, talk)? {
        let name = set.url().to_owned();
        set.refresh()?;
        check_force(args.force, &name, set.items())?;
        set.clear()?;
        return report(args, name, set.measurements(), talk);
    }
    let name = args.file.display().to_string();
    let stop = Stop::on_signals()?;
    let lock = Waiting::new("clear", args.lock, talk, Some(&stop)).lock(&args.file)?;
    if let Some(file) = open::foreign(&args.file, &args.open, talk)? {
        return clear_foreign(args, file, &lock, talk);
    }
    let snapshot = Snapshot::open(&args.file)?;
    let mut set = mayhap_sets::load(snapshot.image(), args.open.secret_key()?)?;
    let options = snapshot.header().key_options().to_owned();
    // A log may have keys, which are not read.
    let more = u64::from(snapshot.log() != LogFound::None);
    drop(snapshot);
    check_force(args.force, &name, set.items() + more)?;
    if !set.capabilities().clears {
        return Err(Error::usage(
            format!("{name} is a {} filter, which is immutable", set.name()),
            "delete it, or build another one: mayhap delete, mayhap build",
        ));
    }
    set.clear()?;
    let header = set.header(&options);
    let digests = ReplacedDigests::of(&args.file);
    lock.save(&header, &set.segments(), true)?;
    digests.say(talk);
    report(args, name, set.measurements(), talk)
}

/// Clears a file of another system, if that has an operation for it.
fn clear_foreign(
    args: &Args,
    mut file: ForeignFile,
    lock: &FilterLock,
    talk: Reporter,
) -> Result<(), Error> {
    let (name, format) = (file.name().to_owned(), file.filter().format().name());
    let items = file.filter().estimated_items().unwrap_or(1);
    check_force(args.force, &name, items.max(u64::from(file.filter().count_ones() > 0)))?;
    if !file.filter_mut().clear() {
        return Err(Error::usage(
            format!("{name} is a {format} filter, which its system cannot clear"),
            format!("create it again: mayhap create --force {name} --format {format} -n COUNT"),
        ));
    }
    file.save(lock, true)?;
    report(args, name, Measurements::Foreign(file.numbers()), talk)
}

/// Refuses to forget keys without `--force`.
fn check_force(force: bool, name: &str, items: u64) -> Result<(), Error> {
    if force || items == 0 {
        return Ok(());
    }
    Err(Error::usage(
        format!("{name} has {}, which could not be recovered", counted(items, "key")),
        "confirm with --force",
    ))
}

fn report(args: &Args, name: String, measured: Measurements, talk: Reporter) -> Result<(), Error> {
    Summary::unfilled(name, measured).print(talk, args.json)
}
