//! `mayhap shrink`: a filter at a fraction of its size, without its keys. Plain ones fold here,
//! growing ones in `chain.rs`, those of other systems in `foreign.rs`.

mod chain;
mod foreign;

use crate::args::{LockArgs, secret_key};
use crate::error::Error;
use crate::files::refuse_existing;
use crate::io::messages::{Reporter, counted, grouped, rate};
use crate::memory;
use crate::set::notes::say;
use crate::set::session::{Recording, Waiting, Writer};
use mayhap::native::{Header, Kind};
use mayhap::sizing::Shrink;
use mayhap::{AnyFilter, FilterParams, Health, SecretKey};
use mayhap_lists::Stop;
use mayhap_sets::{LayoutName, Measurements, OwnSet, State, open_snapshot};
use mayhap_units::number::{format_bytes, parse_bytes, parse_count, parse_fpp};
use serde::Serialize;
use std::path::{Path, PathBuf};
use std::time::Instant;

/// Fold a blocked, standard or growing filter to a smaller size, without its keys
#[derive(Debug, clap::Args)]
pub struct Args {
    /// The filter file
    #[arg(value_name = "FILTER")]
    file: PathBuf,
    /// Write the smaller filter here, and leave the old one as it is
    #[arg(short = 'o', long, value_name = "FILTER")]
    output: Option<PathBuf>,
    /// Replace the file of -o if it exists
    #[arg(long)]
    force: bool,
    /// Keys that the smaller filter is for: 10M, 1.5G [default: those that are in it]
    #[arg(short = 'n', long, value_name = "COUNT", value_parser = parse_count)]
    items: Option<u64>,
    /// Rate to keep for these keys: 1e-6, 0.1% [default: as it is]
    #[arg(short = 'p', long, value_name = "RATE", value_parser = parse_fpp)]
    fpp: Option<f64>,
    /// Fold by this factor, which divides the size
    #[arg(long, value_name = "F", conflicts_with_all = ["items", "fpp"],
          value_parser = clap::value_parser!(u64).range(1..))]
    factor: Option<u64>,
    /// Write it even if it has more keys than its capacity
    #[arg(long)]
    overfill: bool,
    /// The filter's secret key, if it has one
    #[arg(long, value_name = "FILE")]
    key_file: Option<PathBuf>,
    /// Refuse larger filters [default: the memory of the machine or container]
    #[arg(long, value_name = "SIZE", value_parser = parse_bytes)]
    max_memory: Option<u64>,
    /// Print the summary as JSON, on stdout
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    lock: LockArgs,
}

/// The summary, as `--json` prints it.
#[derive(Debug, Serialize)]
struct Shrunk {
    file: String,
    output: String,
    seconds: f64,
    #[serde(flatten)]
    fold: Fold,
}

/// The filter before and after the fold.
#[derive(Debug, Serialize)]
struct Fold {
    /// 1 if no smaller size keeps the rate.
    factor: u64,
    num_bytes_before: u64,
    num_bytes_after: u64,
    /// The numbers of the smaller filter.
    #[serde(flatten)]
    measured: Measurements,
}

/// Runs the verb.
///
/// # Errors
///
/// Any of [`Error`].
pub fn run(args: &Args, talk: Reporter) -> Result<(), Error> {
    if let Some(output) = &args.output {
        refuse_existing(output, args.force)?;
    }
    let started = Instant::now();
    let stop = Stop::on_signals()?;
    let waiting = Waiting::new("shrink", args.lock, talk, Some(&stop));
    let limit = memory::limit(args.max_memory);
    let fold = match mayhap_store::read_header(&args.file) {
        Ok(header) => {
            check_kind(&args.file, &header)?;
            // The smaller filter is at most half of it, unless it is a copy.
            memory::check(header.body_bytes().saturating_mul(2), limit)?;
            let key = secret_key(args.key_file.as_deref())?;
            match &args.output {
                Some(output) => into_other(args, (output, key), &waiting, talk)?,
                None => in_place(args, key, &waiting, talk)?,
            }
        }
        Err(error) => foreign::run(args, error, (&waiting, limit))?,
    };
    let output = args.output.as_ref().unwrap_or(&args.file);
    let (file, output) = (args.file.display().to_string(), output.display().to_string());
    let shrunk = Shrunk { file, output, seconds: started.elapsed().as_secs_f64(), fold };
    talk.summary(args.json, &shrunk, |shrunk| (shrunk.text(), shrunk.fold.measured.text()))
}

