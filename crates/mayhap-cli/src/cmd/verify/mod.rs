//! `mayhap verify`: checks a filter against its own claims.
//!
//! | file | contents |
//! |---|---|
//! | `chance.rs` | the spread of a rate: the largest that a sound filter shows |
//! | `counts.rs` | counting false positives, and what is within chance |
//! | `presence.rs` | whether all keys of some input are in a filter: for `verify` |
//! | `rate.rs` | the verdict on a rate from a count of false positives |
//! | `report.rs` | the findings, for a filter of any system |

mod chance;
mod counts;
mod presence;
mod rate;
mod report;

use crate::args::{LineArgs, OpenArgs};
use crate::error::Error;
use crate::io::messages::{Reporter, grouped};
use crate::io::progress::Progress;
use crate::outcome::Outcome;
use crate::set::notes::say;
use crate::set::open::{self, Digests, locate};
use chance::{Full, Lanes};
use counts::{Count, sample, samples_for};
use mayhap::native::Kind;
#[cfg(feature = "redis")]
use mayhap::set::Repeats;
use mayhap::{Bitmap, BloomMatrix, Digest, Health};
use mayhap_keys::KeyOptions;
use mayhap_lists::{Reading, Source};
use mayhap_sets::file::ForeignSet;
use mayhap_sets::{KeySet, Located, Measurements, Note, ReadFile, State, matrix_state};
use mayhap_store::KeptDigests;
use mayhap_units::number::{format_bytes, parse_count};
use presence::Presence;
use rate::{allowed, rate_rows, verdict_by_formula, verdict_on};
use report::{Findings, RateFound, Report, Row};
use std::convert::Infallible;
use std::path::PathBuf;

/// The least and the most random digests, unless --samples says otherwise.
const MIN_SAMPLES: u64 = 1 << 20;
const MAX_SAMPLES: u64 = 1 << 25;
/// The numbers of samples for a filter on a server.
#[cfg(feature = "redis")]
const SERVER_SAMPLES: (u64, u64) = (100_000, 1_000_000);
/// The numbers of samples for a file of another system, where each costs k hashes or more.
const FOREIGN_SAMPLES: (u64, u64) = (1 << 17, 1 << 22);
/// The most that can be requested.
const MAX_REQUESTED: u64 = 1_000_000_000_000;
/// A row of a matrix is a cache line, as a plain filter's key is, and a key has k of them.
const MATRIX_ROWS: u64 = 8;

/// Verify a filter: its checksums, its measured rate, and that given keys are in it
#[derive(Debug, clap::Args)]
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

/// Runs the verb.
///
/// # Errors
///
/// Any of [`Error`].
pub fn run(args: &Args, talk: Reporter) -> Result<Outcome, Error> {
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
    let name = args.file.display().to_string();
    let (report, answered) = match checked {
        Err(Error::Store(source)) if is_damage(&source) => {
            let rows = vec![("checksums", format!("damaged: {source}"))];
            (Report::damaged(name, "damaged", source.to_string(), rows), Ok(()))
        }
        Err(Error::Store(source)) if is_incomplete(&source) => {
            let rows = vec![("checksums", "good".to_owned()), ("log", source.to_string())];
            (Report::damaged(name, "good", source.to_string(), rows), Ok(()))
        }
        Err(Error::Store(source @ mayhap_store::Error::DigestsDamaged { .. })) => {
            let rows = vec![("checksums", "good".to_owned()), ("digests", source.to_string())];
            (Report::damaged(name, "good", source.to_string(), rows), Ok(()))
        }
        Err(Error::Foreign { name, source }) if is_foreign_damage(&source) => {
            let rows = vec![("structure", format!("damaged: {source}"))];
            (Report::damaged(name, "none", source.to_string(), rows), Ok(()))
        }
        result => result?,
    };
    let outcome = report.print(args.json, talk)?;
    answered.map(|()| outcome)
}

