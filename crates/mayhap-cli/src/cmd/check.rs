//! `mayhap check`: which lines may be in a filter.

use crate::args::{FilterArgs, LineArgs, OpenArgs};
use crate::error::Error;
use crate::io::messages::{Reporter, grouped, print_stdout};
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

/// Print the lines that may be in a filter
#[derive(Debug, clap::Args)]
#[expect(clippy::struct_excessive_bools, reason = "each is a flag of the command line")]
pub struct Args {
    /// The filter, or a folder (unless -f is given), then input files [default: standard input, -]
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

/// The results, as `--json` prints them.
#[derive(Debug, Serialize)]
struct Summary {
    lines_read: u64,
    lines_selected: u64,
    lines_without_key: u64,
    lines_with_crlf: u64,
    #[serde(flatten)]
    confirmed: Option<Confirmed>,
    filters: Vec<FilterAnswers>,
}

/// The confirmation of the lines that may be present.
#[derive(Debug, Serialize)]
struct Confirmed {
    confirmed: u64,
    false_positives: u64,
}

#[derive(Debug, Serialize)]
struct FilterAnswers {
    file: String,
    maybe_present: u64,
    surely_absent: u64,
}

/// Runs the verb.
///
/// # Errors
///
/// Any of [`Error`].
pub fn run(args: &Args, talk: Reporter) -> Result<Outcome, Error> {
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
    let (sources, total_bytes) = reader::input(&inputs)?;
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
    // The first line found decides the answer.
    let is_answered = sieve.until == Until::AnyLine && sieve.selected() > 0;
    let answered = reader::answered(&reader, talk, args.lines.skip_bad || is_answered);
    sieve.warn(talk);
    report(args, &sieve, &reader, talk)?;
    sieve.check_answered()?;
    answered?;
    Ok(Outcome::found(sieve.selected() > 0))
}

/// Refuses options that need one key per line, if keys are cut in another way.
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
    let maybe_present = aged.maybe_present;
    if args.json {
        let surely_absent = reader.lines() - maybe_present - reader.keyless().lines();
        let found = FilterAnswers { file: name.to_owned(), maybe_present, surely_absent };
        Reporter::json(&Summary::new(reader, maybe_present, vec![found]), false)?;
    }
    Ok(Outcome::found(maybe_present > 0))
}

fn report(args: &Args, sieve: &Sieve, reader: &LineReader, talk: Reporter) -> Result<(), Error> {
    if args.list && !talk.is_quiet() {
        let named = sieve.members().iter().filter(|member| member.selected(args.invert) > 0);
        let names = named.flat_map(|member| [&member.name, "\n"]);
        print_stdout(&names.collect::<String>())?;
    }
    if args.json {
        return Reporter::json(&Summary::of(sieve, reader), args.count);
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
    fn new(reader: &LineReader, lines_selected: u64, filters: Vec<FilterAnswers>) -> Self {
        Self {
            lines_read: reader.lines(),
            lines_selected,
            lines_without_key: reader.keyless().lines(),
            lines_with_crlf: reader.cr_lines(),
            confirmed: None,
            filters,
        }
    }

    fn of(sieve: &Sieve, reader: &LineReader) -> Self {
        let found = |member: &Member| FilterAnswers {
            file: member.name.clone(),
            maybe_present: member.maybe_present,
            surely_absent: member.lines - member.maybe_present,
        };
        let filters = sieve.members().iter().map(found).collect();
        let confirmed = sieve.confirm().map(|confirm| Confirmed {
            confirmed: confirm.confirmed,
            false_positives: confirm.false_positives,
        });
        let lines_without_key = sieve.lines_without_key();
        Self { lines_without_key, confirmed, ..Self::new(reader, sieve.selected(), filters) }
    }
}
