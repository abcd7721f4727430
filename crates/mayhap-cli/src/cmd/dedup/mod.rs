//! `mayhap dedup`: the first of equal lines, in order, in bounded memory.
//!
//! | file | contents |
//! |---|---|
//! | `exact.rs` | `--exact`: a set of the keys themselves |
//! | `open.rs` | the set that a run remembers lines in: from arguments, or from a state file |
//! | `pump.rs` | the loop: lines in, new ones out |
//! | `report.rs` | what a run did, in words and as JSON |

mod exact;
mod open;
mod pump;
mod report;

use crate::args::{
    DigestArgs, LineArgs, LockArgs, ReplicaArgs, ServerArgs, SizeArgs, parse_window,
};
use crate::error::Error;
use crate::io::messages::Reporter;
use crate::io::output::Output;
use crate::io::progress::Progress;
use crate::io::reader;
use crate::random;
use crate::set::fill::Inserter;
use crate::set::summary::{check_replaced, warn_of_unsure};
use mayhap::DigestFunction;
use mayhap_lists::{LineReader, Reading, Stop};
use mayhap_sets::{ExactSet, LayoutName};
use mayhap_units::number::parse_share;
use mayhap_units::window::WindowSize;
use std::path::{Path, PathBuf};

/// Remove repeated lines, keeping the first and the order, in bounded memory
#[derive(Debug, clap::Args)]
#[expect(clippy::struct_excessive_bools, reason = "each is a flag of the command line")]
pub struct Args {
    /// Input files, or - for standard input, the default
    #[arg(value_name = "FILE")]
    files: Vec<PathBuf>,
    /// Print the repeats instead: every line except the first of equal ones
    #[arg(short = 'd', long)]
    repeated: bool,
    /// Write to FILE instead of standard output (-)
    #[arg(short = 'o', long, value_name = "FILE")]
    output: Option<PathBuf>,
    /// Replace the output file if it exists
    #[arg(long)]
    force: bool,
    /// Keep the lines in this filter between runs: a file, or redis://host:port/db/name
    #[arg(long, value_name = "FILE")]
    state: Option<PathBuf>,
    /// Forget old lines: remember at least the last 10M, or those of the last 7d
    #[arg(
        long,
        value_name = "LINES|TIME",
        value_parser = parse_window,
        conflicts_with_all = ["layout", "mem", "overfill"]
    )]
    window: Option<WindowSize>,
    /// Store the lines themselves: loses none, for many times the memory (up to --max-memory)
    #[arg(long, conflicts_with_all = [
        "state", "window", "overfill", "items", "fpp", "mem", "layout", "seed", "key_file",
        "new_key_file",
    ])]
    exact: bool,
    /// Continue when the filter is full
    #[arg(long)]
    overfill: bool,
    /// Forget all lines whenever this share of the filter's bits is set: 50%
    #[arg(
        long,
        value_name = "SHARE",
        value_parser = parse_share,
        conflicts_with_all = ["exact", "window", "overfill"]
    )]
    clear_at: Option<f64>,
    /// A repeat does not renew its key in a window: it is new once in each
    #[arg(long, conflicts_with_all = ["exact", "clear_at"])]
    no_refresh: bool,
    /// Print the summary as JSON, on stderr
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    size: SizeArgs,
    #[command(flatten)]
    lines: LineArgs,
    #[command(flatten)]
    digest: DigestArgs,
    #[command(flatten)]
    server: ServerArgs,
    #[command(flatten)]
    replicas: ReplicaArgs,
    #[command(flatten)]
    lock: LockArgs,
    /// Continue without a missing log of --state: what was recorded in it is lost
    #[arg(long, requires = "state")]
    without_log: bool,
}

impl Args {
    /// The size, with the window as a layout.
    fn size(&self) -> SizeArgs {
        let layout = self.window.map(LayoutName::Window).or(self.size.layout);
        SizeArgs { layout, ..self.size.clone() }
    }
}

/// The set that remembers the lines.
enum Set {
    /// A filter.
    Filter(Box<Inserter>),
    /// The keys themselves.
    Exact(ExactSet),
}

/// A run: everything that the loop works on.
struct Run<'a> {
    args: &'a Args,
    talk: Reporter,
    reader: LineReader,
    set: Set,
    output: Output,
    progress: Progress,
    /// Lines dealt with.
    lines: u64,
    /// The number of lines that were new, or have no key.
    kept: u64,
}

/// Runs the verb.
///
/// # Errors
///
/// Any of [`Error`].
pub fn run(args: &Args, talk: Reporter) -> Result<(), Error> {
    let (sources, total_bytes) = reader::input(&args.files)?;
    let stop = Stop::on_signals()?;
    let reading = args.lines.reading();
    let (set, options) = if args.exact {
        let function = DigestFunction::xxh3(u64::from_le_bytes(random::bytes()?));
        let set = ExactSet::new(args.size.max_bytes(), function);
        (Set::Exact(set), args.lines.key_options())
    } else {
        let (inserter, options) = open::open(args, &sources, &stop, talk)?;
        let inserter = inserter.clearing_at(args.clear_at)?.without_refresh(args.no_refresh)?;
        (Set::Filter(Box::new(inserter)), options)
    };
    // Lines that are recorded but not yet printed are lost by kill -9: keep them few.
    let gathers = match &set {
        Set::Filter(inserter) => inserter.set().remote().is_some_and(|remote| remote.is_far),
        Set::Exact(_) => false,
    };
    let reading = Reading { gathers, ..reading };
    let reader = reader::open(sources.clone(), &options, reading, Some(stop), talk)?;
    let output = match args.output.as_deref().filter(|path| *path != Path::new("-")) {
        Some(path) => Output::create(path, args.force, &sources)?,
        None => Output::stdout(&sources)?,
    };
    let mut run = Run {
        args,
        talk,
        reader,
        set,
        output,
        progress: Progress::new(talk, total_bytes),
        lines: 0,
        kept: 0,
    };
    let result = run.pump();
    let seconds = run.progress.end();
    // Where the output failed, lines in the filter may not have been printed: then the log, which
    // has only printed lines, stays as it is.
    if !result.as_ref().is_err_and(Error::is_about_output) {
        run.output.flush()?;
        if let Set::Filter(inserter) = &mut run.set
            && !result.as_ref().is_err_and(Error::is_of_server)
        {
            inserter.finish()?;
        }
    }
    let mut result = result;
    if let Set::Filter(inserter) = &run.set {
        warn_of_unsure(inserter.set(), talk);
        let name = args.state.as_deref().map(|path| mayhap_sets::redacted(&path.to_string_lossy()));
        result = result.and_then(|()| check_replaced(&name.unwrap_or_default(), inserter.set()));
    }
    let reported = match &result {
        Err(Error::BrokenPipe) => Ok(()),
        result => run.report(seconds, result.is_ok()),
    };
    result.and(reported)
}
