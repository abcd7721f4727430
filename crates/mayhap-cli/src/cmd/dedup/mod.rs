//! `mayhap dedup`: the first of equal lines, in order, in bounded memory.

mod exact;
mod open;
mod pump;
mod report;

use crate::args::{DigestArgs, LineArgs, LockArgs, ReplicaArgs, ServerArgs, SizeArgs};
use crate::error::Error;
use crate::io::messages::Talk;
use crate::io::output::Output;
use crate::io::progress::Progress;
use crate::io::reader;
use crate::outcome::Outcome;
use crate::random;
use crate::set::summary::{check_replaced, warn_of_unsure};
use mayhap::DigestFunction;
use mayhap_lists::{Reading, Stop};
use mayhap_sets::{ExactSet, LayoutName};
use mayhap_units::number::parse_share;
use pump::{Run, Set};
use std::path::{Path, PathBuf};

const EXAMPLES: &str = "\
Examples:
  mayhap dedup urls.txt > unique.txt
  zcat logs/*.gz | mayhap dedup -n 100M -p 1e-6 > unique.txt
  crawl | mayhap dedup --state seen.mayhap -n 1G | fetch   # continues where it ended
  crawl | mayhap dedup --state redis://127.0.0.1:6379/0/seen -n 1G | fetch   # shared by many
  mayhap dedup -d mail.txt                                 # the repeats instead
  tail -f log | mayhap dedup --window 1h -n 1M             # until it was quiet for an hour
  tail -f log | mayhap dedup --window 1h --no-refresh -n 1M   # once an hour
  tail -f log | mayhap dedup --clear-at 50% -n 1M          # forgets all at half of the bits
  mayhap dedup --csv --field 2,5 orders.csv                # the first of each pair of fields
  mayhap dedup --exact list.txt                            # loses none, takes more memory";

const NOTES: &str = "\
A line is dropped if it was seen before, and by mistake with the probability -p once -n distinct \
lines are in; the expected number of lost lines is printed. Without -n a file is counted first \
(-n is the number of its lines; if it grows meanwhile, so does the memory), and for a pipe the \
memory grows. At -n distinct lines it stops (exit code 2) with everything before printed. With \
--overfill it continues, and loses more and more lines.

The key of a line is its bytes without the line feed, unless options extract it otherwise. A last \
line without a line feed gets one. A line without a key (too few fields, no JSON ...) is always \
printed, with -d never; if most lines of a run with --state have none, that is an error at the end \
(exit code 2), unless --skip-bad is given. Nothing is held back: when the input pauses, all lines \
so far have been printed.

--state keeps the filter in FILE, and later keys in FILE.log, where a few of them stay beside a \
FILE of 64 MiB or more: copy both. A line is recorded once it is printed: after Ctrl-C, or a full \
disk under the output, nothing recorded is printed twice; after kill -9, or a full disk under \
FILE, at most the last chunk is; no line is ever lost. Without -n the filter in FILE grows. FILE \
may be any filter that accepts keys; in a counting filter each line counts once, so mayhap remove \
makes it new again.

--state URL (see mayhap push --help) shares the filter with others: each line is printed by one \
of them, whichever reaches the server first. A line is recorded before it is printed: after kill \
-9, or if the output fails, up to 1,024 lines may be recorded and not printed, and up to 49,152 \
if the server is more than 1 ms away; after Ctrl-C none. If a reply is lost, a line may be \
printed that another program has printed too. Without -n the filter must exist. Keys added by \
others show in the rate and the fill after each 1 % of its keys added from here (at least \
16,384).

--window forgets old lines: a line is dropped if it occurred among that many last lines, or \
within that time, and is new again at the latest when it is older than 15/14 of that many lines \
(all count, repeats too), or 9/8 of that time; a repeat renews it, unless --no-refresh is given: \
then a line that comes all the time passes once in each window. The rate rises while the window \
fills and stays at -p or below from then on; the loss printed is the sum of that rate over the \
new lines. A time window needs -n, the largest number of keys that arrive in it, in any bursts: \
if more arrive, it forgets the oldest early, and reports how many. Time is this machine's clock, \
read once per batch. If the clock is set back by up to an eighth of the time, the window stands \
still until it catches up. If by more, one of the two times was wrong: a warning says so, and \
after another eighth the window goes by the clock; it forgets nothing early for that. If the \
clock is set ahead, whatever is older by the new time is forgotten; once it is right again, that \
is remembered again, as far as it is within the time. The log records times too: after kill -9, \
a line is forgotten at its original time. (Entries in a log of mayhap 0.1, which has no times, \
count from the next run.)

--clear-at forgets all lines at once, each time that so many bits are set (looked at after each \
64th of -n new lines), and says so: every line is new again then. With --state the file is \
cleared, too. A window forgets a part at a time, and takes more memory.

--exact stores the lines themselves, loses none, and reports the cost: their bytes and 11 to 23 \
more for each, briefly 33 while the table grows. At --max-memory it stops (exit code 2).";

/// Remove repeated lines, keeping the first and the order, in bounded memory
#[derive(Debug, clap::Args)]
#[command(before_help = EXAMPLES, after_help = NOTES)]
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
        value_parser = LayoutName::parse_window,
        conflicts_with_all = ["layout", "mem", "overfill"]
    )]
    window: Option<LayoutName>,
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
        let layout = self.window.or(self.size.layout);
        SizeArgs { layout, ..self.size.clone() }
    }
}

/// Runs the verb.
///
/// # Errors
///
/// Any of [`Error`].
pub fn run(args: &Args, talk: Talk) -> Result<Outcome, Error> {
    let (sources, total_bytes) = super::sources::input::<Args>("dedup", &args.files)?;
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
    // What is recorded and not yet printed is lost by kill -9: no more of it than is needed.
    let gathers = match &set {
        Set::Filter(inserter) => inserter.set().is_far(),
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
    let seconds = run.progress.elapsed();
    run.progress.clear();
    // Where the output failed, lines that are in the filter may not be out: then the log, which
    // has only what is out, stays as it is.
    let output_failed = match &result {
        Err(error) => error.is_about_output(),
        Ok(()) => false,
    };
    if !output_failed {
        run.output.flush()?;
        if let Set::Filter(inserter) = &mut run.set
            && !matches!(result, Err(Error::Remote { .. }))
        {
            inserter.finish()?;
        }
    }
    let mut result = result;
    if let Set::Filter(inserter) = &run.set {
        warn_of_unsure(inserter.set(), talk);
        let name =
            args.state.as_deref().map(|path| crate::args::url::redacted(&path.to_string_lossy()));
        result = result.and_then(|()| check_replaced(&name.unwrap_or_default(), inserter.set()));
    }
    let reported = match &result {
        Err(Error::BrokenPipe) => Ok(()),
        result => run.report(seconds, result.is_ok()),
    };
    result.and(reported).map(|()| Outcome::Done)
}
