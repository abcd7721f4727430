//! `mayhap bench`: what a filter does on this machine.

mod kernels;

use crate::args::{DigestArgs, SizeArgs, secret_key};
use crate::error::Error;
use crate::io::messages::{Talk, grouped, print_stdout, rate};
use crate::memory;
use crate::outcome::Outcome;
use crate::set::create::Create;
use crate::speed::{BATCH, Inserts, Measured, Nanoseconds, measure};
use mayhap::plan::Fits;
use mayhap_plan::{fits_name, memory_sizes};
use mayhap_sets::KeySet;
use mayhap_store::Snapshot;
use mayhap_units::number::{format_bytes, format_count};
use serde::Serialize;
use std::fmt;
use std::fmt::Write;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

const EXAMPLES: &str = "\
Examples:
  mayhap bench seen.mayhap                     # a filter file, which is not changed
  mayhap bench -n 10M -p 0.1%                  # a filter as created by mayhap create
  mayhap bench -n 1M -p 1% --layout standard   # of another layout
  mayhap bench --json seen.mayhap | jq .hit.batch
  mayhap bench --kernels -n 1M                 # every kernel of this CPU, one after another";

const NOTES: &str = "\
The figures are from this run on this machine, including whatever else it was doing: compare only \
what was measured side by side, and repeat it. They are nanoseconds per key on one core, not \
counting the digest, which is measured separately for keys of 8 bytes.

A file is loaded into memory, log and all, and never changed. It is queried as it is; then a \
plain one is emptied in memory and filled again, so that there are keys to find. Without a file a \
filter is created, filled and queried. A third of the time is used for insertions: if that is not \
enough for all keys, fewer are inserted. The rate is counted on at least a million absent keys \
and comes with three standard deviations. Kinds other than the plain filter are queried in \
batches only; a fuse filter accepts no keys, so it has no hits here, and a matrix is not \
measured.";

/// Keys of a filter that is only made to be measured.
const DEFAULT_ITEMS: u64 = 10_000_000;

/// Measure the speed and the rate of a filter on this machine
#[derive(Debug, clap::Args)]
#[command(before_help = EXAMPLES, after_help = NOTES)]
pub struct Args {
    /// The filter file [default: a new filter of -n keys, 10M]
    #[arg(value_name = "FILTER",
          conflicts_with_all = ["items", "fpp", "mem", "layout", "seed", "new_key_file"])]
    file: Option<PathBuf>,
    /// Approximate duration
    #[arg(long, value_name = "SECONDS", value_parser = parse_seconds, default_value = "2")]
    seconds: Duration,
    /// Print JSON
    #[arg(long)]
    json: bool,
    /// Measure with each kernel that this CPU can run, and compare them
    #[arg(long)]
    kernels: bool,
    #[command(flatten)]
    size: SizeArgs,
    #[command(flatten)]
    digest: DigestArgs,
}

/// All numbers, as `--json` prints them.
#[derive(Debug, Serialize)]
struct Report {
    file: Option<String>,
    kind: &'static str,
    kernel: Option<&'static str>,
    digest_function: &'static str,
    num_bytes: u64,
    fits: &'static str,
    items: u64,
    expected_items: Option<u64>,
    target_fpp: f64,
    num_hashes: Option<u32>,
    batch: usize,
    seconds: f64,
    #[serde(flatten)]
    measured: Measured,
}

/// A text that is no number of seconds from the least to the most.
#[derive(Debug)]
struct NotSeconds {
    least: f64,
    most: f64,
}

impl fmt::Display for NotSeconds {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "write {} to {}, in seconds", self.least, self.most)
    }
}

impl std::error::Error for NotSeconds {}

/// Reads a number of seconds, from a hundredth to an hour.
fn parse_seconds(text: &str) -> Result<Duration, NotSeconds> {
    let (least, most) = (0.01, 3600.0);
    let seconds = text.strip_suffix('s').unwrap_or(text).trim().parse::<f64>().ok();
    let seconds = seconds.filter(|seconds| (least..=most).contains(seconds));
    seconds.map(Duration::from_secs_f64).ok_or(NotSeconds { least, most })
}

