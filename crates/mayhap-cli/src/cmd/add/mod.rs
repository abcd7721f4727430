//! `mayhap add`: more keys into a filter file.

mod matrix;

use crate::args::{LineArgs, LockArgs, OpenArgs, ReplicaArgs};
use crate::error::{Error, WhenFull};
use crate::io::messages::Reporter;
use crate::io::progress::Progress;
use crate::io::reader;
use crate::memory;
use crate::set::fill::{self, Counts, Inserter};
use crate::set::notes::{say, say_options};
use crate::set::open;
use crate::set::session::{Recording, Waiting, Writer};
use crate::set::summary::{Summary, check_replaced, warn_of_unsure};
#[cfg(feature = "redis")]
use mayhap::set::Repeats;
use mayhap_keys::KeyOptions;
use mayhap_lists::{Reading, Stop};
use mayhap_sets::file::ForeignSet;
#[cfg(feature = "redis")]
use mayhap_sets::server::ServerSet;
use mayhap_sets::{How, KeySet, Located, Note};
use mayhap_units::number::parse_share;
use std::path::PathBuf;
use std::sync::Arc;

const MAX_MEMORY: &str = "Refuse larger filters [default: the memory of the machine or container]";

/// Add keys, one per line, to a filter file
#[derive(Debug, clap::Args)]
#[command(mut_arg("max_memory", |arg| arg.help(MAX_MEMORY)))]
#[expect(clippy::struct_excessive_bools, reason = "each is a flag of the command line")]
pub struct Args {
    /// The filter: a file, or redis://host:port/database/name
    #[arg(value_name = "FILTER")]
    file: PathBuf,
    /// Input files, or - for standard input, the default
    #[arg(value_name = "INPUT")]
    files: Vec<PathBuf>,
    /// Continue when the filter is full
    #[arg(long)]
    overfill: bool,
    /// Forget all keys whenever this share of the filter's bits is set: 50%
    #[arg(long, value_name = "SHARE", value_parser = parse_share, conflicts_with = "overfill")]
    clear_at: Option<f64>,
    /// A repeat does not renew its key in a window: it is new once in each
    #[arg(long)]
    no_refresh: bool,
    /// Of a matrix: the set that all keys go to [default: the one named as their list]
    #[arg(long, value_name = "NAME")]
    set: Option<String>,
    /// Of a matrix: forget the keys of these sets first
    #[arg(long)]
    replace_sets: bool,
    /// Print the summary as JSON, on stdout
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    open: OpenArgs,
    #[command(flatten)]
    replicas: ReplicaArgs,
    #[command(flatten)]
    lines: LineArgs,
    #[command(flatten)]
    lock: LockArgs,
}

/// Runs the verb.
///
/// # Errors
///
/// Any of [`Error`].
pub fn run(args: &Args, talk: Reporter) -> Result<(), Error> {
    if !mayhap_sets::is_url(&args.file) && open::is_matrix(&args.file) {
        return matrix::add(args, talk);
    }
    matrix::refuse_sets(args)?;
    let (sources, total_bytes) = reader::input(&args.files)?;
    let (target, stop) = target(args, total_bytes.is_none(), talk)?;
    let Target { name, inserter, options, advice } = target;
    let mut inserter = inserter.clearing_at(args.clear_at)?.without_refresh(args.no_refresh)?;
    let reading = Reading { gathers: inserter.set().remote().is_some(), ..args.lines.reading() };
    let mut reader = reader::open(sources, &options, reading, Some(stop), talk)?;
    let mut progress = Progress::new(talk, total_bytes);
    let (mut counts, with) = (Counts::default(), (talk, &mut progress));
    let filled = fill::fill(&mut reader, &mut inserter, &mut counts, with, advice);
    let seconds = progress.end();
    let (lines, with) = ((counts.without_key, counts.lines), (talk, args.lines.skip_bad));
    let usable = reader::usable(&reader, lines, with, "the keys of the others were added");
    let result = filled.and(usable);
    if !result.as_ref().is_err_and(Error::is_of_server) {
        // Saves it; counts the bits of one on a server, for the report.
        inserter.finish()?;
    }
    let set = inserter.set();
    let result = result.and_then(|()| check_replaced(&name, set));
    if let Some(not_keys) = set.all_not_keys() {
        talk.warn(&not_keys.text);
    }
    warn_of_unsure(set, talk);
    let summary = Summary::new(name, counts, seconds, result.is_ok(), set.measurements());
    summary.with_forgotten(inserter.forgotten()).print(talk, args.json)?;
    result
}