/// The same of a growing filter.
fn fold_chain(args: &Args, chain: &OwnSet) -> Result<(Option<OwnSet>, Fold), Error> {
    if args.overfill {
        return Err(Error::usage(
            "--overfill is for filters with a capacity, and this one grows",
            "omit it; a higher -p allows a smaller size",
        ));
    }
    let how = match args.factor {
        Some(factor) => Shrink::By(factor),
        None => Shrink::To { items: args.items, target_fpp: args.fpp },
    };
    let folded = chain::fold(&args.file, chain, how)?;
    let before = chain.state();
    let after = folded.as_ref().map_or_else(|| before.clone(), OwnSet::state);
    let factor = before.num_bytes / after.num_bytes;
    Ok((folded, Fold::of(factor, before.num_bytes, after)))
}

/// The most factors that an error lists.
const SHOWN: usize = 12;

/// Replaces the filter in its file, in turn with others that change it; digests that are kept of
/// its keys stay beside it.
fn in_place(
    args: &Args,
    key: Option<SecretKey>,
    waiting: &Waiting,
    talk: Reporter,
) -> Result<Fold, Error> {
    let how = (Recording::WhenOthersWait, false);
    let (mut set, mut writer) = Writer::open(&args.file, key, how, waiting, talk)?;
    let (folded, fold) = smaller(args, &mut set)?;
    let Some(mut folded) = folded else {
        writer.finish(&mut set)?;
        return Ok(fold);
    };
    writer.save(&mut folded)?;
    writer.finish(&mut folded)?;
    Ok(fold)
}

/// Writes the smaller filter to a file of its own; the old one is unchanged, and others may change
/// it.
fn into_other(
    args: &Args,
    (output, key): (&Path, Option<SecretKey>),
    waiting: &Waiting,
    talk: Reporter,
) -> Result<Fold, Error> {
    let snapshot = open_snapshot(&args.file, false, &|note| say([note], talk))?;
    let mut set = snapshot.image().load_set(key)?;
    snapshot.replay(|record| mayhap_store::apply(&mut *set, record))?;
    let mut set = OwnSet::new(set, false);
    let (folded, fold) = smaller(args, &mut set)?;
    let options = snapshot.image().header().key_options();
    waiting.save_set(output, (&mut folded.unwrap_or(set), options), None, args.force)?;
    Ok(fold)
}

/// The smaller filter, `None` if the one in the file stays as it is; and both sizes.
fn smaller(args: &Args, set: &mut OwnSet) -> Result<(Option<OwnSet>, Fold), Error> {
    if set.layout_name() == Some(LayoutName::Scalable) {
        return fold_chain(args, set);
    }
    let filter = plain(set, &args.file)?;
    match factor(args, filter)? {
        1 if args.output.is_none() => {
            Ok((None, Fold::of(1, filter.params().num_bytes(), State::of(filter))))
        }
        factor => fold(args, filter, factor).map(|(folded, fold)| (Some(folded), fold)),
    }
}

/// Refuses kinds that do not fold, with the way out.
fn check_kind(path: &Path, header: &Header) -> Result<(), Error> {
    let (problem, hint) = match header.kind() {
        Kind::Bloom | Kind::Scalable => return Ok(()),
        Kind::Counting => (
            "a counting filter, whose counters have no room for their sums",
            "build it again from its keys, with a smaller -n: mayhap build --layout counting",
        ),
        Kind::Compact => (
            "a compact filter, which keeps fingerprints and has no bits to fold",
            "build it again from its keys, with a smaller -n: mayhap build --layout compact",
        ),
        Kind::Window => (
            "a window, whose generations are filled as it was planned",
            "create one of another size, and add the keys to it: mayhap create --layout window:10M",
        ),
        Kind::Matrix => (
            "a matrix, whose sets share their blocks",
            "build it again from its lists, with a smaller -n: mayhap build --layout matrix",
        ),
        Kind::Fuse => (
            "a fuse filter, which has the smallest size for its rate",
            "build it again from its keys with a higher -p: mayhap build --layout fuse",
        ),
        Kind::Ribbon => (
            "a ribbon filter, which has the smallest size for its rate",
            "build it again from its keys with a higher -p: mayhap build --frozen",
        ),
        Kind::Segment => (
            "one segment of a filter",
            "put all segments together, and shrink the result: mayhap assemble -o FILTER \
             SEGMENT...",
        ),
        _ => ("of an unknown kind", "it was created by a newer mayhap; use that version"),
    };
    Err(Error::usage(format!("{} does not fold: it is {problem}", path.display()), hint))
}

