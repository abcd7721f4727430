//! `mayhap build`: a filter file of a list.

mod segment;

use crate::args::{DigestArgs, LineArgs, LockArgs, NEW_FORMAT, SizeArgs, SystemArgs};
use crate::error::{Error, WhenFull};
use crate::io::messages::Talk;
use crate::io::progress::Progress;
use crate::io::reader;
use crate::outcome::Outcome;
use crate::set::create::matrix::Lists;
use crate::set::create::segment::Part;
use crate::set::create::{self, Create, NewSystemFile};
use crate::set::fill::{self, Counts};
use crate::set::foreign::{say_guess, say_options};
use crate::set::inserter::Inserter;
use crate::set::kept::Kept;
use crate::set::session::Waiting;
use crate::set::summary::Summary;
use mayhap::Digest;
use mayhap::native::{Header, Native};
use mayhap_keys::KeyOptions;
use mayhap_lists::{LineReader, Source, Stop};
use mayhap_sets::{Forgotten, KeySet, LayoutName, Numbers, matrix_state};
use mayhap_store::KeptDigests;
use mayhap_units::number::{counted, format_count, noun};
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Instant;

const EXAMPLES: &str = "\
Examples:
  mayhap build -o pw.mayhap -p 1e-6 passwords.txt.gz     # counts, then fills
  sort -u a b | mayhap build -o ab.mayhap -n 20M         # a pipe needs -n
  mayhap build -o urls.mayhap --mem 512M -p 0.1% urls.txt.zst
  mayhap build -o pw.mayhap --layout fuse passwords.txt.gz   # smaller, immutable
  mayhap build -o seen.mayhap --keep-digests urls.txt    # can grow later
  mayhap build -o shards.mayhap --layout matrix -p 1% a.txt b.txt   # a set for each file
  mayhap build -o part.mayhap --segment 1/4 -n 1M urls.txt   # a part, for mayhap assemble
  mayhap build -o ids.guava --format guava -p 1% ids.txt   # for a program with Guava";

const NOTES: &str = "\
Without -n the input is read twice, first to count its distinct keys (exactly up to 131,071; \
beyond that to about 0.3 %, with 1.4 % added to the count). At -n distinct keys it stops (exit \
code 2) and writes nothing. With --on-full keep it writes the filter with the keys up to there, \
and ends with exit code 2 all the same: mayhap add can add the rest. With --on-full overfill (or \
--overfill) it continues, and the rate rises. With --layout scalable it grows. The file appears \
whole or not at all: after Ctrl-C while the input is being read there is none.

A fuse filter is built from all keys at once: it takes about 28 bytes of memory per line while it \
is built, up to --max-memory, and 9 bits (-p 1%) or 18 bits (-p 1e-4) per key in the end.

A matrix has a set for each file, under the file's name, and mayhap which prints the names of the \
sets that may contain a line. All sets have the same size: -n is the capacity of each, by default \
the length of the longest list. It takes the memory of 512 sets even for fewer.

With --keep-digests the file FILTER.digests has the digests of all keys, also of those that were \
taken for repeats. mayhap add and dedup keep it in step, because it is there; mayhap grow rebuilds \
the filter from it, at any size. While the filter is built they take 8 to 16 bytes of memory per \
distinct key. A filter that is replaced (build --force, clear, merge) loses its digests.

With --format the file is one of another system, of the size that this system computes from the \
keys and -p: it opens the file, and so do the other commands. --key-type says how it encodes keys. \
See mayhap create --help, and for what each system has docs/formats.md.

With --segment I/N, from 1/N to N/N, the file is one of N parts of a blocked filter for -n keys in \
all, and has the keys of its range of digests; it takes an Nth of the memory, and each machine may \
read all lines, or those that others have partitioned. mayhap assemble puts the parts together.

With --reproducible the same keys give the same bytes, in any order: the count of keys in the file \
follows from the bits, as after a merge. Without it that count is of the keys that were new, which \
depends a little on their order; answers never do.

How keys are extracted (-0, --field, --lower ...) is recorded in the file, so check and add do \
the same. Lines without a key, for example with too few fields, are skipped and counted. If most \
lines have none, nothing is written (exit code 2), unless --skip-bad is given.";

