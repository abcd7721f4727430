//! `mayhap remove`: keys out of a counting filter.

use super::Outcome;
use crate::args::{LineArgs, secret_key};
use crate::error::Error;
use crate::fill::State;
use crate::keys::KeyOptions;
use crate::lines::LineReader;
use crate::live::{self, Opened};
use crate::progress::Progress;
use crate::seen::Seen;
use crate::signals::Stop;
use crate::talk::{Talk, grouped};
use mayhap::Bitmap;
use mayhap::native::Kind;
use serde::Serialize;
use std::path::PathBuf;

const EXAMPLES: &str = "\
Examples:
  mayhap remove users.mayhap gone.txt
  comm -23 yesterday today | mayhap remove users.mayhap";

const NOTES: &str = "\
Only for counting filters: mayhap create users.mayhap --layout counting. A line that was added \
twice is there until it is removed twice. Remove only what was added: a key that never was is \
left alone where the filter is sure of that, but where it answers \"maybe\" by mistake, removing \
it makes other keys be forgotten.

The file is replaced at the end, whole or not at all; after Ctrl-C with the keys up to there \
removed.";

/// Remove keys, one per line, from a counting filter file
#[derive(Debug, clap::Args)]
#[command(before_help = EXAMPLES, after_help = NOTES)]
pub struct Args {
    /// The filter file
    #[arg(value_name = "FILTER")]
    file: PathBuf,
    /// Input; - or none is standard input
    #[arg(value_name = "INPUT")]
    files: Vec<PathBuf>,
    /// Print the summary as JSON, on stdout
    #[arg(long)]
    json: bool,
    /// The filter's secret key, if it has one
    #[arg(long, value_name = "FILE")]
    key_file: Option<PathBuf>,
    #[command(flatten)]
    lines: LineArgs,
}

/// What was removed, as `--json` prints it.
#[derive(Debug, Serialize)]
struct Summary {
    file: String,
    lines_read: u64,
    removed: u64,
    not_there: u64,
    lines_without_key: u64,
    seconds: f64,
    complete: bool,
    #[serde(flatten)]
    state: State,
}

/// Runs the verb.
///
/// # Errors
///
/// Any of [`Error`].
pub fn run(args: &Args, talk: Talk) -> Result<Outcome, Error> {
    let (sources, total_bytes) = super::input("remove", &args.files)?;
    let file = args.file.display().to_string();
    let header = mayhap_store::read_header(&args.file)?;
    if header.kind() != Kind::Counting {
        return Err(not_counting(&file, header.kind()));
    }
    let options = KeyOptions::from_header(&file, header.key_options())?
        .agree(&file, &args.lines.key_options())?;
    let opened = live::open_if_live(&args.file, secret_key(args.key_file.as_deref())?)?;
    let Opened { mut seen, mut log, recovery, .. } = opened;
    live::tell(talk, &file, &recovery);
    if let Some(log) = log.as_mut().filter(|_| recovery.replayed_digests > 0) {
        // What is removed is not logged: no record may come back after it.
        seen.checkpoint(log)?;
    }
    let Seen::Kind(mut filter) = seen else { return Err(not_counting(&file, Kind::Bloom)) };
    let stop = Stop::on_signals()?;
    let mut reader =
        LineReader::new(sources, &options, args.lines.reading("remove", talk), Some(stop))?;
    let mut progress = Progress::new(talk, total_bytes);
    let function = filter.digest_function();
    reader.digest_by(function);
    let (mut digests, mut gone, mut removed, mut lines) = (Vec::new(), Bitmap::new(), 0, 0);
    let result = loop {
        let raw_bytes = reader.raw_bytes();
        let batch = match reader.next_batch(|| Ok(())) {
            Ok(Some(batch)) => batch,
            Ok(None) => break Ok(()),
            Err(error) => break Err(error),
        };
        // Leaves none for lines without a key.
        batch.digest_into(&function, &mut digests);
        lines += batch.len() as u64;
        filter.remove_digests_into(&digests, &mut gone);
        removed += gone.count_ones() as u64;
        progress.tick(lines, raw_bytes, String::new);
    };
    let seconds = progress.elapsed().as_secs_f64();
    progress.clear();
    reader.keyless().warn(talk);
    match &mut log {
        Some(log) => filter.checkpoint(log)?,
        None => filter.save(&args.file, &options, true)?,
    }
    let lines_without_key = reader.keyless().lines();
    let not_there = lines - removed - lines_without_key;
    let (complete, state) = (result.is_ok(), filter.state());
    if args.json {
        let lines_read = lines;
        let summary = Summary {
            file,
            lines_read,
            removed,
            not_there,
            lines_without_key,
            seconds,
            complete,
            state,
        };
        Talk::json(&summary, true)?;
    } else {
        let line = format!(
            "{file}: {} removed, {} not there ({} lines, {seconds:.2} s)",
            grouped(removed),
            grouped(not_there),
            grouped(lines),
        );
        talk.report(&line, &state.text());
    }
    result.map(|()| Outcome::Done)
}

fn not_counting(file: &str, kind: Kind) -> Error {
    Error::usage(
        format!("{file} is a {} filter: keys cannot be removed from it", kind.name()),
        "make one that they can with mayhap create --layout counting, or build it again",
    )
}
