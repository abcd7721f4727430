//! `mayhap assemble`: one filter file of its segments.

use crate::args::LockArgs;
use crate::error::Error;
use crate::files::refuse_existing;
use crate::io::messages::{Talk, counted, rate};
use crate::io::progress::Progress;
use crate::outcome::Outcome;
use crate::set::kept::ReplacedDigests;
use crate::set::session::Waiting;
use mayhap::native::Header;
use mayhap::{FilterParams, Health};
use mayhap_sets::{State, whole};
use mayhap_store::Assembled;
use serde::Serialize;
use std::path::PathBuf;

const EXAMPLES: &str = "\
Examples:
  mayhap build -q -o part-1.mayhap --segment 1/2 -n 1M urls.txt   # on one machine
  mayhap build -q -o part-2.mayhap --segment 2/2 -n 1M urls.txt   # on another one
  mayhap assemble -q -o urls.mayhap part-1.mayhap part-2.mayhap   # in any order";

const NOTES: &str = "\
Segments are written by mayhap build --segment, and by the library and its Python package. The new \
file is, byte for byte, that of mayhap build --reproducible --layout blocked with all the keys: it \
depends neither on the order of the keys nor on the number of segments.

All segments must be of one filter, with the same -n, -p, digest and key options, and all of them \
must be given, each once; an error names what differs or is missing. Every byte of every segment \
is checked, and no secret key is needed. It takes the time of copying the files and a few MB of \
memory; the new file appears whole or not at all.";

/// Put the segments of a filter together, as many machines have filled them
#[derive(Debug, clap::Args)]
#[command(before_help = EXAMPLES, after_help = NOTES)]
pub struct Args {
    /// The files of all segments, in any order
    #[arg(value_name = "SEGMENT", required = true)]
    files: Vec<PathBuf>,
    /// The filter file to write
    #[arg(short = 'o', long, value_name = "FILTER")]
    output: PathBuf,
    /// Replace the file if it exists
    #[arg(long)]
    force: bool,
    /// Print the summary as JSON, on stdout
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    lock: LockArgs,
}

/// What was put together, as `--json` prints it.
#[derive(Debug, Serialize)]
struct Summary {
    file: String,
    segments: usize,
    seconds: f64,
    #[serde(flatten)]
    state: State,
}

/// Runs the verb.
///
/// # Errors
///
/// Any of [`Error`].
pub fn run(args: &Args, talk: Talk) -> Result<Outcome, Error> {
    refuse_existing(&args.output, args.force)?;
    let headers = args.files.iter().map(|path| mayhap_store::read_header(path));
    let headers = headers.collect::<Result<Vec<_>, _>>()?;
    let bytes = headers.iter().map(Header::body_bytes).fold(0, u64::saturating_add);
    let lock = Waiting::new("assemble", args.lock, talk, None).lock(&args.output)?;
    let mut progress = Progress::new(talk, Some(bytes));
    let digests = ReplacedDigests::of(&args.output);
    let assembled = lock.assemble(&args.files, args.force, |done, _| progress.tick_bytes(done))?;
    let seconds = progress.elapsed().as_secs_f64();
    progress.clear();
    digests.say(talk);
    let params = assembled.header.params()?;
    let state = state(&assembled, &params);
    let (file, segments) = (args.output.display().to_string(), args.files.len());
    let summary = Summary { file, segments, seconds, state };
    if args.json {
        Talk::json(&summary, true)?;
    } else {
        let of = counted(segments as u64, "segment");
        let line = format!("{}: {of} put together ({seconds:.2} s)", summary.file);
        talk.report(&line, &summary.state.text());
    }
    if summary.state.health == Health::OverCapacity {
        talk.warn(&format!(
            "the filter has more keys than its capacity of {}: its rate is {}, its target {}; \
             build the segments with a larger -n",
            params.expected_items(),
            rate(summary.state.estimated_fpp),
            rate(summary.state.target_fpp),
        ));
    }
    Ok(Outcome::Done)
}

/// The numbers of the filter, which nobody has to read again.
fn state(assembled: &Assembled, params: &FilterParams) -> State {
    let items = assembled.header.inserted_items();
    let by_bits = assembled.estimated_items.health(params.expected_items());
    State {
        layout: params.layout().name(),
        num_bytes: params.num_bytes(),
        items,
        distinct_items: whole(assembled.estimated_items),
        expected_items: Some(params.expected_items()),
        target_fpp: params.target_fpp(),
        estimated_fpp: assembled.estimated_fpp,
        fill_ratio: assembled.fill_ratio,
        health: by_bits.max(Health::of_inserted(params, items)),
    }
}