/// Build a filter file from a list of keys, one per line
#[derive(Debug, clap::Args)]
#[command(before_help = EXAMPLES, after_help = NOTES)]
#[command(mut_arg("format", |arg| arg.help(NEW_FORMAT)))]
#[command(mut_arg("bitmaps", |arg| arg.hide(true)))]
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
    /// Keep the digests of all keys in a file beside the filter, for mayhap grow: 5 to 6 bytes per
    /// key
    #[arg(long)]
    keep_digests: bool,
    /// Build part I of N, of a filter that several machines fill: 3/16
    #[arg(long, value_name = "I/N", value_parser = Part::parse,
          conflicts_with_all = ["keep_digests", "format", "reproducible"])]
    segment: Option<Part>,
    /// Write the same bytes for the same keys in any order: the count follows from the bits
    #[arg(long)]
    reproducible: bool,
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

/// What becomes of a list with more keys than -n.
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
    /// What to say of a filter that is full.
    fn advice(self) -> WhenFull {
        match self {
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
        let is_whole = matches!(self.size.layout, Some(LayoutName::Fuse | LayoutName::Matrix));
        if (is_whole || self.segment.is_some()) && self.on_full == OnFull::Keep {
            return Err(Error::usage(
                "--on-full keep is for filters that are filled line by line",
                "omit it; fuse filters, matrices and segments are written whole or not at all",
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
pub fn run(args: &Args, talk: Talk) -> Result<Outcome, Error> {
    crate::files::refuse_existing(&args.output, args.force)?;
    let system = NewSystemFile::of(&args.output, &args.system, (&args.size, &args.digest))?;
    let (sources, total_bytes) = super::sources::input::<Args>("build", &args.files)?;
    let (options, reading) = (args.lines.key_options(), args.lines.reading());
    let stop = Stop::on_signals()?;
    let waiting = Waiting::new("build", args.lock, talk, Some(&stop));
    let on_full = args.on_full()?;
    let overfill = on_full == OnFull::Overfill;
    check_reproducible(args, system.is_some())?;
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
    if args.size.layout == Some(LayoutName::Fuse) {
        return build_fuse(args, (&mut reader, &mut progress), (&waiting, &stop), talk);
    }
    let is_sized = args.size.is_fixed() || system.is_some_and(|new| new.has_shape());
    let counted = !is_sized && !args.size.grows_or_forgets();
    let items = if counted {
        Some(count(args, &sources, (&stop, total_bytes), talk)?)
    } else {
        args.size.items
    };
    let (set, notes) = match &system {
        Some(new) => of_system(args, new, (items, counted, overfill), talk)?,
        None => (Create::build_any(&args.size, items, &args.digest)?, Vec::new()),
    };
    // The estimate by which one of another system is full says no more than the count.
    let overfill = overfill || counted && system.is_some();
    let mut inserter = Inserter::new(set, overfill).without_warning(counted);
    if let Some(kept) = kept {
        inserter = inserter.with_digests(kept);
    }
    progress = Progress::new(talk, total_bytes);
    let mut counts = Counts::default();
    let (said, advice) = ((talk, &mut progress), on_full.advice());
    let filled = fill::fill(&mut reader, &mut inserter, &mut counts, said, advice);
    progress.clear();
    let full = match filled {
        Err(full @ Error::Full(_)) if on_full == OnFull::Keep => Err(full),
        filled => Ok(filled?),
    };
    usable(args, &reader, counts, talk)?;
    let (forgotten, digests) = (inserter.forgotten(), inserter.take_digests());
    // One that comes later finds the file being written, which is then finished.
    stop.check()?;
    let built = Built { counts, forgotten, digests };
    if args.reproducible {
        inserter.set_mut().settle_items();
    }
    finish(args, inserter.set_mut(), built, &mut progress, &waiting, talk)?;
    talk.say_all(&notes);
    full.map(|()| Outcome::Done)
}

/// Builds a fuse filter of all lines at once, saves it and reports what it is.
fn build_fuse(
    args: &Args,
    (reader, progress): (&mut LineReader, &mut Progress),
    (waiting, stop): (&Waiting, &Stop),
    talk: Talk,
) -> Result<Outcome, Error> {
    let mut filter = create::fuse::build(&args.size, &args.digest, reader, progress)?;
    let counts = Counts {
        lines: reader.lines(),
        new: filter.len(),
        without_key: reader.keyless().lines(),
        with_cr: reader.cr_lines(),
    };
    progress.clear();
    usable(args, reader, counts, talk)?;
    stop.check()?;
    let built = Built { counts, forgotten: None, digests: None };
    finish(args, &mut filter, built, progress, waiting, talk)
}

/// The key options of the file. What became of carriage returns is recorded where there were some:
/// files of lists without any are those of every version and of the other libraries, byte for byte,
/// and with `--reproducible` the keys alone decide.
fn recorded(args: &Args, counts: Counts) -> KeyOptions {
    let options = args.lines.key_options();
    if counts.with_cr > 0 && !args.reproducible { options.for_new() } else { options }
}

/// Refuses lists of which hardly a line has a key.
fn usable(args: &Args, reader: &LineReader, counts: Counts, talk: Talk) -> Result<(), Error> {
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

/// Counts the distinct keys of the input, for which there has to be room.
fn count(
    args: &Args,
    sources: &[Source],
    (stop, total_bytes): (&Arc<Stop>, Option<u64>),
    talk: Talk,
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
    Ok(counted.room.max(1))
}

/// An empty filter of another system, for a number of keys that may have been counted; and what
/// is to be said once it is saved.
fn of_system(
    args: &Args,
    new: &NewSystemFile<'_>,
    (items, counted, overfill): (Option<u64>, bool, bool),
    talk: Talk,
) -> Result<(Box<dyn KeySet>, Vec<String>), Error> {
    let (mut set, notes) = new.build(items, &args.digest, overfill)?;
    if counted {
        set = set.without_warning();
    }
    let name = args.output.display().to_string();
    say_guess(&name, new.format(), set.key_types(), talk);
    say_options(&name, new.format(), &args.lines.key_options(), talk);
    Ok((Box::new(set), notes))
}

/// Builds a matrix of these lists, saves it and reports what it is.
fn build_matrix(
    args: &Args,
    overfill: bool,
    lists: &Lists<'_>,
    waiting: &Waiting,
) -> Result<Outcome, Error> {
    let start = Instant::now();
    let (matrix, counts) = create::matrix::build(&args.size, &args.digest, overfill, lists)?;
    lists.stop.check()?;
    let header = Header::of(&matrix, &recorded(args, counts).to_header());
    waiting.save(&args.output, &header, &matrix.segments(), args.force)?;
    let name = args.output.display().to_string();
    let summary =
        Summary::new(name, counts, start.elapsed(), true, Numbers::Own(matrix_state(&matrix)));
    summary.print(lists.talk, args.json)?;
    Ok(Outcome::Done)
}

fn keep_digests(args: &Args, is_foreign: bool) -> Result<Option<Kept>, Error> {
    args.keep_digests.then(|| Kept::for_new(&args.size, is_foreign)).transpose()
}

/// Says how many digests were kept, and where.
fn say_kept(args: &Args, talk: Talk) -> Result<(), Error> {
    if let Some(kept) = KeptDigests::open(&args.output)? {
        let (name, digests) = (kept.path().display(), counted(kept.digests(), "digest"));
        let per_digest = kept.bytes() as f64 / kept.digests().max(1) as f64;
        talk.say(&format!("{name}: {digests}, {per_digest:.1} bytes each"));
    }
    Ok(())
}

/// What came of the input.
struct Built {
    counts: Counts,
    forgotten: Option<Forgotten>,
    digests: Option<Vec<Digest>>,
}

/// Saves the filter and reports what it is.
fn finish(
    args: &Args,
    filter: &mut dyn KeySet,
    Built { counts, forgotten, digests }: Built,
    progress: &mut Progress,
    waiting: &Waiting,
    talk: Talk,
) -> Result<Outcome, Error> {
    let seconds = progress.elapsed();
    progress.clear();
    let options = filter.key_options(recorded(args, counts)).to_header();
    let keeps = digests.is_some();
    waiting.save_set(&args.output, (filter, &options), digests, args.force)?;
    if keeps {
        say_kept(args, talk)?;
    }
    if let Some(not_keys) = filter.all_not_keys() {
        talk.warn(&not_keys.text);
    }
    let name = args.output.display().to_string();
    let summary = Summary::new(name, counts, seconds, true, filter.numbers());
    summary.with_forgotten(forgotten).print(talk, args.json)?;
    Ok(Outcome::Done)
}
