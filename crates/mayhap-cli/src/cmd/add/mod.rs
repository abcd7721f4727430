//! `mayhap add`: more keys into a filter file.

mod matrix;

use crate::args::{LineArgs, LockArgs, OpenArgs, ReplicaArgs};
use crate::error::{Error, WhenFull};
use crate::io::messages::Talk;
use crate::io::progress::Progress;
use crate::io::reader;
use crate::memory;
use crate::outcome::Outcome;
use crate::set::fill::{self, Counts};
use crate::set::foreign::{self, say_options};
use crate::set::inserter::Inserter;
use crate::set::remote::{self, Access, Found};
use crate::set::session::{Recording, Waiting, Writer};
use crate::set::summary::{Summary, check_replaced, warn_of_unsure};
use mayhap::SecretKey;
use mayhap_foreign::ForeignSet;
use mayhap_keys::KeyOptions;
use mayhap_lists::{LineReader, Reading, Stop};
use mayhap_sets::KeySet;
use mayhap_units::number::parse_share;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

const EXAMPLES: &str = "\
Examples:
  mayhap add seen.mayhap urls.txt more.txt.zst
  crawl | mayhap add seen.mayhap
  mayhap add redis://127.0.0.1:6379/0/seen urls.txt    # a filter on a server
  mayhap add --replace-sets shards.mayhap east.txt     # a set of a matrix, rebuilt
  mayhap add --key-type long ids.guava more-ids.txt    # a filter of another system";

const NOTES: &str = "\
Reports how many keys were new and how many were already there. Warns when the filter is 80 % \
full and stops at 100 % (exit code 2), unless --overfill is given; a filter that is already over \
capacity accepts none, as too many new keys would be taken for old ones. The keys up to there are \
saved, as after Ctrl-C. The file is replaced at the end, whole or not at all. How keys are \
extracted (-0, --field, --lower ...) is recorded in the file. Lines without a key, for example \
with too few fields, are skipped and counted.

--clear-at forgets all keys at once, each time that so many bits are set (looked at after each \
64th of the keys that the filter is for), and says so.

Keys added to the state of a dedup are recorded as they come, and survive kill -9.

Other kinds work the same way: a window forgets its oldest keys instead of filling up (a repeat \
renews its key, unless --no-refresh is given), and a time \
window uses this machine's clock and reports how many keys it forgot early because more arrived \
than its capacity; a scalable filter grows, up to --max-memory; a counting filter counts every \
line, so a line added twice must be removed twice.

In a matrix each list is added to the set of its name, a new one if there is none, or all keys to \
that of --set. With --replace-sets the sets have the keys of these lists alone. The others are as \
before, and the file is replaced at the end; mayhap serve, if it serves the file, opens the new \
one.

Many programs may add to a filter on a server at once (see mayhap push --help). A key counts once \
the server has it, also after Ctrl-C; whether it survives a crash of the server depends on the \
server. The fill is determined from the bits at the start and after each 1 % of the keys that \
this command adds (at least 16,384): keys added by others show at the next count, and 100 % may \
be exceeded by that much.

A filter of another system is written back byte for byte as that system would have, and its own \
answer decides what is new. It is full when, by its own estimate, it has as many keys as its file \
records; if the file records no capacity, it is never full, but a warning appears once half its \
bits are set. A filter that clears itself is full when it would do so; with --overfill it does, \
and each time is reported. Such a file cannot record how keys were extracted.";

const MAX_MEMORY: &str = "Refuse larger filters [default: the memory of the machine or container]";

/// Add keys, one per line, to a filter file
#[derive(Debug, clap::Args)]
#[command(before_help = EXAMPLES, after_help = NOTES)]
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
pub fn run(args: &Args, talk: Talk) -> Result<Outcome, Error> {
    let is_url = crate::args::url::is_url(&args.file);
    if !is_url && matrix::is_matrix(&args.file) {
        return matrix::add(args, talk);
    }
    matrix::refuse_sets(args)?;
    let (sources, total_bytes) = super::sources::input::<Args>("add", &args.files)?;
    let access = Access { replicas: args.replicas, ..Access::of(&args.open)? };
    let (target, stop) = match remote::open(&args.file, access, talk)? {
        Some(found) => (on_server(args, found, talk)?, Stop::on_signals()?),
        None => in_file(args, access.key, total_bytes.is_none(), talk)?,
    };
    let Target { name, inserter, options, advice } = target;
    let inserter = inserter.clearing_at(args.clear_at)?.without_refresh(args.no_refresh)?;
    let reading = Reading { gathers: inserter.set().is_shared(), ..args.lines.reading() };
    let reader = reader::open(sources, &options, reading, Some(stop), talk)?;
    let (json, skip_bad) = (args.json, args.lines.skip_bad);
    let mut adding = Adding { inserter, reader, talk, total_bytes, json, skip_bad };
    let (counts, seconds, result) = adding.fill(advice);
    if !matches!(result, Err(Error::Remote { .. })) {
        // Saves it; counts the bits of one on a server, for the report.
        adding.inserter.finish()?;
    }
    let result = result.and_then(|()| check_replaced(&name, adding.inserter.set()));
    adding.report(name, counts, seconds, result)
}

