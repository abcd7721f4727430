//! `mayhap bench`: the speed of a filter on this machine.

mod kernels;

use crate::args::{DigestArgs, SizeArgs, secret_key};
use crate::error::Error;
use crate::io::messages::{Reporter, grouped, print_findings, rate};
use crate::memory;
use crate::set::create::Create;
use crate::speed::{BATCH, Inserts, Measured, Nanoseconds, measure};
use mayhap::plan::Fits;
use mayhap::set::Repeats;
use mayhap_plan::{fits_name, memory_sizes};
use mayhap_sets::{KeySet, OwnSet};
use mayhap_store::{Memory, Snapshot};
use mayhap_units::number::{format_bytes, format_count};
use serde::Serialize;
use std::fmt::Write;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

/// Keys of a filter that is only made to be measured.
const DEFAULT_ITEMS: u64 = 10_000_000;

/// Measure the speed and the rate of a filter on this machine
#[derive(Debug, clap::Args)]
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
#[derive(Debug, thiserror::Error)]
#[error("write {least} to {most}, in seconds")]
struct NotSeconds {
    least: f64,
    most: f64,
}

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
pub fn run(args: &Args, talk: Reporter) -> Result<(), Error> {
    if args.kernels {
        return kernels::run(args.json, talk);
    }
    let mut set = match &args.file {
        Some(path) => load(path, args)?,
        None => make(args)?,
    };
    let name = args.file.as_ref().map(|path| path.display().to_string());
    let capacity = set.numbers(Repeats::Renew).capacity;
    let keys = capacity.or(args.size.items).unwrap_or(DEFAULT_ITEMS).max(1);
    let mut inserts = if name.is_some() { Inserts::Then(keys) } else { Inserts::First(keys) };
    set.set_max_bytes(args.size.max_bytes());
    if set.capabilities().inserts.is_err() {
        inserts = Inserts::Never;
    }
    let (start, items_of_file) = (Instant::now(), set.items());
    let measured = measure(&mut set, inserts, args.seconds)?;
    let mut report = Report::of(name, &mut set, measured, start.elapsed());
    if report.file.is_some() {
        report.items = items_of_file;
    }
    print_findings(args.json, &report, Report::text)?;
    if !args.json {
        talk.say("figures of this run on this machine; repeat it before you compare");
    }
    Ok(())
}

/// A copy of the filter in a file.
fn load(path: &Path, args: &Args) -> Result<OwnSet, Error> {
    let header = mayhap_store::read_header(path)?;
    memory::check(header.body_bytes(), args.size.max_bytes())?;
    let key = secret_key(args.digest.key_file.as_deref())?;
    let snapshot = Snapshot::open(path)?;
    snapshot.check()?;
    let mut set = mayhap_sets::load(snapshot.image(), key)?;
    snapshot.replay(|record| set.apply(record))?;
    Ok(set)
}

/// A new filter.
fn make(args: &Args) -> Result<OwnSet, Error> {
    let sizes_itself = args.size.mem.is_some() || args.size.grows_or_forgets();
    let items = args.size.items.or((!sizes_itself).then_some(DEFAULT_ITEMS));
    Create::build_any(&args.size, items, &args.digest)
}

impl Report {
    fn of(file: Option<String>, set: &mut OwnSet, measured: Measured, time: Duration) -> Self {
        let (kernel, num_hashes) = set.plain_mut().map_or((None, None), |filter| {
            (Some(filter.kernel_name()), Some(filter.params().num_hashes()))
        });
        let numbers = set.numbers(Repeats::Renew);
        let num_bytes = numbers.num_bytes;
        Self {
            file,
            kind: set.name(),
            kernel,
            digest_function: set.function().name(),
            num_bytes,
            fits: fits_name(Fits::of(num_bytes, &memory_sizes(crate::memory::usable_bytes()))),
            items: numbers.items,
            expected_items: numbers.capacity,
            target_fpp: numbers.target_fpp,
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
            let (inserted, items) = (format_count(measured.inserted_keys), format_count(items));
            let filled = format!("{inserted} of {items} keys in the time given");
            let _ = writeln!(text, "{:<12}{filled}; allow more with --seconds", "filled with");
        }
        let probes = measured.absent_keys as f64;
        let sigma = (measured.estimated_fpp * (1.0 - measured.estimated_fpp) / probes).sqrt();
        let (absent, sigma) = (grouped(measured.absent_keys), rate(3.0 * sigma));
        let (found, predicted) = (rate(measured.measured_fpp), rate(measured.estimated_fpp));
        let _ = writeln!(text, "{:<12}{found} measured on {absent} absent keys", "rate");
        let _ = writeln!(text, "{:12}{predicted} predicted, ± {sigma}", "");
        text
    }
}
