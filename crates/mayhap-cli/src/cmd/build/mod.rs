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
code 2) and writes nothing, unless --overfill is given. The file appears whole or not at all: \
after Ctrl-C while the input is being read there is none.

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
the same. Lines without a key, for example with too few fields, are skipped and counted.";

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
    /// Continue when the filter is full
    #[arg(long)]
    overfill: bool,
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
    check_reproducible(args, system.is_some())?;
    if args.size.layout == Some(LayoutName::Matrix) && args.segment.is_none() {
        let (files, options, stop) = (&*args.files, &options, &stop);
        let lists = Lists { files, options, reading, stop, talk };
        keep_digests(args, false)?;
        return build_matrix(args, &lists, &waiting);
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
        Some(new) => of_system(args, new, (items, counted), talk)?,
        None => (Create::build_any(&args.size, items, &args.digest)?, Vec::new()),
    };
    // The estimate by which one of another system is full says no more than the count.
    let overfill = args.overfill || counted && system.is_some();
    let mut inserter = Inserter::new(set, overfill).without_warning(counted);
    if let Some(kept) = kept {
        inserter = inserter.with_digests(kept);
    }
    progress = Progress::new(talk, total_bytes);
    let mut counts = Counts::default();
    let advice = WhenFull {
        outcome: "nothing was written",
        next: "start again with a larger -n, or continue with --overfill",
    };
    let filled = fill::fill(&mut reader, &mut inserter, &mut counts, (talk, &mut progress), advice);
    progress.clear();
    reader::warn_of_keyless(&reader, talk);
    filled?;
    let (forgotten, digests) = (inserter.forgotten(), inserter.take_digests());
    // One that comes later finds the file being written, which is then finished.
    stop.check()?;
    let built = Built { counts, forgotten, digests };
    if args.reproducible {
        inserter.set_mut().settle_items();
    }
    finish(args, inserter.set_mut(), built, &mut progress, &waiting, talk)?;
    talk.say_all(&notes);
    Ok(Outcome::Done)
}

/// Builds a fuse filter of all lines at once, saves it and reports what it is.
fn build_fuse(
    args: &Args,
    (reader, progress): (&mut LineReader, &mut Progress),
    (waiting, stop): (&Waiting, &Stop),
    talk: Talk,
) -> Result<Outcome, Error> {
    let mut filter = create::fuse::build(&args.size, &args.digest, reader, progress)?;
    let counts =
        Counts { lines: reader.lines(), new: filter.len(), without_key: reader.keyless().lines() };
    progress.clear();
    reader::warn_of_keyless(reader, talk);
    stop.check()?;
    let built = Built { counts, forgotten: None, digests: None };
    finish(args, &mut filter, built, progress, waiting, talk)
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
    (items, counted): (Option<u64>, bool),
    talk: Talk,
) -> Result<(Box<dyn KeySet>, Vec<String>), Error> {
    let (mut set, notes) = new.build(items, &args.digest, args.overfill)?;
    if counted {
        set = set.without_warning();
    }
    let name = args.output.display().to_string();
    say_guess(&name, new.format(), set.key_types(), talk);
    say_options(&name, new.format(), &args.lines.key_options(), talk);
    Ok((Box::new(set), notes))
}

/// Builds a matrix of these lists, saves it and reports what it is.
fn build_matrix(args: &Args, lists: &Lists<'_>, waiting: &Waiting) -> Result<Outcome, Error> {
    let start = Instant::now();
    let (matrix, counts) = create::matrix::build(&args.size, &args.digest, args.overfill, lists)?;
    lists.stop.check()?;
    let header = Header::of(&matrix, &lists.options.to_header());
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
    let options = filter.key_options(args.lines.key_options()).to_header();
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
