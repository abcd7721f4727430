//! `mayhap build`: a filter file of a list.

mod segment;
mod shrink;

use crate::args::{DigestArgs, LineArgs, LockArgs, NEW_FORMAT, SizeArgs, SystemArgs};
use crate::error::{Error, WhenFull};
use crate::io::messages::Reporter;
use crate::io::progress::Progress;
use crate::io::reader;
use crate::set::create::matrix::Lists;
use crate::set::create::segment::Part;
use crate::set::create::{self, Create, NewSystemFile, frozen};
use crate::set::fill::{self, Counts, Inserter};
use crate::set::kept::Kept;
use crate::set::notes::{say, say_options};
use crate::set::session::Waiting;
use crate::set::short;
use crate::set::summary::Summary;
use mayhap::Digest;
use mayhap::native::{Header, Native};
use mayhap_keys::KeyOptions;
use mayhap_lists::{LineReader, Source, Stop};
use mayhap_sets::{Forgotten, KeySet, LayoutName, Measurements, Note, OwnSet, matrix_state};
use mayhap_store::{KeptDigests, Memory};
use mayhap_units::number::{counted, format_count, noun};
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Instant;

/// Build a filter file from a list of keys, one per line
#[derive(Debug, clap::Args)]
#[command(mut_arg("format", |arg| arg.help(NEW_FORMAT)))]
#[command(mut_arg("bitmaps", |arg| arg.hide(true)))]
#[command(mut_arg("layout", |arg| arg.default_value_if("frozen", "true", "ribbon")))]
#[expect(clippy::struct_excessive_bools, reason = "each is a flag of the command line")]
pub struct Args {
    /// Input files, or - for standard input, the default
    #[arg(value_name = "INPUT")]
    files: Vec<PathBuf>,
    /// The filter file to write
    #[arg(short = 'o', long, value_name = "FILTER")]
    output: PathBuf,
    /// Replace the file if it exists
    #[arg(long)]
    force: bool,
    /// Continue when the filter is full: --on-full overfill
    #[arg(long)]
    overfill: bool,
    /// What to do when the filter is full
    #[arg(long, value_enum, default_value_t, value_name = "WHAT", conflicts_with = "overfill")]
    on_full: OnFull,
    /// The keys never change: the fewest bits at the rate -p (--layout ribbon)
    #[arg(long, conflicts_with = "layout")]
    frozen: bool,
    /// Keep the digests of all keys beside the filter, for mayhap grow: 5 to 6 bytes each
    #[arg(long)]
    keep_digests: bool,
    /// Build part I of N, of a filter that several machines fill: 3/16
    #[arg(long, value_name = "I/N", value_parser = Part::parse,
          conflicts_with_all = ["keep_digests", "format", "reproducible", "shrink", "short"])]
    segment: Option<Part>,
    /// Fold the filter at the end to the smallest size that keeps -p for its keys [default for
    /// pipes without -n and --mem]
    #[arg(long)]
    shrink: bool,
    /// Write the same bytes for the same keys in any order: the count follows from the bits
    #[arg(long)]
    reproducible: bool,
    /// Write a short file, of at most 4,095 bytes: a small filter without whole pages
    #[arg(long, conflicts_with_all = ["keep_digests", "format", "frozen"])]
    short: bool,
    /// Print the summary as JSON, on stdout
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    size: SizeArgs,
    #[command(flatten)]
    system: SystemArgs,
    #[command(flatten)]
    lines: LineArgs,
    #[command(flatten)]
    digest: DigestArgs,
    #[command(flatten)]
    lock: LockArgs,
}

/// The options of `freeze` for building a frozen filter from lists.
#[derive(Debug)]
pub struct FrozenLists {
    /// The lists.
    pub files: Vec<PathBuf>,
    /// The filter file, and whether to replace it.
    pub output: (PathBuf, bool),
    /// The rate, and the kind.
    pub size: SizeArgs,
    /// How keys are cut from lines.
    pub lines: LineArgs,
    /// How they become digests.
    pub digest: DigestArgs,
    /// How the file is locked.
    pub lock: LockArgs,
    /// Whether the summary is JSON.
    pub json: bool,
}

impl From<FrozenLists> for Args {
    fn from(of: FrozenLists) -> Self {
        let (output, force) = of.output;
        Self {
            files: of.files,
            output,
            force,
            overfill: false,
            on_full: OnFull::default(),
            frozen: true,
            keep_digests: false,
            segment: None,
            shrink: false,
            reproducible: false,
            short: false,
            json: of.json,
            size: of.size,
            system: SystemArgs::default(),
            lines: of.lines,
            digest: of.digest,
            lock: of.lock,
        }
    }
}

