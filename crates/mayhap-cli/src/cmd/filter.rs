//! `mayhap filter`: a stream, and of it what may be in a set.

use crate::args::{LineArgs, OpenArgs};
use crate::error::Error;
use crate::io::messages::Talk;
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

const EXAMPLES: &str = "\
Examples:
  tail -f log | mayhap filter good.mayhap | fetch      # passes what may be in it
  mayhap filter good.mayhap --rest held-back < today   # and where the rest goes
  mayhap filter spam.mayhap -v --field 2 < log         # by the second field, tab between them
  mayhap filter good.mayhap --json-pointer /user/mail < log
  mayhap filter --key-type utf16 seen.guava < today    # a filter of another system";

const NOTES: &str = "\
A record whose key is in the set always passes; any other is dropped, except for false positives, \
at the rate of the filter (mayhap info). With -v it is the other way round: what passes is surely \
not in the set. Nothing waits in memory while the input pauses.

How records are split and keys extracted (-0, --field, --json-pointer ...) is what the command \
line says, whatever the filter was built from; how a key is normalised (--trim, --lower, --hex \
...) is recorded in the file. mayhap check, by contrast, uses the key options of the filter. A \
filter of another system records none of this, so give all of it here. Nobody can say whether a \
record without a key is in the set: it goes nowhere, and at the end it is an error (exit code 2), \
unless --skip-bad is given.

Exit codes: 0 if a record passed, 1 if none did, 2 after an error.";

/// Pass the records of a stream that may be in a set, and drop the others
#[derive(Debug, clap::Args)]
#[command(before_help = EXAMPLES, after_help = NOTES)]
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

/// What was done, as `--json` prints it.
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
pub fn run(args: &Args, talk: Talk) -> Result<Outcome, Error> {
    let files = std::slice::from_ref(&args.file);
    let given = args.lines.key_options();
    let (opened, options) = open::open_all(
        files,
        (&args.open, args.trust),
        (&given, KeyOptions::with_records_of),
        talk,
    )?;
    let (sources, total_bytes) = super::sources::input::<Args>("filter", &args.files)?;
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
        Talk::json(&summary, false)?;
    }
    sieve.check_answered()?;
    answered?;
    Ok(if sieve.selected() > 0 { Outcome::Done } else { Outcome::Nothing })
}
