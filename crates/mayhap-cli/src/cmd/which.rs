//! `mayhap which`: which of many sets may hold a line.

use crate::args::{FilterArgs, LineArgs, OpenArgs};
use crate::error::Error;
use crate::io::messages::Talk;
use crate::io::output::Output;
use crate::io::progress::Progress;
use crate::io::reader;
use crate::memory;
use crate::outcome::Outcome;
use crate::set::named::NamedSets;
use crate::set::{filters, open};
use mayhap::native::Kind;
use mayhap_keys::KeyOptions;
use mayhap_lists::LineReader;
use serde::Serialize;
use std::path::{Path, PathBuf};

const EXAMPLES: &str = "\
Examples:
  mayhap which mon.mayhap tue.mayhap wed.mayhap < keys.txt
  mayhap which shards.mayhap < keys.txt          # the sets of a matrix file
  mayhap which filters/ < keys.txt               # all filters in a folder
  mayhap which -F filters.list < keys.txt        # the filters in a list
  mayhap which -a -f a.mayhap -f b.mayhap keys   # also lines of no set";

const NOTES: &str = "\
Prints the names of the sets that may contain a line, separated by commas, then a tab and the \
line. A set that contains it is always named; one that does not is named at the rate of its \
filter. Lines that are surely in no set are omitted, unless -a is given. Nobody can say which sets \
have a line without a key: such lines are never printed, and at the end they are an error, unless \
--skip-bad is given. Exit codes: 0 if a set may contain a line, 1 if none does, 2 after an error.

A matrix file (mayhap build --layout matrix) has the names of the lists that it was built from, or \
numbers. Of a folder, the filters in it are queried in the order of their names, and not those in \
folders below; other files are passed over.

A line is digested once for all filters with the same digest. If there are many filters of one \
shape (created with the same -n, -p and digest) and much input, they are combined into a matrix \
in memory, which is queried for all of them at once.";

const MAX_MEMORY: &str = "Memory limit for a matrix [default: half the memory of this machine] and \
                          for a filter of another system [default: all of it]";

/// Print which of many sets may contain each line
#[derive(Debug, clap::Args)]
#[command(before_help = EXAMPLES, after_help = NOTES)]
#[command(mut_arg("max_memory", |arg| arg.help(MAX_MEMORY)))]
pub struct Args {
    /// A matrix, filters or a folder of them (unless -f is given), then input files, or - for
    /// standard input, the default
    #[arg(value_name = "FILTER] [INPUT")]
    files: Vec<PathBuf>,
    #[command(flatten)]
    filters: FilterArgs,
    /// Also print lines that are in no set, with nothing before the tab
    #[arg(short = 'a', long)]
    all: bool,
    /// Print a summary as JSON, on stderr
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
struct Summary<'a> {
    lines_read: u64,
    lines_in_a_set: u64,
    lines_without_key: u64,
    lines_with_crlf: u64,
    queried_as: &'static str,
    sets: Vec<Found<'a>>,
}

#[derive(Debug, Serialize)]
struct Found<'a> {
    name: &'a str,
    maybe_present: u64,
}

/// Runs the verb.
///
/// # Errors
///
/// Any of [`Error`].
pub fn run(args: &Args, talk: Talk) -> Result<Outcome, Error> {
    let given = args.lines.key_options();
    let half = || memory::usable_bytes().map(|bytes| bytes / 2);
    let limit = args.open.max_memory.or_else(half).unwrap_or(u64::MAX);
    let mut reading = args.lines.reading();
    let (filters, lists) = filters::sort(&args.filters, &args.files, &reading, true)?;
    let is_matrix = |path: &Path| {
        mayhap_store::read_header(path).is_ok_and(|header| header.kind() == Kind::Matrix)
    };
    let (sets, options) = match filters.as_slice() {
        [] => {
            return Err(Error::usage(
                "no filter is given",
                "for example: mayhap which -f a.mayhap -f b.mayhap < keys.txt",
            ));
        }
        [matrix] if is_matrix(matrix) => {
            NamedSets::open_matrix(matrix, args.open.secret_key()?, &given)?
        }
        filters => {
            let (opened, options) = open::open_all(
                filters,
                (&args.open, args.trust),
                (&given, KeyOptions::agree),
                talk,
            )?;
            reading.gathers = open::any_remote(&opened);
            (NamedSets::of_filters(opened, &options, limit), options)
        }
    };
    let (sources, total_bytes) = super::sources::input::<Args>("which", &lists)?;
    let progress = Progress::new(talk, total_bytes);
    let output = Output::stdout(&sources)?;
    let reader = reader::open(sources, &options, reading, None, talk)?;
    pump(args, sets, reader, output, (talk, progress))
}

fn pump(
    args: &Args,
    mut sets: NamedSets,
    mut reader: LineReader,
    mut output: Output,
    (talk, mut progress): (Talk, Progress),
) -> Result<Outcome, Error> {
    let prints = !talk.is_quiet();
    let (mut selected, mut unanswered) = (0, 0);
    let mut line = Vec::new();
    loop {
        let raw_bytes = reader.raw_bytes();
        let Some(batch) = reader.next_batch(|| output.flush())? else { break };
        if batch.is_keyless() {
            continue;
        }
        let names = sets.query(&batch)?;
        for i in 0..batch.len() {
            line.clear();
            let any = names.of_line(i, &mut line);
            selected += u64::from(any);
            let is_unsure = !any && names.is_unsure(i);
            unanswered += u64::from(is_unsure);
            if prints && (any || args.all && !is_unsure) {
                output.write(&line)?;
                output.write(b"\t")?;
                output.write(batch.lines(i..i + 1))?;
            }
        }
        if talk.is_quiet() && !args.json && selected > 0 {
            break;
        }
        progress.tick(reader.lines(), raw_bytes, String::new);
    }
    progress.clear();
    output.flush()?;
    let is_answered = talk.is_quiet() && !args.json && selected > 0;
    let answered = reader::answered(&reader, talk, args.lines.skip_bad || is_answered);
    sets.warn(talk);
    if args.json {
        let found = |(name, maybe_present)| Found { name, maybe_present };
        let summary = Summary {
            lines_read: reader.lines(),
            lines_in_a_set: selected,
            lines_without_key: reader.keyless().lines() + sets.lines_without_key(),
            lines_with_crlf: reader.cr_lines(),
            queried_as: sets.queried_as(),
            sets: sets.counts().map(found).collect(),
        };
        Talk::json(&summary, false)?;
    }
    sets.check_answered(if is_answered { 0 } else { unanswered })?;
    answered?;
    Ok(if selected > 0 { Outcome::Done } else { Outcome::Nothing })
}
