//! `mayhap verify`: whether a filter is what it says.

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
use crate::set::foreign;
use crate::set::open::{self, Digests};
use crate::set::remote::{self, Access};
use mayhap::native::Kind;
use mayhap::{Bitmap, BloomMatrix, Digest, Health};
use mayhap_foreign::{ForeignFile, ForeignSet};
use mayhap_keys::KeyOptions;
use mayhap_lists::{Reading, Source};
use mayhap_measure::{Count, Full, Lanes, sample, samples_for};
use mayhap_sets::{KeySet, Numbers, matrix_state};
use mayhap_units::number::{format_bytes, parse_count};
use presence::Presence;
use rate::{allowed, rate_rows, verdict_by_formula, verdict_on};
use report::{RateFound, RateVerdict, Report, Row};
use serde::Serialize;
use std::convert::Infallible;
use std::path::PathBuf;

const EXAMPLES: &str = "\
Examples:
  mayhap verify seen.mayhap                      # is the file intact, does it keep its rate?
  mayhap verify pw.mayhap passwords.txt.gz       # and is every key in it?
  mayhap verify --samples 1G seen.mayhap         # measure a low rate for longer
  mayhap verify redis://127.0.0.1:6379/0/seen keys.txt    # a filter on a server
  mayhap verify --key-type long ids.guava ids.txt    # a filter of another system";

const NOTES: &str = "\
First, every page is compared with its checksum. Then the filter is queried for random digests \
(SplitMix64 from --seed): enough to measure the rate to 5 % at 99 % confidence, but from 1 to \
33.5 million; --samples sets another number. The interval is Wilson's. Finally, if KEYS are \
given, each of them, extracted with the filter's key options, must be in it.

