//! Whether a filter of another system is what it says.

use super::info::Numbers as State;
use super::{ForeignFile, Opener};
use crate::args::LineArgs;
use crate::cmd::{Outcome, total_size};
use crate::error::Error;
use crate::input::Source;
use crate::lines::LineReader;
use crate::measure::{Count, Numbers, samples_for};
use crate::presence::Presence;
use crate::progress::Progress;
use crate::talk::{Talk, grouped, print_stdout, rate};
use mayhap::Bitmap;
use mayhap_formats::KeyType;
use serde::Serialize;
use std::path::Path;

/// The least and the most random keys, unless told otherwise: each costs k hashes or more.
const MIN_SAMPLES: u64 = 1 << 17;
const MAX_SAMPLES: u64 = 1 << 22;
const BATCH: usize = 4096;

const AS_PREDICTED: &str = "as predicted";
const ABOVE: &str = "above what was asked";

/// What `mayhap verify` was asked for.
#[derive(Debug, Clone, Copy)]
pub struct Asks<'a> {
    /// Ask for so many random keys.
    pub samples: Option<u64>,
    /// Where they begin.
    pub seed: u64,
    /// Print JSON.
    pub json: bool,
    /// Keys that have to be in it.
    pub sources: &'a [Source],
    /// How these are cut.
    pub lines: &'a LineArgs,
}

/// What was found, as `--json` prints it.
#[derive(Debug, Serialize)]
struct Report {
    file: String,
    verdict: &'static str,
    checksums: &'static str,
    damage: Option<String>,
    #[serde(flatten)]
    found: Option<Found>,
    #[serde(flatten)]
    keys: Option<Presence>,
}

#[derive(Debug, Serialize)]
struct Found {
    #[serde(flatten)]
    state: State,
    key_type: &'static str,
    seed: u64,
    samples: u64,
    false_positives: u64,
    fpp_predicted: f64,
    fpp_measured: f64,
    fpp_low: f64,
    fpp_high: f64,
    rate_verdict: &'static str,
}

/// Checks a filter of another system; `None` if the file is none.
///
/// # Errors
///
/// Those of [`Opener::open`] but for damage; those of [`LineReader`].
pub fn run(
    path: &Path,
    opener: Opener<'_>,
    asks: &Asks<'_>,
    talk: Talk,
) -> Result<Option<Outcome>, Error> {
    let report = match opener.open_for_keys(path) {
        Ok(None) => return Ok(None),
        Ok(Some(file)) => check(file, asks, talk)?,
        Err(Error::Foreign { name, source }) if is_damage(&source) => Report {
            file: name,
            verdict: "off",
            checksums: "none",
            damage: Some(source.to_string()),
            found: None,
            keys: None,
        },
        Err(error) => return Err(error),
    };
    if asks.json {
        Talk::json(&report, true)?;
    } else if !talk.is_quiet() {
        print_stdout(&report.text())?;
    }
    Ok(Some(if report.verdict == "off" { Outcome::Off } else { Outcome::Done }))
}

/// Whether a filter was found that does not fit together; else it was none, or too large.
fn is_damage(error: &mayhap_formats::Error) -> bool {
    use mayhap_formats::Error as Formats;
    matches!(
        error,
        Formats::Truncated { .. }
            | Formats::TrailingBytes { .. }
            | Formats::BadField { .. }
            | Formats::Zero { .. }
    )
}

fn check(mut file: ForeignFile, asks: &Asks<'_>, talk: Talk) -> Result<Report, Error> {
    let keys_bytes = total_size(asks.sources)?;
    let found = measure(&file, asks);
    let keys = if asks.sources.is_empty() {
        None
    } else {
        let (options, max_line) = (asks.lines.key_options(), asks.lines.max_line());
        let mut progress = Progress::new(talk, keys_bytes);
        let mut reader = LineReader::new(asks.sources.to_vec(), &options, max_line, None);
        let mut bits = Bitmap::new();
        let keys = Presence::of(&mut reader, &mut progress, |batch, absent| {
            file.ask(batch, &mut bits);
            let bad = file.bad();
            let is_absent = |i: &usize| !bits.get(*i) && bad.binary_search(i).is_err();
            absent.extend((0..batch.len()).filter(is_absent));
            bad.len() as u64
        })?;
        file.warn(0, 1, talk);
        Some(keys)
    };
    let absent = keys.as_ref().is_some_and(Presence::any_absent);
    let off = absent || found.rate_verdict == ABOVE;
    Ok(Report {
        file: file.name().to_owned(),
        verdict: if off { "off" } else { "good" },
        checksums: "none",
        damage: None,
        found: Some(found),
        keys,
    })
}