/// The treatment of a list with more keys than -n.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, clap::ValueEnum)]
enum OnFull {
    /// Stop, and write nothing
    #[default]
    Stop,
    /// Stop, and write the filter with the keys up to there
    Keep,
    /// Continue: the rate rises
    Overfill,
}

impl OnFull {
    /// The advice about a full filter.
    fn advice(self, shrinks: bool) -> WhenFull {
        match self {
            Self::Stop | Self::Overfill if shrinks => WhenFull {
                outcome: "nothing was written",
                next: "start again with more --mem, at the end of which it is folded",
            },
            Self::Keep => WhenFull {
                outcome: "the filter has the keys up to there",
                next: "mayhap add --overfill adds the other lines; with --layout scalable it grows",
            },
            Self::Stop | Self::Overfill => WhenFull {
                outcome: "nothing was written",
                next: "start again with a larger -n, keep what fits with --on-full keep, or \
                       continue with --overfill",
            },
        }
    }
}

impl Args {
    /// Refuses `--on-full` where all keys are needed before there is a filter.
    fn on_full(&self) -> Result<OnFull, Error> {
        let is_whole = |name: LayoutName| name.is_frozen() || name == LayoutName::Matrix;
        let is_whole = self.size.layout.is_some_and(is_whole);
        if (is_whole || self.segment.is_some()) && self.on_full == OnFull::Keep {
            return Err(Error::usage(
                "--on-full keep is for filters that are filled line by line",
                "omit it; frozen filters, matrices and segments are written whole or not at all",
            ));
        }
        Ok(if self.overfill { OnFull::Overfill } else { self.on_full })
    }
}

/// Runs the verb.
///
/// # Errors
///
/// Any of [`Error`].
pub fn run(args: &Args, talk: Reporter) -> Result<(), Error> {
    crate::files::refuse_existing(&args.output, args.force)?;
    let system = NewSystemFile::of(&args.output, &args.system, (&args.size, &args.digest))?;
    let (sources, total_bytes) = reader::input(&args.files)?;
    let (options, reading) = (args.lines.key_options(), args.lines.reading());
    let stop = Stop::on_signals()?;
    let waiting = Waiting::new("build", args.lock, talk, Some(&stop));
    let on_full = args.on_full()?;
    let overfill = on_full == OnFull::Overfill;
    check_reproducible(args, system.is_some())?;
    check_short_kind(args)?;
    let (requested, is_pipe) = ((args.shrink, &args.size), total_bytes.is_none());
    let shrinks = shrink::applies(requested, is_pipe, system.is_some())?;
    if args.size.layout == Some(LayoutName::Matrix) && args.segment.is_none() {
        let (files, options, stop) = (&*args.files, &options, &stop);
        let skip_bad = args.lines.skip_bad;
        let lists = Lists { files, options, reading, skip_bad, stop, talk };
        keep_digests(args, false)?;
        return build_matrix(args, overfill, &lists, &waiting);
    }
    let reader_stop = Some(Arc::clone(&stop));
    let kept = keep_digests(args, system.is_some())?;
    let mut reader = reader::open(sources.clone(), &options, reading, reader_stop, talk)?;
    let mut progress = Progress::new(talk, total_bytes);
    if let Some(part) = args.segment {
        let (waiting, stop) = (&waiting, &*stop);
        return segment::build((args, part), &mut reader, &mut progress, (waiting, stop), talk);
    }
    if args.size.layout.is_some_and(LayoutName::is_frozen) {
        return build_frozen(args, (&mut reader, &mut progress), (&waiting, &stop), talk);
    }
    let is_sized = shrinks || args.size.is_fixed() || system.is_some_and(|new| new.has_shape());
    let counted = !is_sized && !args.size.grows_or_forgets();
    let items = if counted {
        Some(count(args, &sources, (&stop, total_bytes), talk)?)
    } else {
        args.size.items
    };
    let (mut set, notes): (Box<dyn KeySet>, _) = match &system {
        Some(new) => of_system(args, new, (items, counted, overfill), talk)?,
        None if shrinks => {
            (Box::new(OwnSet::from(shrink::begin(&args.size, &args.digest)?)), Vec::new())
        }
        None => (Box::new(Create::build_any(&args.size, items, &args.digest)?), Vec::new()),
    };
    check_short_size(args, &mut *set, shrinks)?;
    // The estimate by which a filter of another system is full adds nothing to the count.
    let overfill = overfill || counted && system.is_some();
    let mut inserter = Inserter::new(set, overfill).without_warning(counted || shrinks);
    if let Some(kept) = kept {
        inserter = inserter.with_digests(kept);
    }
    progress = Progress::new(talk, total_bytes);
    let mut counts = Counts::default();
    let (said, advice) = ((talk, &mut progress), on_full.advice(shrinks));
    let filled = fill::fill(&mut reader, &mut inserter, &mut counts, said, advice);
    progress.clear();
    let full = match filled {
        Err(full @ Error::Full(_)) if on_full == OnFull::Keep => Err(full),
        filled => Ok(filled?),
    };
    usable(args, &reader, counts, talk)?;
    let (forgotten, digests) = (inserter.forgotten(), inserter.take_digests());
    // A later signal arrives while the file is being written, which is then finished.
    stop.check()?;
    let built = Built { counts, forgotten, digests };
    let mut folded = settle(args, inserter.set_mut(), shrinks, talk)?;
    let set = folded.as_mut().map_or(inserter.set_mut(), |folded| folded);
    finish(args, set, built, &mut progress, &waiting, talk)?;
    talk.say_all(&notes);
    full
}