/// Whether a filter was found that is incomplete; else it was not found, or could not be read.
fn is_damage(error: &mayhap_store::Error) -> bool {
    use mayhap::Error as Core;
    match error {
        mayhap_store::Error::Format { source, .. } => matches!(
            source,
            Core::PageDamaged { .. }
                | Core::HeaderDamaged
                | Core::ShortDamaged
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

/// Whether a filter of another system was found that is inconsistent; else the file was no filter,
/// or too large.
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

/// The findings, and whether all lines were looked up.
type Checked = (Report, Result<(), Error>);

fn check(
    args: &Args,
    mut opened: Opened,
    sources: Vec<Source>,
    talk: Reporter,
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
    let key_type = subject.key_type().filter(|_| matches!(numbers, Measurements::Foreign(_)));
    let mut rows = vec![opened.structure];
    rows.extend(rate_rows(&rate, &numbers, key_type));
    let found = (Findings { numbers, key_type, rate }, rows);
    Ok((Report::new(opened.name, opened.checksums, found, keys), answered))
}

/// A filter in a file or on a server.
struct Opened {
    name: String,
    subject: Subject,
    /// The options by which its keys are cut.
    options: KeyOptions,
    facts: Facts,
    checksums: &'static str,
    structure: Row,
}

impl Opened {
    fn any(args: &Args, talk: Reporter) -> Result<Self, Error> {
        let how = args.open.how()?;
        #[cfg(feature = "redis")]
        if let Some((mut set, options)) = open::on_server(&args.file, &how, talk)? {
            set.refresh()?;
            let expected_items = set.numbers(Repeats::Renew).expected_items;
            let samples = SERVER_SAMPLES;
            return Ok(Self {
                name: set.url().to_owned(),
                subject: Subject::Filter(set),
                // Without a target they are as given.
                options: options.unwrap_or_else(|| args.lines.key_options()),
                facts: Facts { expected_items, samples, on_server: true, forgets: false },
                checksums: "none",
                structure: ("checksums", "none: a server has no file".into()),
            });
        }
        if let Located::Foreign(file) = locate(&args.file, &how, talk)? {
            let set = ForeignSet::to_query(*file);
            say(Note::of_guess(set.file().name(), &set), talk);
            set.file().check_filters()?;
            return Ok(Self {
                name: set.file().name().to_owned(),
                subject: Subject::Filter(Box::new(set)),
                options: args.lines.key_options(),
                facts: Facts { samples: FOREIGN_SAMPLES, ..Facts::default() },
                checksums: "none",
                structure: ("structure", "sound; the format has no checksums".into()),
            });
        }
        Self::file(args, talk)
    }

    /// Checks the checksums of a file, and opens it.
    fn file(args: &Args, talk: Reporter) -> Result<Self, Error> {
        let name = args.file.display().to_string();
        let key = args.open.secret_key()?;
        let mut progress = Progress::new(talk, args.file.metadata().ok().map(|found| found.len()));
        let header = mayhap_store::verify_with(&args.file, |done, _| progress.tick_bytes(done))?;
        progress.clear();
        // A filter whose digests are damaged takes no keys, and cannot be built anew from them.
        KeptDigests::open(&args.file)?.map_or(Ok(()), |kept| kept.check())?;
        let options = KeyOptions::from_header(&name, header.key_options())?;
        let mut checked = "good".to_owned();
        let subject = if header.kind() == Kind::Matrix {
            Subject::Matrix(Box::new(mayhap_store::load_as(&args.file, key)?.filter))
        } else {
            let how = (args.open.without_log, false);
            let file = ReadFile::open(&args.file, key, how, &|note| say([note], talk))?;
            talk.notices();
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
}

/// The filter that is queried.
enum Subject {
    Filter(Box<dyn KeySet>),
    Matrix(Box<BloomMatrix>),
}

impl Subject {
    /// An error unless all of this was read from one unchanged file.
    fn check_unchanged(&self) -> Result<(), Error> {
        match self {
            Self::Filter(filter) => Ok(filter.check_unchanged()?),
            Self::Matrix(_) => Ok(()),
        }
    }

    fn numbers(&self) -> Measurements {
        match self {
            Self::Filter(filter) => filter.measurements(),
            Self::Matrix(matrix) => Measurements::Own(matrix_state(matrix)),
        }
    }

    fn key_type(&self) -> Option<&'static str> {
        match self {
            Self::Filter(filter) => filter.texts().map(|texts| texts.key_types().taken),
            Self::Matrix(_) => None,
        }
    }

    fn check_keys(
        &mut self,
        sources: Vec<Source>,
        cut: (&KeyOptions, Reading, bool),
        talk: (Reporter, Option<u64>),
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

/// The facts about a filter that a measurement needs.
#[derive(Debug, Clone, Copy, Default)]
struct Facts {
    /// Whether it forgets while it is queried.
    forgets: bool,
    on_server: bool,
    /// The number of keys that it was created for, by its file.
    expected_items: u64,
    /// The least and the most random keys.
    samples: (u64, u64),
}

fn measure_filter(
    filter: &mut dyn KeySet,
    args: &Args,
    Facts { forgets, on_server, expected_items, samples: (least, most) }: Facts,
    (numbers, talk): (&Measurements, Reporter),
) -> Result<RateFound, Error> {
    let predicted = numbers.estimated_fpp();
    let samples = args.samples.unwrap_or_else(|| samples_for(predicted, least, most));
    let mut progress = Progress::new(talk, Some(samples));
    let (mut bits, mut hits, mut done) = (Bitmap::new(), 0, 0);
    let by_key = filter.digest_function().is_none();
    sample(args.seed, samples, Digest::new, |digests| {
        if let (true, Some(system)) = (by_key, filter.texts()) {
            let texts: Vec<_> = digests.iter().map(|it| system.random_key(it.get())).collect();
            let keys: Vec<&[u8]> = texts.iter().map(String::as_bytes).collect();
            filter.contains_into(keys[..].into(), &mut bits)?;
        } else {
            filter.contains_into(digests.into(), &mut bits)?;
        }
        hits += bits.count_ones() as u64;
        done += digests.len() as u64;
        progress.tick(done, done, String::new);
        Ok::<(), Error>(())
    })?;
    progress.clear();
    let count = Count { samples, hits };
    let verdict = match numbers {
        Measurements::Own(State { estimated_items: Some((estimate, params)), .. }) => {
            verdict_on(Full::of(params).judge(count, predicted, estimate))
        }
        Measurements::Own(state) if !on_server => {
            let is_over = !forgets && state.health == Health::OverCapacity;
            // A time window has forgotten some since it was added to, and keeps its rate by
            // forgetting.
            let off =
                if forgets { count.is_above(predicted) } else { count.contradicts(predicted) };
            let highest = allowed(state.target_fpp, expected_items);
            let is_above = predicted > state.target_fpp && is_over || count.is_above(highest);
            verdict_on((off, is_above))
        }
        // Its system has at most a formula.
        _ => verdict_by_formula(count, numbers),
    };
    Ok(RateFound::new(args.seed, count, predicted, verdict))
}

/// Measures each set by itself: the rate of one says nothing about another.
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
        // A set counts no key that did not change it, so never more than were inserted.
        let overfilled = predicted > target && matrix.inserted_items(set) > matrix.expected_items();
        if count.contradicts(predicted) {
            off += 1;
        } else if overfilled || count.is_above(highest) {
            above += 1;
        }
    }
    let (count, verdict) = (Count { samples, hits: hits.iter().sum() }, (off > 0, above > 0));
    RateFound {
        measured_fpp: count.rate() / sets as f64,
        fpp_low: None,
        fpp_high: None,
        sets_off: Some(off + above),
        ..RateFound::new(args.seed, count, predicted, verdict_on(verdict))
    }
}
