//! `mayhap assemble`: one filter file from its segments.

use crate::args::LockArgs;
use crate::error::Error;
use crate::files::refuse_existing;
use crate::io::messages::{Reporter, counted, rate};
use crate::io::progress::Progress;
use crate::set::kept::ReplacedDigests;
use crate::set::session::Waiting;
use mayhap::Health;
use mayhap::native::Header;
use mayhap_sets::State;
use serde::Serialize;
use std::path::PathBuf;

/// Put the segments of a filter together, as many machines have filled them
#[derive(Debug, clap::Args)]
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

/// The assembled filter, as `--json` prints it.
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
pub fn run(args: &Args, talk: Reporter) -> Result<(), Error> {
    refuse_existing(&args.output, args.force)?;
    let headers = args.files.iter().map(|path| mayhap_store::read_header(path));
    let headers = headers.collect::<Result<Vec<_>, _>>()?;
    let bytes = headers.iter().map(Header::body_bytes).fold(0, u64::saturating_add);
    let lock = Waiting::new("assemble", args.lock, talk, None).lock(&args.output)?;
    let mut progress = Progress::new(talk, Some(bytes));
    let digests = ReplacedDigests::of(&args.output);
    let tick = |done, _| progress.tick_bytes(done);
    let assembled = mayhap_store::assemble(&lock, &args.files, args.force, tick)?;
    let seconds = progress.end().as_secs_f64();
    digests.say(talk);
    let state = State::of_assembled(&assembled)?;
    let (file, segments) = (args.output.display().to_string(), args.files.len());
    let summary = Summary { file, segments, seconds, state };
    talk.summary(args.json, &summary, |Summary { file, segments, seconds, state }| {
        let of = counted(*segments as u64, "segment");
        (format!("{file}: {of} put together ({seconds:.2} s)"), state.text())
    })?;
    if summary.state.health == Health::OverCapacity {
        let (now, target) = (rate(summary.state.estimated_fpp), rate(summary.state.target_fpp));
        let capacity = assembled.header.fields().expected_items;
        talk.warn(&format!(
            "the filter has more keys than its capacity of {capacity}: its rate is {now}, its \
             target {target}; build the segments with a larger -n"
        ));
    }
    Ok(())
}