/// Runs the verb.
///
/// # Errors
///
/// Any of [`Error`].
pub fn run(args: &Args, talk: Talk) -> Result<Outcome, Error> {
    if args.kernels {
        return kernels::run(args.json, talk);
    }
    let mut set = match &args.file {
        Some(path) => load(path, args)?,
        None => make(args)?,
    };
    let name = args.file.as_ref().map(|path| path.display().to_string());
    let keys = set.capacity().or(args.size.items).unwrap_or(DEFAULT_ITEMS).max(1);
    let mut inserts = if name.is_some() { Inserts::Then(keys) } else { Inserts::First(keys) };
    set.set_max_bytes(args.size.max_bytes());
    if set.refuses_insert().is_some() {
        inserts = Inserts::Never;
    }
    let (start, items_of_file) = (Instant::now(), set.items());
    let measured = measure(&mut *set, inserts, args.seconds)?;
    let mut report = Report::of(name, &mut *set, measured, start.elapsed());
    if report.file.is_some() {
        report.items = items_of_file;
    }
    if args.json {
        Talk::json(&report, true)?;
    } else {
        print_stdout(&report.text())?;
        talk.say("figures of this run on this machine; repeat it before you compare");
    }
    Ok(Outcome::Done)
}

/// A copy of the filter in a file.
fn load(path: &Path, args: &Args) -> Result<Box<dyn KeySet>, Error> {
    let header = mayhap_store::read_header(path)?;
    memory::check(header.body_bytes(), args.size.max_bytes())?;
    let key = secret_key(args.digest.key_file.as_deref())?;
    let snapshot = Snapshot::open(path)?;
    snapshot.check()?;
    let mut set = mayhap_sets::load(snapshot.image(), key)?;
    if let Some(contents) = set.contents() {
        snapshot.replay(|record| contents.apply(record))?;
    }
    Ok(set)
}

/// A new filter.
fn make(args: &Args) -> Result<Box<dyn KeySet>, Error> {
    let sizes_itself = args.size.mem.is_some() || args.size.grows_or_forgets();
    let items = args.size.items.or((!sizes_itself).then_some(DEFAULT_ITEMS));
    Create::build_any(&args.size, items, &args.digest)
}

impl Report {
    fn of(file: Option<String>, set: &mut dyn KeySet, measured: Measured, time: Duration) -> Self {
        let (kernel, num_hashes) = set.as_plain().map_or((None, None), |filter| {
            (Some(filter.kernel_name()), Some(filter.params().num_hashes()))
        });
        let num_bytes = set.num_bytes();
        Self {
            file,
            kind: set.name(),
            kernel,
            digest_function: set.digest_function().name(),
            num_bytes,
            fits: fits_name(Fits::of(num_bytes, &memory_sizes(crate::memory::usable_bytes()))),
            items: set.items(),
            expected_items: set.capacity(),
            target_fpp: set.target_fpp(),
            num_hashes,
            batch: BATCH,
            seconds: time.as_secs_f64(),
            measured,
        }
    }

    fn text(&self) -> String {
        let made_for = match self.expected_items {
            Some(items) => format!("for {} keys at {}", format_count(items), rate(self.target_fpp)),
            None => format!("for any number of keys at {}", rate(self.target_fpp)),
        };
        let k = self.num_hashes.map_or_else(String::new, |k| format!(", k = {k}"));
        let mut text = format!("{:<12}{} {made_for}{k}\n", "filter", self.kind);
        let bytes = format_bytes(self.num_bytes);
        let _ = writeln!(text, "{:<12}{bytes}, fits in {}", "memory", self.fits);
        if let Some(kernel) = self.kernel {
            let _ = writeln!(text, "{:<12}{kernel}", "kernel");
        }
        let in_batches = format!("in batches of {}", self.batch);
        let _ = writeln!(text, "{:<12}{:>14}{in_batches:>24}", "ns per key", "one at a time");
        let measured = &self.measured;
        for (name, numbers) in [
            ("digest", measured.digest),
            ("insert", measured.insert),
            ("hit", measured.hit),
            ("miss", measured.miss),
        ] {
            let Nanoseconds { single, batch } = numbers;
            let cell = |number: Option<f64>| number.map_or("-".into(), |ns| format!("{ns:.2}"));
            let _ = writeln!(text, "{name:<12}{:>14}{:>24}", cell(single), cell(batch));
        }
        if let Some(items) = self.expected_items
            && (1..items).contains(&measured.inserted_keys)
        {
            let inserted = format_count(measured.inserted_keys);
            let _ = writeln!(
                text,
                "{:<12}{inserted} of {} keys in the time given; allow more with --seconds",
                "filled with",
                format_count(items)
            );
        }
        let probes = measured.absent_keys as f64;
        let sigma = (measured.predicted_fpp * (1.0 - measured.predicted_fpp) / probes).sqrt();
        let _ = writeln!(
            text,
            "{:<12}{} measured on {} absent keys\n{:12}{} predicted, ± {}",
            "rate",
            rate(measured.measured_fpp),
            grouped(measured.absent_keys),
            "",
            rate(measured.predicted_fpp),
            rate(3.0 * sigma)
        );
        text
    }
}
