//! `mayhap verify`: whether a filter is what it says.

mod foreign;
mod presence;
mod rate;
mod report;

use crate::args::url::is_url;
use crate::args::{LineArgs, OpenArgs};
use crate::error::Error;
use crate::io::messages::{Talk, grouped};
use crate::io::progress::Progress;
use crate::outcome::Outcome;
use crate::set::file::ReadFile;
use crate::set::remote::{self, Access};
use mayhap::native::Kind;
use mayhap::{Bitmap, BloomMatrix, Digest, DigestFunction, Health};
use mayhap_keys::KeyOptions;
use mayhap_lists::{Reading, Source};
use mayhap_measure::{Count, Full, Lanes, sample, samples_for};
use mayhap_sets::{KeySet, State, matrix_state};
use mayhap_units::number::parse_count;
use presence::Presence;
use rate::{allowed, rate_rows, verdict_on};
use report::{RateFound, RateVerdict, Report};
use serde::Serialize;
use std::convert::Infallible;
use std::path::PathBuf;

const EXAMPLES: &str = "\
Examples:
  mayhap verify seen.mayhap                      # is the file whole, does it keep its rate?
  mayhap verify pw.mayhap passwords.txt.gz       # and is every key in it?
  mayhap verify --samples 1G seen.mayhap         # measure a low rate for longer
  mayhap verify redis://127.0.0.1:6379/0/seen keys.txt    # a filter on a server
  mayhap verify --key-type long ids.guava ids.txt    # a filter of another system";

const NOTES: &str = "\
First every page is compared with its checksum. Then the filter is queried for random digests, \
which belong to no key (SplitMix64 from --seed): enough to measure the rate to 5 % at 99 % \
confidence, but from 1 to 33.5 million; --samples sets another number. The interval is Wilson's. \
Then, if there are KEYS, each of them, cut as the filter's, has to be in it.

