//! `mayhap filter`: prints the lines of a stream that may be in a set.

use crate::args::{LineArgs, OpenArgs};
use crate::error::Error;
use crate::io::messages::Reporter;
use crate::io::output::Output;
use crate::io::progress::Progress;
use crate::io::reader;
use crate::outcome::Outcome;
use crate::set::open;
use crate::set::sieve::Sieve;
use mayhap_keys::KeyOptions;
use mayhap_lists::{Reading, Stop};
use serde::Serialize;
use std::path::PathBuf;

/// Pass the records of a stream that may be in a set, and drop the others
#[derive(Debug, clap::Args)]
#[expect(clippy::struct_excessive_bools, reason = "each is a flag of the command line")]
pub struct Args {
    /// The filter: a file, or redis://host:port/database/name
    #[arg(value_name = "FILTER")]
    file: PathBuf,
    /// Input files, or - for standard input, the default
    #[arg(value_name = "INPUT")]
    files: Vec<PathBuf>,
    /// Pass the records that are surely not in the set
    #[arg(short = 'v', long)]
    invert: bool,
    /// Write the dropped records to a file
    #[arg(long, value_name = "FILE")]
    rest: Option<PathBuf>,
    /// Replace the file of --rest if it exists
    #[arg(long, requires = "rest")]
    force: bool,
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

/// The summary, as `--json` prints it.
#[derive(Debug, Serialize)]
struct Summary {
    lines_read: u64,
    let_through: u64,
    held_back: u64,
    lines_without_key: u64,
    lines_with_crlf: u64,
}

/// Runs the verb.
///
/// # Errors
///
/// Any of [`Error`].
pub fn run(args: &Args, talk: Reporter) -> Result<Outcome, Error> {
    let files = std::slice::from_ref(&args.file);
    let given = args.lines.key_options();
    let (opened, options) = open::open_all(
        files,
        (&args.open, args.trust),
        (&given, KeyOptions::with_records_of),
        talk,
    )?;
    let (sources, total_bytes) = reader::input(&args.files)?;
    let stop = Stop::on_signals()?;
    let gathers = open::any_remote(&opened);
    let reading = Reading { gathers, ..args.lines.reading() };
    let mut reader = reader::open(sources.clone(), &options, reading, Some(stop), talk)?;
    let mut progress = Progress::new(talk, total_bytes);
    let mut sieve = Sieve::new(opened, &options, None);
    sieve.invert = args.invert;
    sieve.output = Some(Output::stdout(&sources)?);
    if let Some(rest) = &args.rest {
        sieve.rest = Some(Output::create(rest, args.force, &sources)?);
    }
    sieve.run(&mut reader, &mut progress)?;
    progress.clear();
    let answered = reader::answered(&reader, talk, args.lines.skip_bad);
    sieve.warn(talk);
    if args.json {
        let (lines_read, let_through) = (reader.lines(), sieve.selected());
        let held_back = lines_read - let_through - reader.keyless().lines();
        let lines_without_key = sieve.lines_without_key();
        let lines_with_crlf = reader.cr_lines();
        let summary =
            Summary { lines_read, let_through, held_back, lines_without_key, lines_with_crlf };
        Reporter::json(&summary, false)?;
    }
    sieve.check_answered()?;
    answered?;
    Ok(Outcome::found(sieve.selected() > 0))
}