/// The filter folded to its keys, if it is; with `--reproducible` its count follows from its bits.
fn settle(
    args: &Args,
    set: &mut dyn KeySet,
    shrinks: bool,
    talk: Reporter,
) -> Result<Option<OwnSet>, Error> {
    match set.own_mut().and_then(OwnSet::plain_mut) {
        Some(filter) if shrinks => return shrink::end(filter, talk).map(Some),
        Some(filter) if args.reproducible => filter.settle_inserted_items(),
        _ => {}
    }
    Ok(None)
}

/// Builds a fuse or ribbon filter of all lines at once, saves it and reports its numbers.
fn build_frozen(
    args: &Args,
    (reader, progress): (&mut LineReader, &mut Progress),
    (waiting, stop): (&Waiting, &Stop),
    talk: Reporter,
) -> Result<(), Error> {
    let site = frozen::Site::beside(&args.output, stop);
    let mut filter = frozen::build((&args.size, &args.digest), &site, reader, progress)?;
    let counts = Counts {
        lines: reader.lines(),
        new: filter.items(),
        without_key: reader.keyless().lines(),
        with_cr: reader.cr_lines(),
    };
    progress.clear();
    usable(args, reader, counts, talk)?;
    stop.check()?;
    let built = Built { counts, forgotten: None, digests: None };
    finish(args, &mut filter, built, progress, waiting, talk)
}

/// The key options of the file. The treatment of carriage returns is recorded where there were
/// some: files of lists without any are, byte for byte, the same as by every version and the other
/// libraries, and with `--reproducible` they depend on the keys alone.
fn recorded(args: &Args, counts: Counts) -> KeyOptions {
    let options = args.lines.key_options();
    if counts.with_cr > 0 && !args.reproducible { options.for_new() } else { options }
}

/// Refuses lists with keys on hardly any line.
fn usable(args: &Args, reader: &LineReader, counts: Counts, talk: Reporter) -> Result<(), Error> {
    let (lines, with) = ((counts.without_key, counts.lines), (talk, args.lines.skip_bad));
    reader::usable(reader, lines, with, "nothing was written")
}

/// Refuses `--reproducible` where the order of keys leaves other traces.
fn check_reproducible(args: &Args, is_foreign: bool) -> Result<(), Error> {
    let is_plain = args.size.layout.is_none_or(|name| name.layout().is_some());
    if !args.reproducible || is_plain && !is_foreign {
        return Ok(());
    }
    Err(Error::usage(
        "--reproducible is for blocked and standard filters alone",
        "omit it, or choose --layout blocked or --layout standard",
    ))
}

/// Refuses `--short` for kinds without a short form.
fn check_short_kind(args: &Args) -> Result<(), Error> {
    match args.size.layout {
        Some(name) if args.short && name.layout().is_none() => {
            Err(short::no_short_form(&name.to_string()))
        }
        _ => Ok(()),
    }
}

/// Refuses `--short` for a filter that is too large, before it is filled.
fn check_short_size(args: &Args, set: &mut dyn KeySet, shrinks: bool) -> Result<(), Error> {
    match set.own_mut() {
        Some(own) if args.short && !shrinks => {
            let options = args.lines.key_options().to_header();
            short::check(&args.output, &own.header(&options), &own.segments())
        }
        _ => Ok(()),
    }
}