The rate is off if the count contradicts the bits: if a sound filter gives such a count less than \
once in 10^9 (Chernoff's bound). It is above the target if the bits imply more keys than the \
filter was created for, or if the count contradicts the highest rate that chance gives a filter \
with exactly its keys; either happens to a sound filter less than once in 10^9 too. For growing \
filters and windows that highest rate is -p and 20/sqrt(n) of it. A time window forgets while it \
is queried: there, a rate below the predicted one is correct. In a matrix the rate of each set is \
measured, with fewer samples if there are many sets; a key must be in one of them.

Exit codes: 0 all is good; 1 something is off: damage (a wrong checksum or length, in the file or \
its log), a missing log, a rate that is off or above the target, an absent key; 2 it could not be \
verified: not a filter, unreadable, or its secret key is missing. After damage nothing more is \
checked.

A filter on a server (see mayhap push --help) has no checksums. It is queried there, for at most \
1 million digests unless --samples says more, and may be added to meanwhile.

Filters of other systems have no checksums: damage is found only if parts of a file contradict \
each other. They are queried for random keys of their type. The rate is predicted by the system's \
formula. It is off if it is above the target, allowing for chance, or, in files that record no \
target, above that of a filter with all keys that its hash functions are for. Below that it may be \
above the formula: several systems probe positions that depend on each other.";

/// The least and the most random digests, unless --samples says otherwise.
const MIN_SAMPLES: u64 = 1 << 20;
const MAX_SAMPLES: u64 = 1 << 25;
/// Those of a filter on a server.
const SERVER_SAMPLES: (u64, u64) = (100_000, 1_000_000);
/// Those of a file of another system, where each costs k hashes or more.
const FOREIGN_SAMPLES: (u64, u64) = (1 << 17, 1 << 22);
/// The most that can be requested.
const MAX_REQUESTED: u64 = 1_000_000_000_000;
/// A row of a matrix is a cache line, as a plain filter's key is, and a key has k of them.
const MATRIX_ROWS: u64 = 8;

/// Verify a filter: its checksums, its measured rate, and that given keys are in it
#[derive(Debug, clap::Args)]
#[command(before_help = EXAMPLES, after_help = NOTES)]
pub struct Args {
    /// The filter: a file, or redis://host:port/database/name
    #[arg(value_name = "FILTER")]
    file: PathBuf,
    /// Files of keys that must be in it; - is standard input
    #[arg(value_name = "KEYS")]
    keys: Vec<PathBuf>,
    /// Number of random digests to query
    #[arg(long, value_name = "COUNT", value_parser = parse_count)]
    samples: Option<u64>,
    /// Seed of the random digests
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
    numbers: Numbers,
    /// In files of other systems.
    #[serde(skip_serializing_if = "Option::is_none")]
    key_type: Option<&'static str>,
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
        return Err(Error::usage("--samples is 0, must be at least 1", "omit it"));
    }
    if let Some(samples) = args.samples.filter(|&samples| samples > MAX_REQUESTED) {
        let (requested, most) = (grouped(samples), grouped(MAX_REQUESTED));
        return Err(Error::usage(
            format!("--samples {requested} is above the limit of {most}, which takes hours"),
            "omit it to measure the rate to 5 %",
        ));
    }
    let sources = if args.keys.is_empty() { Vec::new() } else { Source::from_paths(&args.keys) };
    let checked = Opened::any(args, talk).and_then(|opened| check(args, opened, sources, talk));
    let (report, answered) = match checked {
        Err(Error::Store(source)) if is_damage(&source) => {
            let file = args.file.display().to_string();
            (Report::damaged(file, "damaged", "checksums", source.to_string()), Ok(()))
        }
        Err(Error::Store(source)) if is_incomplete(&source) => {
            (Report::incomplete(args.file.display().to_string(), source.to_string()), Ok(()))
        }
        Err(Error::Foreign { name, source }) if is_foreign_damage(&source) => {
            (Report::damaged(name, "none", "structure", source.to_string()), Ok(()))
        }
        result => result?,
    };
    let outcome = report.print(args.json, talk)?;
    answered.map(|()| outcome)
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

/// Whether a filter of another system was found that does not fit together; else it was none, or
/// too large.
fn is_foreign_damage(error: &mayhap_formats::Error) -> bool {
    use mayhap_formats::Error as Formats;
    matches!(
        error,
        Formats::Truncated { .. }
            | Formats::TrailingBytes { .. }
            | Formats::BadField { .. }
            | Formats::Zero { .. }
    )
}

/// What was found, and whether all lines were looked up.
type Checked = (Report<Found>, Result<(), Error>);

fn check(
    args: &Args,
    mut opened: Opened,
    sources: Vec<Source>,
    talk: Talk,
) -> Result<Checked, Error> {
    let options = opened.options.clone().agree(&opened.name, &args.lines.key_options())?;
    let keys_bytes = Source::total_size(&sources)?;
    let numbers = opened.subject.numbers();
    let rate = match &mut opened.subject {
        Subject::Filter(filter) => {
            measure_filter(&mut **filter, args, opened.facts, (&numbers, talk))?
        }
        Subject::Matrix(matrix) => measure_matrix(matrix, args),
    };
    let subject = &mut opened.subject;
    let reading = Reading { gathers: opened.facts.on_server, ..args.lines.reading() };
    let cut = (&options, reading, args.lines.skip_bad);
    let mut keys = subject.check_keys(sources, cut, (talk, keys_bytes))?;
    let answered = keys.as_mut().map_or(Ok(()), Presence::answered);
    subject.check_unchanged()?;
    let off = matches!(
        rate.rate_verdict,
        RateVerdict::Off | RateVerdict::AboveTarget | RateVerdict::Overfull
    );
    let key_type = subject.key_type().filter(|_| matches!(numbers, Numbers::Foreign(_)));
    let mut rows = vec![opened.structure];
    rows.extend(rate_rows(&rate, &numbers, key_type));
    let found = (Found { numbers, key_type, rate }, off, rows);
    Ok((Report::new(opened.name, opened.checksums, found, keys), answered))
}

/// A filter in a file or on a server.
struct Opened {
    name: String,
    subject: Subject,
    /// How its keys are cut.
    options: KeyOptions,
    facts: Facts,
    checksums: &'static str,
    structure: Row,
}

impl Opened {
    fn any(args: &Args, talk: Talk) -> Result<Self, Error> {
        if is_url(&args.file)
            && let Some(found) = remote::open(&args.file, Access::of(&args.open)?, talk)?
        {
            return Ok(Self::server(args, found));
        }
        match foreign::open_for_keys(&args.file, &args.open, args.open.secret_key()?, talk)? {
            Some(file) => {
                file.check_filters()?;
                Ok(Self::foreign(args, file))
            }
            None => Self::file(args, talk),
        }
    }

    /// Checks the checksums of a file, and opens it.
    fn file(args: &Args, talk: Talk) -> Result<Self, Error> {
        let name = args.file.display().to_string();
        let key = args.open.secret_key()?;
        let mut progress = Progress::new(talk, args.file.metadata().ok().map(|found| found.len()));
        let header = mayhap_store::verify_with(&args.file, |done, _| progress.tick_bytes(done))?;
        progress.clear();
        let options = KeyOptions::from_header(&name, header.key_options())?;
        let mut checked = "good".to_owned();
        let subject = if header.kind() == Kind::Matrix {
            Subject::Matrix(Box::new(mayhap_store::load_as(&args.file, key)?.filter))
        } else {
            let how = (args.open.without_log, false);
            let file = ReadFile::open(&args.file, key, how, talk)?;
            if file.recovery.dropped_bytes > 0 {
                let torn = format_bytes(file.recovery.dropped_bytes);
                checked = format!("good, but the last {torn} of the log are torn");
            }
            Subject::Filter(file.set)
        };
        Ok(Self {
            name,
            subject,
            options,
            facts: Facts {
                forgets: header.kind() == Kind::Window,
                on_server: false,
                expected_items: header.fields().expected_items,
                samples: (MIN_SAMPLES, MAX_SAMPLES),
            },
            checksums: "good",
            structure: ("checksums", checked),
        })
    }

    fn foreign(args: &Args, file: ForeignFile) -> Self {
        Self {
            name: file.name().to_owned(),
            subject: Subject::Filter(Box::new(ForeignSet::to_query(file))),
            options: args.lines.key_options(),
            facts: Facts { samples: FOREIGN_SAMPLES, ..Facts::default() },
            checksums: "none",
            structure: ("structure", "sound; the format has no checksums".into()),
        }
    }

    fn server(args: &Args, (name, set, options): remote::Found) -> Self {
        let (expected_items, samples) = (set.expected_items(), SERVER_SAMPLES);
        Self {
            name,
            subject: Subject::Filter(set),
            // Where it keeps none they are as given.
            options: options.unwrap_or_else(|| args.lines.key_options()),
            facts: Facts { expected_items, samples, on_server: true, forgets: false },
            checksums: "none",
            structure: ("checksums", "none: a server has no file".into()),
        }
    }
}

/// What is queried.
enum Subject {
    Filter(Box<dyn KeySet>),
    Matrix(Box<BloomMatrix>),
}

impl Subject {
    /// That all of this was read of one file.
    fn check_unchanged(&self) -> Result<(), Error> {
        match self {
            Self::Filter(filter) => Ok(filter.check_unchanged()?),
            Self::Matrix(_) => Ok(()),
        }
    }

    fn numbers(&self) -> Numbers {
        match self {
            Self::Filter(filter) => filter.numbers(),
            Self::Matrix(matrix) => Numbers::Own(matrix_state(matrix)),
        }
    }

    fn key_type(&self) -> Option<&'static str> {
        match self {
            Self::Filter(filter) => filter.key_types().map(|types| types.taken),
            Self::Matrix(_) => None,
        }
    }

    fn check_keys(
        &mut self,
        sources: Vec<Source>,
        cut: (&KeyOptions, Reading, bool),
        talk: (Talk, Option<u64>),
    ) -> Result<Option<Presence>, Error> {
        let (mut digests, mut bits) = (Digests::of_one_key(cut.0), Bitmap::new());
        let keys = Presence::of(sources, cut, talk, |batch, absent| {
            digests.clear();
            match self {
                Self::Filter(filter) => {
                    open::query(&mut **filter, batch, &mut digests, &mut bits)?;
                    filter.check_unchanged()?;
                    let not_keys = filter.not_keys();
                    let is_absent = |i: &usize| !bits.get(*i) && not_keys.binary_search(i).is_err();
                    absent.extend((0..batch.len()).filter(is_absent));
                    Ok(not_keys.len() as u64)
                }
                Self::Matrix(matrix) => {
                    let digests = digests.by(matrix.digest_function(), batch);
                    matrix.which_digests(digests, |i, sets| {
                        if sets.is_empty() {
                            absent.push(i);
                        }
                    });
                    Ok(0)
                }
            }
        })?;
        if let Self::Filter(filter) = self
            && let Some(not_keys) = filter.all_not_keys()
        {
            talk.0.warn(&not_keys.text);
        }
        Ok(keys)
    }
}

