//! `mayhap check`: which lines may be in a filter.

use crate::args::{FilterArgs, LineArgs, OpenArgs};
use crate::error::Error;
use crate::io::messages::{Talk, grouped, print_stdout};
use crate::io::output::Output;
use crate::io::progress::Progress;
use crate::io::reader;
use crate::outcome::Outcome;
use crate::set::aged::{self, Aged};
use crate::set::confirm::Confirm;
use crate::set::sieve::{Member, Sieve, Until};
use crate::set::{filters, open};
use mayhap_keys::KeyOptions;
use mayhap_lists::{LineReader, Reading, SortedFile};
use serde::Serialize;
use std::path::PathBuf;

const EXAMPLES: &str = "\
Examples:
  mayhap check seen.mayhap < urls.txt        # the lines that may be in it
  mayhap check -v seen.mayhap urls.txt       # the lines that are surely not
  echo hunter2 | mayhap check -q pw.mayhap && echo 'choose another one'
  mayhap check -f ads.mayhap -f spam.mayhap --tag < hosts.txt
  mayhap check -l -f mon.mayhap -f tue.mayhap < keys.txt    # names of filters that may contain one
  mayhap check --age day.mayhap < urls.txt    # the age of each line, for a window
  mayhap check --sha1 pwned.mayhap < words    # words, where the filter has hashes (build --hex)
  LC_ALL=C sort pw.txt > sorted; mayhap check --confirm sorted pw.mayhap < words  # exact answers
  mayhap check redis://127.0.0.1:6379/0/seen < urls.txt    # a filter on a server
  mayhap check --key-type long ids.guava < ids.txt    # a filter of another system";

const NOTES: &str = "\
Exit codes, as for grep: 0 if a line was printed (or would have been with -c or -q), 1 if none \
was, 2 after an error.

A printed line may be a false positive, at the rate of the filter (mayhap info); with -v a \
printed line is surely absent. With several filters, a line is printed if any of them may contain \
it, with -v if none does; with --tag once per filter. How keys are extracted (-0, --field, \
--lower ...) is recorded in the file. Nobody can say whether a line without a key is in it: such \
lines are not printed, and at the end they are an error (exit code 2), unless --skip-bad is given.

-l stops querying a filter at its first such line, and stops reading when no filter is left to \
query. --confirm looks up each line that may be in the filter in a file of all its keys, \
extracted in the same way and sorted by their bytes (LC_ALL=C sort): a few reads per line, in \
constant memory. It refuses a file if lines that it reads are out of order: the first 8 KiB, 255 \
lines spread over it, and those that a search passes. That is not a full check (sort -c is).

--age prints, before each line that may be in a window, how long ago its key came last: a lower \
and an upper bound, as keys (150..249) or as time (2.1 h..2.5 h), and a tab. By a false positive \
a key may seem younger, never older. A query does not make a key young again; mayhap add does.

