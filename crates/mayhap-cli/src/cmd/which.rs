//! `mayhap which`: which of many sets may hold a line.

use crate::args::{FilterArgs, LineArgs, OpenArgs};
use crate::error::Error;
use crate::io::messages::Reporter;
use crate::io::output::Output;
use crate::io::progress::Progress;
use crate::io::reader;
use crate::memory;
use crate::outcome::Outcome;
use crate::set::named::NamedSets;
use crate::set::{filters, open};
use mayhap_keys::KeyOptions;
use mayhap_lists::LineReader;
use serde::Serialize;
use std::path::PathBuf;

const MAX_MEMORY: &str = "Memory limit for a matrix [default: half of the memory], or another \
                          system's filter [all]";

/// Print which of many sets may contain each line
#[derive(Debug, clap::Args)]
#[command(mut_arg("max_memory", |arg| arg.help(MAX_MEMORY)))]
pub struct Args {
    /// A matrix, filters or a folder (unless -f is given), then input [default: standard input, -]
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

/// The findings, as `--json` prints them.
#[derive(Debug, Serialize)]
struct Summary<'a> {
    lines_read: u64,
    lines_in_a_set: u64,
    lines_without_key: u64,
    lines_with_crlf: u64,
    queried_as: &'static str,
    sets: Vec<Matches<'a>>,
}

#[derive(Debug, Serialize)]
struct Matches<'a> {
    name: &'a str,
    maybe_present: u64,
}

/// Runs the verb.
///
/// # Errors
///
/// Any of [`Error`].
pub fn run(args: &Args, talk: Reporter) -> Result<Outcome, Error> {
    let given = args.lines.key_options();
    let half = || memory::usable_bytes().map(|bytes| bytes / 2);
    let limit = args.open.max_memory.or_else(half).unwrap_or(u64::MAX);
    let mut reading = args.lines.reading();
    let (filters, lists) = filters::sort(&args.filters, &args.files, &reading, true)?;
    let (sets, options) = match filters.as_slice() {
        [] => {
            return Err(Error::usage(
                "no filter is given",
                "for example: mayhap which -f a.mayhap -f b.mayhap < keys.txt",
            ));
        }
        [matrix] if open::is_matrix(matrix) => {
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
    let (sources, total_bytes) = reader::input(&lists)?;
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
    (talk, mut progress): (Reporter, Progress),
) -> Result<Outcome, Error> {
    let (prints, stops_early) = (!talk.is_quiet(), talk.is_quiet() && !args.json);
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
        if stops_early && selected > 0 {
            break;
        }
        progress.tick(reader.lines(), raw_bytes, String::new);
    }
    progress.clear();
    output.flush()?;
    let is_answered = stops_early && selected > 0;
    let answered = reader::answered(&reader, talk, args.lines.skip_bad || is_answered);
    sets.warn(talk);
    if args.json {
        let found = |(name, maybe_present)| Matches { name, maybe_present };
        let summary = Summary {
            lines_read: reader.lines(),
            lines_in_a_set: selected,
            lines_without_key: reader.keyless().lines() + sets.lines_without_key(),
            lines_with_crlf: reader.cr_lines(),
            queried_as: sets.queried_as(),
            sets: sets.counts().map(found).collect(),
        };
        Reporter::json(&summary, false)?;
    }
    sets.check_answered(if is_answered { 0 } else { unanswered })?;
    answered?;
    Ok(Outcome::found(selected > 0))
}