/// Counts the distinct keys of the input, for which there has to be room.
fn count(
    args: &Args,
    sources: &[Source],
    (stop, total_bytes): (&Arc<Stop>, Option<u64>),
    talk: Reporter,
) -> Result<u64, Error> {
    let (options, reading) = (args.lines.key_options(), args.lines.reading());
    let counted = fill::count_distinct(sources, &options, reading, stop, (talk, total_bytes))?;
    let Some(counted) = counted else {
        return Err(Error::usage(
            "the lines of a pipe cannot be counted in advance, so -n must be given",
            format!("for example: ... | mayhap build -o {} -n 10M", args.output.display()),
        ));
    };
    let (lines, distinct) = (format_count(counted.lines), format_count(counted.distinct));
    let about = if counted.room > counted.distinct { "about " } else { "" };
    let (line, key) = (noun(counted.lines, "line"), noun(counted.distinct, "distinct key"));
    talk.say(&format!("counted {lines} {line} with {about}{distinct} {key}"));
    let is_compact = args.size.layout == Some(LayoutName::Compact);
    Ok(if is_compact { counted.copies() } else { counted.room }.max(1))
}

/// An empty filter of another system, for a number of keys that may have been counted; and the note
/// for the time when it is saved.
fn of_system(
    args: &Args,
    new: &NewSystemFile<'_>,
    (items, counted, overfill): (Option<u64>, bool, bool),
    talk: Reporter,
) -> Result<(Box<dyn KeySet>, Vec<String>), Error> {
    let (mut set, notes) = new.build(items, &args.digest, overfill)?;
    if counted {
        set = set.without_warning();
    }
    let name = args.output.display().to_string();
    say(Note::of_guess(&name, &set), talk);
    say_options(&name, new.format(), &args.lines.key_options(), talk);
    Ok((Box::new(set), notes))
}

/// Builds a matrix of these lists, saves it and reports its numbers.
fn build_matrix(
    args: &Args,
    overfill: bool,
    lists: &Lists<'_>,
    waiting: &Waiting,
) -> Result<(), Error> {
    let start = Instant::now();
    let (matrix, counts) = create::matrix::build(&args.size, &args.digest, overfill, lists)?;
    lists.stop.check()?;
    let header = Header::of(&matrix, &recorded(args, counts).to_header());
    waiting.save(&args.output, &header, &matrix.segments(), args.force)?;
    let name = args.output.display().to_string();
    let numbers = Measurements::Own(matrix_state(&matrix));
    Summary::new(name, counts, start.elapsed(), true, numbers).print(lists.talk, args.json)
}

fn keep_digests(args: &Args, is_foreign: bool) -> Result<Option<Kept>, Error> {
    args.keep_digests.then(|| Kept::for_new(&args.size, is_foreign)).transpose()
}

/// Reports the number of kept digests, and their file.
fn say_kept(args: &Args, talk: Reporter) -> Result<(), Error> {
    if let Some(kept) = KeptDigests::open(&args.output)? {
        let (name, digests) = (kept.path().display(), counted(kept.digests(), "digest"));
        let per_digest = kept.bytes() as f64 / kept.digests().max(1) as f64;
        talk.say(&format!("{name}: {digests}, {per_digest:.1} bytes each"));
    }
    Ok(())
}

/// The result of reading the input.
struct Built {
    counts: Counts,
    forgotten: Option<Forgotten>,
    digests: Option<Vec<Digest>>,
}

/// Saves the filter and reports its numbers.
fn finish(
    args: &Args,
    filter: &mut dyn KeySet,
    Built { counts, forgotten, digests }: Built,
    progress: &mut Progress,
    waiting: &Waiting,
    talk: Reporter,
) -> Result<(), Error> {
    let seconds = progress.end();
    let mut options = recorded(args, counts);
    if let Some(own) = filter.own() {
        options = own.key_options(options);
    }
    let options = options.to_header();
    let keeps = digests.is_some();
    if args.short {
        waiting.save_short(&args.output, (filter, &options), args.force)?;
    } else {
        waiting.save_set(&args.output, (filter, &options), digests, args.force)?;
    }
    if keeps {
        say_kept(args, talk)?;
    }
    if let Some(not_keys) = filter.all_not_keys() {
        talk.warn(&not_keys.text);
    }
    let name = args.output.display().to_string();
    let summary = Summary::new(name, counts, seconds, true, filter.measurements());
    summary.with_forgotten(forgotten).print(talk, args.json)
}