/// A filter that is added to.
struct Target {
    name: String,
    inserter: Inserter,
    /// The options by which its keys are cut.
    options: KeyOptions,
    advice: WhenFull,
}

/// The named filter, and the limits that end the run before it is saved.
fn target(args: &Args, streams: bool, talk: Reporter) -> Result<(Target, Arc<Stop>), Error> {
    let how = args.open.how()?;
    #[cfg(feature = "redis")]
    let how = How { reach: args.open.server.reach(args.replicas)?, ..how };
    #[cfg(feature = "redis")]
    if let Some((set, options)) = open::on_server(&args.file, &how, talk)? {
        return Ok((on_server(args, set, options, talk)?, Stop::on_signals()?));
    }
    in_file(args, &how, streams, talk)
}

/// A filter of a file, and the limits that end the run before it is saved.
fn in_file(
    args: &Args,
    how: &How<'_>,
    streams: bool,
    talk: Reporter,
) -> Result<(Target, Arc<Stop>), Error> {
    let name = args.file.display().to_string();
    // With files alone, nothing has to be recorded before the end.
    let recording = if streams { Recording::Streams } else { Recording::WhenOthersWait };
    let (given, outcome) = (args.lines.key_options(), "the keys up to there were saved");
    if let Located::Foreign(file) = open::locate(&args.file, how, talk)? {
        let note = Note::of_types(file.name(), file.filter().format().name(), file.key_types());
        say(note, talk);
        let set = Box::new(ForeignSet::to_fill(*file, args.overfill)?);
        say_options(&name, set.name(), &given, talk);
        let stop = Stop::on_signals()?;
        let waiting = Waiting::new("add", args.lock, talk, Some(&stop));
        let writer = Writer::of_whole(recording, &waiting);
        let inserter = Inserter::new(set, args.overfill).with_writer(writer);
        let next = "create a larger filter, or continue with --overfill";
        let advice = WhenFull { outcome, next };
        return Ok((Target { name, inserter, options: given, advice }, stop));
    }
    let header = mayhap_store::read_header(&args.file)?;
    let limit = args.open.max_bytes();
    memory::check(header.body_bytes(), limit)?;
    let options = KeyOptions::from_header(&name, header.key_options())?.agree(&name, &given)?;
    let stop = Stop::on_signals()?;
    let waiting = Waiting::new("add", args.lock, talk, Some(&stop));
    let (key, recording) = (how.known.secret_key, (recording, args.open.without_log));
    let (mut set, writer) = Writer::open(&args.file, key, recording, &waiting, talk)?;
    set.set_max_bytes(limit);
    let inserter = Inserter::new(Box::new(set), args.overfill).with_writer(writer);
    let advice = WhenFull { outcome, next: "build a larger filter, or continue with --overfill" };
    Ok((Target { name, inserter, options, advice }, stop))
}

/// A filter on a server, whose keys count as soon as the server acknowledges them.
#[cfg(feature = "redis")]
fn on_server(
    args: &Args,
    mut set: Box<dyn ServerSet>,
    options: Option<KeyOptions>,
    talk: Reporter,
) -> Result<Target, Error> {
    let name = set.url().to_owned();
    let given = args.lines.key_options();
    let options = if let Some(options) = options {
        options.agree(&name, &given)?
    } else {
        say_options(&name, set.name(), &given, talk);
        given
    };
    let advice = WhenFull {
        outcome: "the keys up to there were added",
        next: "create a larger filter, or continue with --overfill",
    };
    // A sample of the bits does not decide whether it is full.
    if set.numbers(Repeats::Renew).capacity.is_some_and(|most| set.items() >= most - most / 10) {
        set.refresh()?;
    }
    let inserter = Inserter::new(set, args.overfill);
    Ok(Target { name, inserter, options, advice })
}