/// A filter that is added to.
struct Target {
    name: String,
    inserter: Inserter,
    /// How its keys are cut.
    options: KeyOptions,
    advice: WhenFull,
}

/// A filter of a file, and what ends the run before it is saved.
fn in_file(
    args: &Args,
    key: Option<SecretKey>,
    streams: bool,
    talk: Talk,
) -> Result<(Target, Arc<Stop>), Error> {
    let name = args.file.display().to_string();
    // Of files alone nothing has to be kept before the end.
    let recording = if streams { Recording::Streams } else { Recording::WhenOthersWait };
    let (given, outcome) = (args.lines.key_options(), "the keys up to there were saved");
    if let Some(file) = foreign::open_for_keys(&args.file, &args.open, key, talk)? {
        let set = Box::new(ForeignSet::to_fill(file, args.overfill)?);
        say_options(&name, set.name(), &given, talk);
        let stop = Stop::on_signals()?;
        let waiting = Waiting::new("add", args.lock, talk, Some(&stop));
        let writer = Writer::of_whole(recording, &waiting);
        let inserter = Inserter::new(set, args.overfill).with_writer(writer);
        let advice = WhenFull {
            outcome,
            next: "create a larger filter, or continue with \
                                                --overfill",
        };
        return Ok((Target { name, inserter, options: given, advice }, stop));
    }
    let header = mayhap_store::read_header(&args.file)?;
    let limit = args.open.max_bytes();
    memory::check(header.body_bytes(), limit)?;
    let options = KeyOptions::from_header(&name, header.key_options())?.agree(&name, &given)?;
    let stop = Stop::on_signals()?;
    let waiting = Waiting::new("add", args.lock, talk, Some(&stop));
    let how = (recording, args.open.without_log);
    let (mut set, writer) = Writer::open(&args.file, key, how, &waiting, talk)?;
    set.set_max_bytes(limit);
    let inserter = Inserter::new(set, args.overfill).with_writer(writer);
    let advice = WhenFull { outcome, next: "build a larger filter, or continue with --overfill" };
    Ok((Target { name, inserter, options, advice }, stop))
}

/// A filter on a server, whose keys count as soon as the server has said so.
fn on_server(args: &Args, (name, set, options): Found, talk: Talk) -> Result<Target, Error> {
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
    let inserter = Inserter::new(set, args.overfill);
    Ok(Target { name, inserter, options, advice })
}

/// Keys on their way into a filter.
struct Adding {
    inserter: Inserter,
    reader: LineReader,
    talk: Talk,
    total_bytes: Option<u64>,
    json: bool,
    skip_bad: bool,
}

impl Adding {
    /// Reads to the end; what was done, also where an error ended it.
    fn fill(&mut self, advice: WhenFull) -> (Counts, Duration, Result<(), Error>) {
        let Self { inserter, reader, talk, .. } = self;
        let mut progress = Progress::new(*talk, self.total_bytes);
        let mut counts = Counts::default();
        let result = fill::fill(reader, inserter, &mut counts, (*talk, &mut progress), advice);
        let seconds = progress.elapsed();
        progress.clear();
        let lines = (counts.without_key, counts.lines);
        let with = (*talk, self.skip_bad);
        let usable = reader::usable(reader, lines, with, "the keys of the others were added");
        (counts, seconds, result.and(usable))
    }

    fn report(
        &self,
        name: String,
        counts: Counts,
        seconds: Duration,
        result: Result<(), Error>,
    ) -> Result<Outcome, Error> {
        let set = self.inserter.set();
        if let Some(not_keys) = set.all_not_keys() {
            self.talk.warn(&not_keys.text);
        }
        warn_of_unsure(set, self.talk);
        let summary = Summary::new(name, counts, seconds, result.is_ok(), set.numbers());
        let summary = summary.with_forgotten(self.inserter.forgotten());
        summary.print(self.talk, self.json)?;
        result.map(|()| Outcome::Done)
    }
}