fn plain<'a>(set: &'a mut OwnSet, path: &Path) -> Result<&'a AnyFilter, Error> {
    // Its kind is known from the header; it may have been replaced meanwhile.
    set.plain_mut().map(|filter| &*filter).ok_or_else(|| {
        Error::usage(
            format!("{} was replaced by a filter that does not fold", path.display()),
            "mayhap info says what it is now",
        )
    })
}

/// The factor that is given, or the largest that keeps the rate for the keys.
fn factor(args: &Args, filter: &AnyFilter) -> Result<u64, Error> {
    let (params, name) = (filter.params(), args.file.display());
    if let Some(factor) = args.factor {
        check_factor(params, factor, &args.file)?;
        return Ok(factor);
    }
    let items = args.items.unwrap_or_else(|| filter.distinct_items().rounded());
    let fpp = args.fpp.unwrap_or(params.target_fpp());
    params.fold_factor(items, fpp).ok_or_else(|| {
        let (keys, now) = (counted(items, "key"), rate(params.expected_fpp(items)));
        let keys = if items == u64::MAX { "any number of keys".into() } else { keys };
        Error::usage(
            format!(
                "{name} cannot shrink: at its size the rate for {keys} is {now}, above {}",
                rate(fpp)
            ),
            format!("a fold raises the rate: choose a -p above {now}, or build it larger"),
        )
    })
}

/// Refuses a factor that does not divide the size, or leaves too little of it, with those that fit.
fn check_factor(params: &FilterParams, factor: u64, path: &Path) -> Result<(), Error> {
    let Err(error) = params.folded(factor, params.target_fpp()) else { return Ok(()) };
    let factors = params.fold_factors();
    let shown: Vec<String> = factors.iter().skip(1).take(SHOWN).map(u64::to_string).collect();
    let hint = match factors.len() - 1 {
        0 => "no factor leaves a size that a filter can have: it is too small, or that of a prime \
              number; build it again: mayhap build --shrink"
            .into(),
        count if count > SHOWN => format!("its factors are {}, ...", shown.join(", ")),
        _ => format!("its factors are {}", shown.join(", ")),
    };
    let problem = match error {
        mayhap::Error::NoFold { .. } => error.to_string(),
        error => format!("it does not fold by {factor}: {error}"),
    };
    Err(Error::usage(format!("{}: {problem}", path.display()), hint))
}

/// The smaller filter, which promises what was requested or else what it keeps.
fn fold(args: &Args, filter: &AnyFilter, factor: u64) -> Result<(OwnSet, Fold), Error> {
    let params = filter.params();
    let fpp = args.fpp.unwrap_or(params.target_fpp());
    let mut folded = filter.fold(factor, fpp)?;
    if let Some(items) = args.items {
        folded = folded.promising(items, fpp)?;
    }
    let state = State::of(&folded);
    if !args.overfill && state.health == Health::OverCapacity {
        let (keys, made_for) = (counted(state.keys(), "key"), folded.params().expected_items());
        return Err(Error::usage(
            format!(
                "the filter has {keys}, and after a fold by {factor} it would be for {}: its rate \
                 would be {}; nothing was written",
                grouped(made_for),
                rate(state.estimated_fpp)
            ),
            "choose a smaller --factor or a larger -n, omit both for the smallest size that keeps \
             -p, or continue with --overfill",
        ));
    }
    let fold = Fold::of(factor, params.num_bytes(), state);
    Ok((folded.into(), fold))
}

impl Fold {
    fn of(factor: u64, num_bytes_before: u64, state: State) -> Self {
        let (num_bytes_after, measured) = (state.num_bytes, Measurements::Own(state));
        Self { factor, num_bytes_before, num_bytes_after, measured }
    }
}

impl Shrunk {
    fn text(&self) -> String {
        let Fold { factor, num_bytes_before, num_bytes_after, .. } = self.fold;
        let [before, after] = [num_bytes_before, num_bytes_after].map(format_bytes);
        if factor == 1 && self.file == self.output {
            return format!("{}: unchanged, no smaller size keeps the rate", self.output);
        }
        let (output, factor) = (&self.output, grouped(factor));
        format!("{output}: folded by {factor}, {before} to {after} ({:.2} s)", self.seconds)
    }
}