/// What a measurement has to know of a filter.
#[derive(Debug, Clone, Copy, Default)]
struct Facts {
    /// Whether it forgets while it is queried.
    forgets: bool,
    on_server: bool,
    /// Keys that its file says it was created for.
    expected_items: u64,
    /// The least and the most random keys.
    samples: (u64, u64),
}

fn measure_filter(
    filter: &mut dyn KeySet,
    args: &Args,
    Facts { forgets, on_server, expected_items, samples: (least, most) }: Facts,
    (numbers, talk): (&Numbers, Talk),
) -> Result<RateFound, Error> {
    let predicted = numbers.estimated_fpp();
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
    let verdict = match (numbers, filter.estimated_items()) {
        (_, Some((estimate, params))) => {
            verdict_on(Full::of(&params).judge(count, predicted, &estimate))
        }
        (Numbers::Own(state), None) if !on_server => {
            let is_over = !forgets && state.health == Health::OverCapacity;
            // A window of time has forgotten some since it was added to, and keeps its rate by
            // forgetting.
            let off =
                if forgets { count.is_above(predicted) } else { count.contradicts(predicted) };
            let highest = allowed(state.target_fpp, expected_items);
            let is_above = predicted > state.target_fpp && is_over || count.is_above(highest);
            verdict_on((off, is_above))
        }
        // Its system has a formula at most.
        _ => verdict_by_formula(count, numbers),
    };
    Ok(RateFound::new(args.seed, count, predicted, verdict))
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