The rate is off if the count contradicts the bits: if a sound filter gives such a count less than \
once in 10^9 (Chernoff's bound). It is above the target if the bits imply more keys than the \
filter was created for, or if the count contradicts the highest rate that chance gives a filter \
with exactly its keys; either happens to a sound filter less than once in 10^9 too. For growing \
filters and windows that highest rate is -p and 20/sqrt(n) of it. A window of time forgets while \
it is queried: there a rate below the predicted one is right. In a matrix the rate of each set is \
measured, with fewer samples if there are many sets; a key has to be in one of them.

Exit codes: 0 all is good; 1 something is off: damage (a wrong checksum or length, in the file or \
its log), a log that was begun and is missing, a rate that is off or above the target, a key that \
is absent; 2 it could not be checked: no filter, unreadable, or its secret key is missing. After \
damage nothing more is checked.

A filter on a server (see mayhap push --help) has no checksums. It is queried there, for at most \
1 million digests unless --samples says more, and may be added to meanwhile.

Filters of other systems have no checksums: damage is found only if parts of a file contradict \
each other. They are queried for random keys of their type. The rate is predicted by the system's \
formula. It is off if it is above the target, with what chance adds to it, or, in files that name \
no target, more than 5 % above the formula: several systems probe positions that depend on each \
other, and their small filters do not keep the rate that they promise.";

/// The least and the most random digests, unless --samples says otherwise.
const MIN_SAMPLES: u64 = 1 << 20;
const MAX_SAMPLES: u64 = 1 << 25;
/// Those of a filter on a server.
const SERVER_SAMPLES: (u64, u64) = (100_000, 1_000_000);
/// The most that can be requested.
const MAX_REQUESTED: u64 = 1_000_000_000_000;
/// A row of a matrix is a cache line, as a plain filter's key is, and a key has k of them.
const MATRIX_ROWS: u64 = 8;

/// Check a filter: checksums, its real rate, and that keys are in it
#[derive(Debug, clap::Args)]
#[command(before_help = EXAMPLES, after_help = NOTES)]
pub struct Args {
    /// The filter: a file, or redis://host:port/database/name
    #[arg(value_name = "FILTER")]
    file: PathBuf,
    /// Files of keys that have to be in it; - is standard input
    #[arg(value_name = "KEYS")]
    keys: Vec<PathBuf>,
    /// Query this many random digests
    #[arg(long, value_name = "COUNT", value_parser = parse_count)]
    samples: Option<u64>,
    /// Where the random digests begin
    #[arg(long, value_name = "NUMBER", default_value_t = 1)]
    seed: u64,
    /// Print JSON
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    open: OpenArgs,
    #[command(flatten)]
    lines: LineArgs,
}

/// What the bits say.
#[derive(Debug, Serialize)]
struct Found {
    #[serde(flatten)]
    state: State,
    #[serde(flatten)]
    rate: RateFound,
}

/// Runs the verb.
///
/// # Errors
///
/// Any of [`Error`].
pub fn run(args: &Args, talk: Talk) -> Result<Outcome, Error> {
    if args.samples == Some(0) {
        return Err(Error::usage("--samples is 0, must be at least 1", "leave it out"));
    }
    if let Some(samples) = args.samples.filter(|&samples| samples > MAX_REQUESTED) {
        let (requested, most) = (grouped(samples), grouped(MAX_REQUESTED));
        return Err(Error::usage(
            format!("--samples {requested} is above the limit of {most}, which takes hours"),
            "leave it out for as many as measure the rate to 5 %",
        ));
    }
    let sources = if args.keys.is_empty() { Vec::new() } else { Source::from_paths(&args.keys) };
    let opened = Opened::server(args, talk)?;
    if opened.is_none()
        && let Some(outcome) = foreign::run(args, &sources, talk)?
    {
        return Ok(outcome);
    }
    let report = match check(args, opened, sources, talk) {
        Err(Error::Store(source)) if is_damage(&source) => {
            let file = args.file.display().to_string();
            Report::damaged(file, "damaged", "checksums", source.to_string())
        }
        Err(Error::Store(source)) if is_incomplete(&source) => {
            Report::incomplete(args.file.display().to_string(), source.to_string())
        }
        result => result?,
    };
    report.print(args.json, talk)
}

/// Whether a filter was found that is not whole; else it was not found, or could not be read.
fn is_damage(error: &mayhap_store::Error) -> bool {
    use mayhap::Error as Core;
    match error {
        mayhap_store::Error::Format { source, .. } => matches!(
            source,
            Core::PageDamaged { .. }
                | Core::HeaderDamaged
                | Core::IdentityDamaged
                | Core::BadField { .. }
                | Core::WrongLength { .. }
        ),
        mayhap_store::Error::LogDamaged { .. } => true,
        _ => false,
    }
}

/// Whether the file is sound, but only a part of the filter.
fn is_incomplete(error: &mayhap_store::Error) -> bool {
    use mayhap_store::Error::{MissingLog, OlderCopy};
    matches!(error, MissingLog { .. } | OlderCopy { .. })
}

fn check(
    args: &Args,
    opened: Option<Opened>,
    sources: Vec<Source>,
    talk: Talk,
) -> Result<Report<Found>, Error> {
    let opened = match opened {
        Some(opened) => opened,
        None => Opened::file(args, talk)?,
    };
    let mut opened = opened;
    let options = opened.options.clone().agree(&opened.name, &args.lines.key_options())?;
    let keys_bytes = Source::total_size(&sources)?;
    let state = opened.subject.state();
    let facts = Facts { forgets: opened.forgets, on_server: opened.is_on_server };
    let rate = match &mut opened.subject {
        Subject::Filter(filter) => {
            let how = (facts, opened.expected_items);
            measure_filter(&mut **filter, args, how, (&state, talk))?
        }
        Subject::Matrix(matrix) => measure_matrix(matrix, args),
    };
    let subject = &mut opened.subject;
    let reading = Reading { gathers: opened.is_on_server, ..args.lines.reading() };
    let keys = subject.check_keys(sources, (&options, reading), (talk, keys_bytes))?;
    subject.check_unchanged()?;
    let off = matches!(
        rate.rate_verdict,
        RateVerdict::Off | RateVerdict::AboveTarget | RateVerdict::AboveFormula
    );
    let (checksums, in_words) =
        if opened.is_on_server { ("none", "none: a server has no file") } else { ("good", "good") };
    let mut rows = vec![("checksums", in_words.to_owned())];
    rows.extend(rate_rows(&rate, &state));
    Ok(Report::new(opened.name, checksums, (Found { state, rate }, off, rows), keys))
}

/// A filter of mayhap's own, in a file or on a server.
struct Opened {
    name: String,
    subject: Subject,
    /// How its keys are cut.
    options: KeyOptions,
    /// Whether it forgets while it is queried.
    forgets: bool,
    /// Keys that its file says it was created for.
    expected_items: u64,
    is_on_server: bool,
}

impl Opened {
    /// Checks the checksums of a file, and opens it.
    fn file(args: &Args, talk: Talk) -> Result<Self, Error> {
        let name = args.file.display().to_string();
        let key = args.open.secret_key()?;
        let mut progress = Progress::new(talk, args.file.metadata().ok().map(|found| found.len()));
        let header = mayhap_store::verify_with(&args.file, |done, _| progress.tick_bytes(done))?;
        progress.clear();
        let options = KeyOptions::from_header(&name, header.key_options())?;
        let subject = if header.kind() == Kind::Matrix {
            Subject::Matrix(Box::new(mayhap_store::load_as(&args.file, key)?.filter))
        } else {
            Subject::Filter(ReadFile::open(&args.file, key, args.open.without_log, talk)?.set)
        };
        Ok(Self {
            name,
            subject,
            options,
            forgets: header.kind() == Kind::Window,
            expected_items: header.fields().expected_items,
            is_on_server: false,
        })
    }

    /// Connects to a server, if a URL is named.
    fn server(args: &Args, talk: Talk) -> Result<Option<Self>, Error> {
        if !is_url(&args.file) {
            return Ok(None);
        }
        let found = remote::open(&args.file, Access::of(&args.open)?, talk)?;
        Ok(found.map(|(name, set, options)| Self {
            name,
            expected_items: set.expected_items(),
            subject: Subject::Filter(set),
            // Where it keeps none they are as given.
            options: options.unwrap_or_else(|| args.lines.key_options()),
            forgets: false,
            is_on_server: true,
        }))
    }
}

/// What is queried.
enum Subject {
    Filter(Box<dyn KeySet>),
    Matrix(Box<BloomMatrix>),
}

impl Subject {
    fn digest_function(&self) -> DigestFunction {
        match self {
            Self::Filter(filter) => filter.digest_function(),
            Self::Matrix(matrix) => *matrix.digest_function(),
        }
    }

    /// That all of this was read of one file.
    fn check_unchanged(&self) -> Result<(), Error> {
        match self {
            Self::Filter(filter) => Ok(filter.check_unchanged()?),
            Self::Matrix(_) => Ok(()),
        }
    }

    fn state(&self) -> State {
        match self {
            Self::Filter(filter) => filter.state(),
            Self::Matrix(matrix) => matrix_state(matrix),
        }
    }

    fn check_keys(
        &mut self,
        sources: Vec<Source>,
        cut: (&KeyOptions, Reading),
        talk: (Talk, Option<u64>),
    ) -> Result<Option<Presence>, Error> {
        if let Self::Filter(filter) = self
            && filter.takes_keys()
        {
            let mut bits = Bitmap::new();
            return Presence::of(sources, cut, talk, |batch, absent| {
                let keys: Vec<&[u8]> = batch.keys().collect();
                filter.contains_keys_into(keys[..].into(), &mut bits)?;
                let not_keys = filter.not_keys();
                let is_absent = |i: &usize| !bits.get(*i) && not_keys.binary_search(i).is_err();
                absent.extend((0..batch.len()).filter(is_absent));
                Ok(not_keys.len() as u64)
            });
        }
        let function = self.digest_function();
        let (mut digests, mut bits) = (Vec::new(), Bitmap::new());
        Presence::of(sources, cut, talk, |batch, absent| {
            batch.digest_into(&function, &mut digests);
            match self {
                Self::Filter(filter) => {
                    filter.contains_digests_into(&digests, &mut bits)?;
                    filter.check_unchanged()?;
                    absent.extend((0..digests.len()).filter(|&i| !bits.get(i)));
                }
                Self::Matrix(matrix) => matrix.which_digests(&digests, |i, sets| {
                    if sets.is_empty() {
                        absent.push(i);
                    }
                }),
            }
            Ok(0)
        })
    }
}

/// What a measurement has to know of a filter.
#[derive(Debug, Clone, Copy)]
struct Facts {
    forgets: bool,
    on_server: bool,
}

fn measure_filter(
    filter: &mut dyn KeySet,
    args: &Args,
    (Facts { forgets, on_server }, expected_items): (Facts, u64),
    (state, talk): (&State, Talk),
) -> Result<RateFound, Error> {
    let (predicted, target) = (state.estimated_fpp, state.target_fpp);
    let (least, most) = if on_server { SERVER_SAMPLES } else { (MIN_SAMPLES, MAX_SAMPLES) };
    let samples = args.samples.unwrap_or_else(|| samples_for(predicted, least, most));
    let mut progress = Progress::new(talk, Some(samples));
    let (mut bits, mut hits, mut done) = (Bitmap::new(), 0, 0);
    let by_key = filter.takes_keys();
    sample(args.seed, samples, Digest::new, |digests| {
        if by_key {
            let texts: Vec<_> = digests.iter().map(|it| filter.random_key(it.get())).collect();
            let keys: Vec<&[u8]> = texts.iter().map(String::as_bytes).collect();
            filter.contains_keys_into(keys[..].into(), &mut bits)?;
        } else {
            filter.contains_digests_into(digests, &mut bits)?;
        }
        hits += bits.count_ones() as u64;
        done += digests.len() as u64;
        progress.tick(done, done, String::new);
        Ok::<(), Error>(())
    })?;
    progress.clear();
    let count = Count { samples, hits };
    if on_server && filter.estimated_items().is_none() {
        // Its system has a formula at most, as in its files.
        let target = Some(target).filter(|target| !target.is_nan());
        let verdict = foreign::verdict_of(count, predicted, target);
        return Ok(RateFound::new(args.seed, count, predicted, verdict));
    }
    // A window of time has forgotten some since it was added to, and keeps its rate by forgetting.
    let judged = if let Some((estimate, params)) = filter.estimated_items() {
        Full::of(&params).judge(count, predicted, &estimate)
    } else {
        let off = if forgets { count.is_above(predicted) } else { count.contradicts(predicted) };
        let is_over = !forgets && state.health == Health::OverCapacity;
        let highest = allowed(target, expected_items);
        (off, predicted > target && is_over || count.is_above(highest))
    };
    Ok(RateFound::new(args.seed, count, predicted, verdict_on(judged)))
}

/// Measures each set by itself: what one answers says nothing of another.
fn measure_matrix(matrix: &BloomMatrix, args: &Args) -> RateFound {
    let fpps = matrix.estimated_fpps();
    let (sets, target) = (fpps.len() as u64, matrix.target_fpp());
    let predicted = fpps.iter().sum::<f64>() / sets as f64;
    let rows = MATRIX_ROWS * sets.div_ceil(512);
    let (least, most) = ((MIN_SAMPLES / rows).max(1), (MAX_SAMPLES / rows).max(1));
    let samples = args.samples.unwrap_or_else(|| samples_for(predicted, least, most));
    let mut hits = vec![0u64; fpps.len()];
    let Ok(()) = sample(args.seed, samples, Digest::new, |digests| {
        matrix.which_digests(digests, |_, sets| sets.iter().for_each(|set| hits[set] += 1));
        Ok::<(), Infallible>(())
    });
    let num_hashes = matrix.num_hashes();
    let lanes = u64::from(num_hashes.min(8));
    let num_blocks = matrix.num_bits() / (64 * lanes);
    let groups = Lanes { num_blocks, of_block: lanes, bits: 64 };
    let highest = target.max(groups.highest_fpp(num_hashes, matrix.expected_items()));
    let (mut off, mut above) = (0, 0);
    for (set, (&hits, &predicted)) in hits.iter().zip(&fpps).enumerate() {
        let count = Count { samples, hits };
        // A set counts no key that did not change it, so never more than came.
        let overfilled = predicted > target && matrix.inserted_items(set) > matrix.expected_items();
        if count.contradicts(predicted) {
            off += 1;
        } else if overfilled || count.is_above(highest) {
            above += 1;
        }
    }
    let false_positives = hits.iter().sum();
    RateFound {
        seed: args.seed,
        samples,
        false_positives,
        fpp_predicted: predicted,
        measured_fpp: false_positives as f64 / samples as f64 / sets as f64,
        fpp_low: None,
        fpp_high: None,
        rate_verdict: match (off, above) {
            (0, 0) => RateVerdict::AsPredicted,
            (0, _) => RateVerdict::AboveTarget,
            _ => RateVerdict::Off,
        },
        sets_off: Some(off + above),
    }
}