/// Asks for random keys of the filter's type.
fn measure(file: &ForeignFile, asks: &Asks<'_>) -> Found {
    let state = State::of(file);
    let predicted = file.filter().estimated_fpp();
    let samples = asks.samples.unwrap_or_else(|| samples_for(predicted, MIN_SAMPLES, MAX_SAMPLES));
    let write = random_text(file.key_type());
    let mut numbers = Numbers::new(asks.seed);
    let (mut bits, mut hits, mut left) = (Bitmap::new(), 0, samples);
    let (mut bytes, mut ends, mut scratch) = (Vec::new(), Vec::new(), Vec::new());
    while left > 0 {
        bytes.clear();
        ends.clear();
        let length = left.min(BATCH as u64) as usize;
        for number in numbers.by_ref().take(length) {
            // Texts of this form are keys of the type.
            if let Ok(key) = file.key_type().encode(write(number).as_bytes(), &mut scratch) {
                bytes.extend_from_slice(key);
            }
            ends.push(bytes.len());
        }
        let starts = [0].into_iter().chain(ends.iter().copied());
        let keys: Vec<&[u8]> = starts.zip(&ends).map(|(start, &end)| &bytes[start..end]).collect();
        file.filter().contains_batch(&keys, &mut bits);
        hits += bits.count_ones() as u64;
        left -= length as u64;
    }
    let count = Count { samples, hits };
    let (low, high) = count.interval();
    let above_asked = file.target_fpp().is_some_and(|asked| count.is_above(asked));
    let rate_verdict = match (above_asked, count.contradicts(predicted)) {
        (true, _) => ABOVE,
        (false, false) => AS_PREDICTED,
        (false, true) if count.rate() > predicted => "above its formula",
        (false, true) => "below its formula",
    };
    Found {
        state,
        key_type: file.key_type().name(),
        seed: asks.seed,
        samples,
        false_positives: hits,
        fpp_predicted: predicted,
        fpp_measured: count.rate(),
        fpp_low: low,
        fpp_high: high,
        rate_verdict,
    }
}

/// How a random number is written as a key of this type.
fn random_text(key_type: KeyType) -> fn(u64) -> String {
    const FORMS: [fn(u64) -> String; 3] = [
        |number| format!("{number:016x}"),
        |number| number.cast_signed().to_string(),
        |number| (number as i32).to_string(),
    ];
    let is_key = |form: &fn(u64) -> String| {
        [0x8123_4567_89AB_CDEF, 0xA123_4567_89AB_CDEF]
            .iter()
            .all(|&number| key_type.encode(form(number).as_bytes(), &mut Vec::new()).is_ok())
    };
    FORMS.into_iter().find(is_key).unwrap_or(FORMS[2])
}

impl Report {
    fn text(&self) -> String {
        let mut rows = vec![("file", self.file.clone())];
        rows.push((
            "structure",
            match &self.damage {
                Some(damage) => format!("damaged: {damage}"),
                None => "sound; the format has no checksums".into(),
            },
        ));
        if let Some(found) = &self.found {
            let interval = format!("{} to {}", rate(found.fpp_low), rate(found.fpp_high));
            let (hits, samples) = (grouped(found.false_positives), grouped(found.samples));
            let (key_type, seed) = (found.key_type, found.seed);
            rows.push(("predicted", format!("{}, by its formula", rate(found.fpp_predicted))));
            rows.push(("measured", format!("{} (99 %: {interval})", rate(found.fpp_measured))));
            rows.push(("", format!("{hits} of {samples} random keys ({key_type}), seed {seed}")));
            rows.push(("rate", found.rate_verdict.into()));
        }
        if let Some(keys) = &self.keys {
            rows.extend(keys.rows());
        }
        rows.push(("verdict", self.verdict.into()));
        let line = |(name, value): &(&str, String)| format!("{name:<12}{value}\n");
        rows.iter().map(line).collect()
    }
}