A filter of another system is detected from its bytes, or named with --format (for all files that \
are not mayhap's). Such a file does not record how its keys are extracted, so give --trim and the \
like each time. A line that cannot be a key of the --key-type is surely absent.

Each page of a filter file is compared with its checksum before it is first read; a damaged one is \
an error. --trust skips that, for a file that mayhap verify has found good.";

/// Print the lines that may be in a filter
#[derive(Debug, clap::Args)]
#[command(before_help = EXAMPLES, after_help = NOTES)]
#[expect(clippy::struct_excessive_bools, reason = "each is a flag of the command line")]
pub struct Args {
    /// The filter, or a folder of them (unless -f is given), then input files, or - for standard
    /// input, the default
    #[arg(value_name = "FILTER] [INPUT")]
    files: Vec<PathBuf>,
    #[command(flatten)]
    filters: FilterArgs,
    /// Print the lines that are surely not in it
    #[arg(short = 'v', long)]
    invert: bool,
    /// Print only the number of lines
    #[arg(short = 'c', long)]
    count: bool,
    /// Print only the names of filters that may contain a line (with -v: that surely lack one)
    #[arg(short = 'l', long, conflicts_with_all = ["count", "tag"])]
    list: bool,
    /// Print the filter's name and a tab before each line
    #[arg(long)]
    tag: bool,
    /// Print a line only if this sorted file of the filter's keys contains it as well
    #[arg(long, value_name = "FILE", conflicts_with_all = ["tag", "list"])]
    confirm: Option<PathBuf>,
    /// Print the age of each line and a tab before it; for windows
    #[arg(long, conflicts_with_all = ["invert", "count", "list", "tag", "confirm"])]
    age: bool,
    /// Print a summary as JSON, on stderr; with -c on stdout instead of the number
    #[arg(long)]
    json: bool,
    /// Do not compare the pages of a mapped file with their checksums
    #[arg(long)]
    trust: bool,
    #[command(flatten)]
    open: OpenArgs,
    #[command(flatten)]
    lines: LineArgs,
}

/// What was found, as `--json` prints it.
#[derive(Debug, Serialize)]
struct Summary {
    lines_read: u64,
    lines_selected: u64,
    lines_without_key: u64,
    lines_with_crlf: u64,
    #[serde(flatten)]
    confirmed: Option<Confirmed>,
    filters: Vec<Found>,
}

/// What became of the lines that may be present.
#[derive(Debug, Serialize)]
struct Confirmed {
    confirmed: u64,
    false_positives: u64,
}

#[derive(Debug, Serialize)]
struct Found {
    file: String,
    maybe_present: u64,
    surely_absent: u64,
}

/// Runs the verb.
///
/// # Errors
///
/// Any of [`Error`].
pub fn run(args: &Args, talk: Talk) -> Result<Outcome, Error> {
    let reading = args.lines.reading();
    let (filters, inputs) = filters::sort(&args.filters, &args.files, &reading, false)?;
    if filters.is_empty() {
        return Err(Error::usage(
            "no filter is given",
            "for example: mayhap check seen.mayhap < urls.txt",
        ));
    }
    if let (Some(_), [_, second, ..]) = (&args.confirm, &filters[..]) {
        return Err(Error::usage(
            format!("--confirm works with one filter, but {} is given too", second.display()),
            "query them one at a time, each with its own file",
        ));
    }
    let given = args.lines.key_options();
    let (opened, options) =
        open::open_all(&filters, (&args.open, args.trust), (&given, KeyOptions::agree), talk)?;
    refuse_for_keys(args, &opened[0].0, &options)?;
    if args.age {
        if let [_, (second, _), ..] = &opened[..] {
            return Err(Error::usage(
                format!("--age is for one window, but {second} is named too"),
                "query them one at a time",
            ));
        }
        // Before anything is read.
        aged::ages_of(&opened[0])?;
    }
    let (sources, total_bytes) = super::sources::input::<Args>("check", &inputs)?;
    let reading = Reading { gathers: open::any_remote(&opened), ..reading };
    let confirm = args.confirm.as_deref().map(|path| SortedFile::open(path, &options, &reading));
    let mut progress = Progress::new(talk, total_bytes);
    if args.age {
        let output = Output::stdout(&sources)?;
        let mut reader = reader::open(sources, &options, reading, None, talk)?;
        let output = (!talk.is_quiet()).then_some(output);
        let aged = aged::print(&opened[0], &mut reader, output, (&options, &mut progress))?;
        let answered = reader::answered(&reader, talk, args.lines.skip_bad);
        let outcome = finish_aged(args, &opened[0].0, aged, &reader)?;
        return answered.map(|()| outcome);
    }
    let mut sieve = Sieve::new(opened, &options, confirm.transpose()?.map(Confirm::new));
    sieve.invert = args.invert;
    sieve.each = args.tag || args.list;
    if !args.json {
        sieve.until = match (talk.is_quiet(), args.list) {
            (true, _) => Until::AnyLine,
            (false, true) => Until::EveryFilter,
            (false, false) => Until::End,
        };
    }
    let output = Output::stdout(&sources)?;
    if !args.count && !args.list && !talk.is_quiet() {
        sieve.output = Some(output);
    }
    let mut reader = reader::open(sources, &options, reading, None, talk)?;
    sieve.run(&mut reader, &mut progress)?;
    progress.clear();
    // As soon as one line was found, that is the answer.
    let is_answered = sieve.until == Until::AnyLine && sieve.selected() > 0;
    let answered = reader::answered(&reader, talk, args.lines.skip_bad || is_answered);
    sieve.warn(talk);
    report(args, &sieve, &reader, talk)?;
    sieve.check_answered()?;
    answered?;
    Ok(if sieve.selected() > 0 { Outcome::Done } else { Outcome::Nothing })
}

/// Refuses what works with one key on each line, if that is not how keys are cut.
fn refuse_for_keys(args: &Args, name: &str, options: &KeyOptions) -> Result<(), Error> {
    if args.age && options.url_prefixes {
        return Err(Error::usage(
            format!("--age is for one key, but with --url-prefixes {name} is queried for many"),
            "omit --age",
        ));
    }
    if args.confirm.is_some() && options.csv {
        return Err(Error::usage(
            format!("--confirm searches lines, but {name} was created with --csv"),
            "build the filter from a list of the keys alone, and sort that",
        ));
    }
    Ok(())
}

/// The summary and the outcome of `--age`.
fn finish_aged(args: &Args, name: &str, aged: Aged, reader: &LineReader) -> Result<Outcome, Error> {
    let (lines_read, maybe_present) = (reader.lines(), aged.maybe_present);
    if args.json {
        let surely_absent = lines_read - maybe_present - reader.keyless().lines();
        let found = Found { file: name.to_owned(), maybe_present, surely_absent };
        let summary = Summary {
            lines_read,
            lines_selected: maybe_present,
            lines_without_key: reader.keyless().lines(),
            lines_with_crlf: reader.cr_lines(),
            confirmed: None,
            filters: vec![found],
        };
        Talk::json(&summary, false)?;
    }
    Ok(if maybe_present > 0 { Outcome::Done } else { Outcome::Nothing })
}

fn report(args: &Args, sieve: &Sieve, reader: &LineReader, talk: Talk) -> Result<(), Error> {
    if args.list && !talk.is_quiet() {
        let named = sieve.members().iter().filter(|member| member.selected(args.invert) > 0);
        let names = named.flat_map(|member| [&member.name, "\n"]);
        print_stdout(&names.collect::<String>())?;
    }
    if args.json {
        return Talk::json(&Summary::of(sieve, reader), args.count);
    }
    if let Some(confirm) = sieve.confirm() {
        let (wrong, right) = (confirm.false_positives, confirm.confirmed);
        let (wrong, all) = (grouped(wrong), grouped(wrong + right));
        talk.say(&format!("{wrong} of {all} lines that may be present were false positives"));
    }
    if !args.count || talk.is_quiet() {
        return Ok(());
    }
    if args.tag {
        let line = |member: &Member| format!("{}\t{}\n", member.name, member.selected(args.invert));
        return print_stdout(&sieve.members().iter().map(line).collect::<String>());
    }
    print_stdout(&format!("{}\n", sieve.selected()))
}

impl Summary {
    fn of(sieve: &Sieve, reader: &LineReader) -> Self {
        let found = |member: &Member| Found {
            file: member.name.clone(),
            maybe_present: member.maybe_present,
            surely_absent: member.lines - member.maybe_present,
        };
        let confirmed = sieve.confirm().map(|confirm| Confirmed {
            confirmed: confirm.confirmed,
            false_positives: confirm.false_positives,
        });
        Self {
            lines_read: reader.lines(),
            lines_selected: sieve.selected(),
            lines_without_key: sieve.lines_without_key(),
            lines_with_crlf: reader.cr_lines(),
            confirmed,
            filters: sieve.members().iter().map(found).collect(),
        }
    }
}
